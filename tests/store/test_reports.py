"""Reports come out of the store as they went in, and SQL can ask them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from eval_assets.errors import NothingMeasured
from eval_assets.model.cases import CaseSet
from eval_assets.store.store import Store
from tests.store.made import START, made_report


def test_a_report_comes_back_as_it_went_in(store: Store, case_set: CaseSet) -> None:
    stored = made_report(case_set)
    store.append_report(stored, scoring_id="s1", created_at=START)
    store.append_report(stored, scoring_id="s1", created_at=START)

    assert store.report("report-1") == stored
    assert store.report("report-1").report.to_json() == stored.report.to_json()
    assert store.select("select count(*) from reports")[1] == [(1,)]


def test_stats_of_every_scope_can_be_asked_in_sql(store: Store, case_set: CaseSet) -> None:
    store.append_report(made_report(case_set), scoring_id="s1", created_at=START)

    _, rows = store.select(
        "select scope, scope_name, metric, passes, scored, unscored, rate from metric_stats order by 1"
    )

    assert rows == [
        ("case", "zeta", "no_error", 3, 4, 1, 0.75),
        ("overall", "", "no_error", 3, 4, 1, 0.75),
        ("tag", "refund", "no_error", 3, 4, 1, 0.75),
    ]


def test_the_latest_report_of_each_target_is_one_view(store: Store, case_set: CaseSet) -> None:
    newer = made_report(case_set, number=2, passes=4)
    store.append_report(newer, scoring_id="s2", created_at=START + timedelta(hours=1))
    store.append_report(made_report(case_set, number=1), scoring_id="s1", created_at=START)
    store.append_report(made_report(case_set, number=3, target="next"), scoring_id="s3", created_at=START)

    columns, rows = store.select("select * from latest_reports order by target desc")

    assert store.latest_report("support", "prod") == newer
    assert ",".join(columns) == (
        "suite,target,report_id,evaluation_id,created_at,model_id,case_set_hash,"
        "metric,passes,scored,unscored,rate,ci_low,ci_high"
    )
    assert [(row[1], row[2], row[8]) for row in rows] == [("prod", "report-2", 4), ("next", "report-3", 3)]


def test_an_unknown_report_is_nothing_measured(store: Store, case_set: CaseSet) -> None:
    assert store.latest_report("support", "prod") is None
    store.append_report(made_report(case_set), scoring_id="s1", created_at=START)

    assert store.latest_report("support", "other") is None
    with pytest.raises(NothingMeasured, match="no report other"):
        store.report("other")
