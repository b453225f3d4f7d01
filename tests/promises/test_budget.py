"""C20: what is not known is not free, and spending stops at the budget with everything that finished kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_assets import pipeline
from eval_assets.cli import main
from eval_assets.errors import ConfigError, EvaluationIncomplete
from eval_assets.pipeline import Workspace

PRICE = "price: {input_per_million: 10000, output_per_million: 5000}"
RUN_USD = 0.04
"""Three tokens in and two out, as the server counts, at this price."""

Set = Callable[..., Workspace]


@pytest.fixture
def priced(project: Path) -> Set:
    """The project's workspace with a price on `old`, a budget, and whatever else is replaced in its suite."""

    def write(budget: float | None = None, **replaced: str) -> Workspace:
        suite = project / "suite.yaml"
        text = suite.read_text()
        if PRICE not in text:
            text = text.replace("model: m-1", f"model: m-1, {PRICE}").replace("concurrency: 4", "concurrency: 1")
        text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("budget_usd"))
        if budget is not None:
            text += f"budget_usd: {budget}\n"
        for old, new in replaced.items():
            text = text.replace(old, new)
        suite.write_text(text)
        return pipeline.open_workspace(project)

    return write


def silent(server: Any, is_silent: Callable[[int], bool]) -> None:
    """Leave `usage` out of the n-th reply where that is so."""
    server.usage_of = lambda number: None if is_silent(number) else {"prompt_tokens": 3, "completion_tokens": 2}


def measured(workspace: Workspace) -> dict[str, Any]:
    pipeline.execute_target(workspace, "old")
    pipeline.score_target(workspace, "old")
    return pipeline.summarize_target(workspace, "old").report.extensions


def test_a_cost_is_known_where_every_run_says_what_it_used(priced: Set) -> None:
    workspace = priced()

    cost = measured(workspace)["cost_usd"]

    assert cost == {"known": pytest.approx(40 * RUN_USD), "runs_without_usage": 0, "total": pytest.approx(40 * RUN_USD)}
    _, rows = workspace.store.select("select distinct round(cost_usd, 6) from run_costs")
    assert rows == [(RUN_USD,)]


def test_missing_usage_is_unknown_and_never_zero(
    server: Any, priced: Set, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    silent(server, lambda number: number % 3 == 0)

    found = measured(priced())

    assert found["cost_usd"] == {"known": pytest.approx(27 * RUN_USD), "runs_without_usage": 13, "total": None}
    assert found["usage"]["input_tokens"] is None
    monkeypatch.chdir(project)
    main.run(["report", ".", "old"])
    said = " ".join(capsys.readouterr().out.split())
    assert "Tokens: unknown in, unknown out. Cost: unknown, at least $1.0800." in said
    assert "13 of 40 runs did not say what they used" in said


def test_without_a_price_there_is_no_cost(project: Path) -> None:
    assert "cost_usd" not in measured(pipeline.open_workspace(project))


def test_spending_stops_at_the_budget_and_keeps_what_finished(server: Any, priced: Set) -> None:
    workspace = priced(budget=0.5)

    with pytest.raises(EvaluationIncomplete, match="stopped by the budget") as stopped:
        pipeline.execute_target(workspace, "old")

    assert stopped.value.reason == "budget"
    assert stopped.value.finished == len(server.asked) == 13
    assert len(list(workspace.journals.glob("*.jsonl"))) == 1
    assert workspace.store.latest_evaluation("echo", "old") is None


def test_runs_in_flight_count(server: Any, priced: Set) -> None:
    workspace = priced(budget=1.0, **{"concurrency: 1": "concurrency: 8"})

    with pytest.raises(EvaluationIncomplete):
        pipeline.execute_target(workspace, "old")

    assert len(server.asked) * RUN_USD <= 1.0 + RUN_USD


def test_silent_runs_count_as_the_dearest_known(server: Any, priced: Set) -> None:
    silent(server, lambda number: number % 3 == 0)
    workspace = priced(budget=0.5)

    with pytest.raises(EvaluationIncomplete, match="4 runs without usage at the dearest known"):
        pipeline.execute_target(workspace, "old")

    assert len(server.asked) == 13


def test_where_no_run_says_its_usage_no_budget_can_be_held(server: Any, priced: Set) -> None:
    silent(server, lambda number: True)
    workspace = priced(budget=0.5)

    with pytest.raises(EvaluationIncomplete, match="none of the 1 finished runs said") as stopped:
        pipeline.execute_target(workspace, "old")

    assert stopped.value.reason == "budget"


def test_a_resumed_evaluation_goes_on_counting(server: Any, priced: Set) -> None:
    with pytest.raises(EvaluationIncomplete):
        pipeline.execute_target(priced(budget=0.5), "old")

    with pytest.raises(ConfigError, match=r"\$0\.5200 were spent and 27 runs at \$0\.0400"):
        pipeline.execute_target(priced(budget=1.5), "old")
    assert len(server.asked) == 13

    pipeline.execute_target(priced(budget=1.61), "old")
    assert len(server.asked) == 40


def test_a_plan_beyond_the_budget_is_refused(server: Any, priced: Set) -> None:
    pipeline.execute_target(priced(), "old")

    with pytest.raises(ConfigError, match=r"40 runs at \$0\.0400, the dearest run of its last evaluation"):
        pipeline.execute_target(priced(budget=1.0), "old")

    assert len(server.asked) == 40


def test_a_target_without_a_price_is_refused(server: Any, priced: Set) -> None:
    workspace = priced(budget=1.0)

    with pytest.raises(ConfigError, match="'new': the suite has a budget_usd of 1, but this target has no price"):
        pipeline.execute_target(workspace, "new")

    assert server.asked == []


def test_a_replay_spends_nothing(server: Any, priced: Set, project: Path) -> None:
    pipeline.execute_target(pipeline.with_cassette(priced(), record=project / "c.jsonl"), "old")

    workspace = pipeline.with_cassette(priced(budget=0.01), replay=project / "c.jsonl")
    pipeline.execute_target(workspace, "old")

    assert len(server.asked) == 40


@pytest.mark.parametrize(("value", "code"), [("0", 2), ("-1", 2), ("true", 2), (".nan", 2), ("2", 0)])
def test_a_budget_is_a_number_above_zero(
    project: Path, priced: Set, monkeypatch: pytest.MonkeyPatch, value: str, code: int
) -> None:
    suite = project / "suite.yaml"
    priced()
    suite.write_text(suite.read_text().replace("model: m-2", f"model: m-2, {PRICE}") + f"budget_usd: {value}\n")
    monkeypatch.chdir(project)

    assert main.run(["check", "."]) == code


def test_a_new_price_makes_no_other_target(priced: Set) -> None:
    before = pipeline.execute_target(priced(), "old")
    after = pipeline.execute_target(priced(**{"input_per_million: 10000": "input_per_million: 1"}), "old")

    assert before.target_fingerprint == after.target_fingerprint
    assert before.price != after.price
