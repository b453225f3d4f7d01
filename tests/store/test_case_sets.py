"""Case sets come out of the store as they went in."""

from __future__ import annotations

import pytest

from eval_assets.errors import NothingMeasured
from eval_assets.model.cases import CaseSet
from eval_assets.store.store import Store


def test_a_case_set_comes_back_as_it_went_in(store: Store, case_set: CaseSet) -> None:
    store.append_case_set("support", case_set)

    kept = store.case_set(case_set.hash)

    assert kept == case_set
    assert kept.hash == case_set.hash


def test_a_case_set_kept_twice_is_kept_once(store: Store, case_set: CaseSet) -> None:
    store.append_case_set("support", case_set)
    store.append_case_set("support", case_set)
    store.append_case_set("billing", case_set)

    assert store.select("select count(*) from case_sets")[1] == [(2,)]
    assert store.select("select count(*) from cases")[1] == [(3,)]


def test_new_tags_under_the_same_hash_are_the_ones_read(store: Store, case_set: CaseSet) -> None:
    """Tags are no part of the hash, so a suite may change them and nothing else."""
    retagged = CaseSet(cases=tuple(case.model_copy(update={"tags": ("new",)}) for case in case_set.cases))
    store.append_case_set("support", case_set)
    store.append_case_set("support", retagged)

    assert retagged.hash == case_set.hash
    assert store.case_set(case_set.hash) == retagged
    assert store.select("select count(*) from latest_cases")[1] == [(3,)]

    store.append_case_set("support", case_set)

    assert store.case_set(case_set.hash) == case_set


def test_an_unknown_hash_is_nothing_measured(store: Store, case_set: CaseSet) -> None:
    store.append_case_set("support", case_set)

    with pytest.raises(NothingMeasured, match="no case set 1234"):
        store.case_set("1234")
