"""A store in a folder of its own, and small nouns to put into it."""

from __future__ import annotations

from pathlib import Path

import pytest

from eval_assets.model.cases import Case, CaseSet, Expect
from eval_assets.model.runs import Evaluation
from eval_assets.store.store import Store
from tests.store.made import made_evaluation


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "eval.duckdb"


@pytest.fixture
def store(path: Path) -> Store:
    return Store(path, wait_s=10)


@pytest.fixture
def case_set() -> CaseSet:
    return CaseSet(
        cases=(
            Case(name="zeta", input="refund?", want={"amount": 1.0}, tags=("refund", "hard"), tools=({"name": "pay"},)),
            Case(name="alpha", messages=({"role": "user", "content": "hi"},), expect=Expect(contains=("hello",))),
            Case(name="mid", input="ünï\u2028", want=["a", 2]),
        )
    )


@pytest.fixture
def evaluation(case_set: CaseSet) -> Evaluation:
    return made_evaluation(case_set)
