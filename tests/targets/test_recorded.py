"""Recorded runs: replayed to the letter, and every way a recording can be wrong named with file and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eval_assets.errors import ConfigError
from eval_assets.model.cases import Case, CaseSet
from eval_assets.model.runs import Usage
from eval_assets.targets import opening
from eval_assets.targets.specs import Recorded

if TYPE_CHECKING:
    from tests.targets.conftest import Ask

CASES = CaseSet(cases=(Case(name="a", input="x"), Case(name="b", input="y")))
RUN = {"case": "a", "run": 0, "final": "4"}
CONVERSATION = [
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "add", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "4"},
    {"role": "assistant", "content": [{"type": "text", "text": "It is 4."}]},
]


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., None]:
    def write(*runs: Any) -> None:
        lines = [run if isinstance(run, str) else json.dumps(run) for run in runs]
        (tmp_path / "runs.jsonl").write_text("".join(line + "\n" for line in lines))

    return write


@pytest.fixture
def problems(tmp_path: Path) -> Callable[..., list[str]]:
    def check(runs: int = 1, *, listed: tuple[int, ...] | None = None) -> list[str]:
        specs = {"it": Recorded(path="runs.jsonl", runs=listed)}
        return opening.problems("it", specs, folder=tmp_path, case_set=CASES, runs=runs)

    return check


def test_a_run_is_replayed_to_the_letter(record: Callable[..., None], ask: Ask) -> None:
    record(
        {
            **RUN,
            "target": "elsewhere",
            "messages": CONVERSATION,
            "latency_s": 1.25,
            "usage": {"input_tokens": 10, "output_tokens": 5},
            "scores": {"reward": True, "style": None},
            "finish_reason": "stop",
            "response_id": "r-1",
            "further": "keys are left alone",
        }
    )

    [output] = ask(Recorded(path="runs.jsonl"))

    assert (output.final, output.error, output.latency_s) == ("4", None, 1.25)
    assert (output.trajectory.steps, output.trajectory.tool_names) == (2, ("add",))
    assert output.usage == Usage(input_tokens=10, output_tokens=5)
    assert output.scores == {"reward": True, "style": None}
    assert (output.finish_reason, output.response_id) == ("stop", "r-1")
    assert list(output.messages) == CONVERSATION


def test_what_was_not_recorded_is_unknown(record: Callable[..., None], ask: Ask) -> None:
    record({"case": "a", "run": 0})

    [output] = ask(Recorded(path="runs.jsonl"))

    assert (output.final, output.latency_s, output.usage, output.scores) == (None, None, Usage(), {})


def test_the_final_text_is_read_off_the_messages(record: Callable[..., None], ask: Ask) -> None:
    record({"case": "a", "run": 0, "final": None, "messages": CONVERSATION})

    assert ask(Recorded(path="runs.jsonl"))[0].final == "It is 4."


@pytest.mark.parametrize(
    ("runs", "replayed"), [(None, ["run 1", "run 4", "run 7"]), ((7, 1), ["run 7", "run 1"])], ids=["all", "listed"]
)
def test_runs_are_replayed_in_order(
    record: Callable[..., None], ask: Ask, runs: tuple[int, ...] | None, replayed: list[str]
) -> None:
    record(*({"case": "a", "run": run, "final": f"run {run}"} for run in (4, 7, 1)))

    outputs = ask(Recorded(path="runs.jsonl", runs=runs), times=len(replayed))

    assert [output.final for output in outputs] == replayed


@pytest.mark.parametrize(
    "messages",
    ["none", ["hello"], [{"role": "assistant", "tool_calls": 3}], [{"role": "assistant", "tool_calls": [3]}]],
)
def test_unreadable_messages_are_a_trace_error(record: Callable[..., None], ask: Ask, messages: Any) -> None:
    record({**RUN, "messages": messages})

    [output] = ask(Recorded(path="runs.jsonl"))

    assert output.trace_error
    assert (output.final, output.error, output.trajectory.steps) == ("4", None, 0)


def test_failures_are_replayed_too(record: Callable[..., None], ask: Ask) -> None:
    record(
        {"case": "a", "run": 0, "error": "policy"},
        {"case": "a", "run": 1, "unavailable": True},
        {"case": "a", "run": 2, "trace_error": "journal lost"},
    )

    own, lost, untraced = ask(Recorded(path="runs.jsonl"), times=3)

    assert (own.error, own.unavailable) == ("policy", False)
    assert (lost.error, lost.unavailable) == ("recorded as unavailable", True)
    assert untraced.trace_error == "journal lost"


def test_a_run_that_is_gone_is_unavailable(record: Callable[..., None], ask: Ask) -> None:
    record(RUN)

    [found, missing] = ask(Recorded(path="runs.jsonl"), times=2)

    assert (found.unavailable, missing.unavailable) == (False, True)
    assert "no readable run 1 of case 'a'" in str(missing.error)


def test_a_whole_recording_has_no_problems(record: Callable[..., None], problems: Callable[..., list[str]]) -> None:
    record(RUN, "", {**RUN, "case": "b"})

    assert problems() == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "not JSON"),
        ("[]", "found list, wanted an object"),
        ({"run": 0}, "`case` is None"),
        ({"case": "b"}, "`run` is None"),
        ({"case": "b", "run": True}, "`run` is True"),
        ({"case": "b", "run": -1}, "`run` is -1"),
        ({"case": "b", "run": 0, "final": 4}, "`final` is 4, wanted text or null"),
        ({"case": "b", "run": 0, "unavailable": "yes"}, "`unavailable` is 'yes'"),
        ({"case": "b", "run": 0, "latency_s": -1}, "`latency_s` is -1"),
        ('{"case": "b", "run": 0, "latency_s": NaN}', "`latency_s` is nan"),
        ({"case": "b", "run": 0, "usage": {"input_tokens": -1}}, "negative count"),
        ({"case": "b", "run": 0, "usage": [1]}, "`usage` is [1]"),
        ({"case": "b", "run": 0, "scores": {"reward": 1.0}}, "the score 'reward' is 1.0, wanted true, false or null"),
        (RUN, "run 0 of case 'a' was already recorded on line 1"),
    ],
)
def test_a_bad_line_is_named(
    record: Callable[..., None], problems: Callable[..., list[str]], tmp_path: Path, line: Any, found: str
) -> None:
    record(RUN, line, {"case": "b", "run": 5})

    [problem] = problems()

    assert problem.startswith(f"{tmp_path / 'runs.jsonl'}:2: ")
    assert found in problem


def test_every_bad_line_is_named_at_once(record: Callable[..., None], problems: Callable[..., list[str]]) -> None:
    record("{", RUN, {**RUN, "case": "b"}, "}")

    assert len(problems()) == 2


def test_a_case_that_is_not_in_the_set_is_named(
    record: Callable[..., None], problems: Callable[..., list[str]]
) -> None:
    record(RUN, {**RUN, "case": "b"}, {**RUN, "case": "zebra"})

    [problem] = problems()

    assert "runs.jsonl:3: recorded runs for case 'zebra', not in the case set; add the case" in problem


def test_fewer_runs_than_asked_for_are_counted(record: Callable[..., None], problems: Callable[..., list[str]]) -> None:
    record(*({**RUN, "run": run} for run in range(3)), {**RUN, "case": "b"})

    [problem] = problems(runs=3)

    assert "asks for 3 runs of every case, but fewer are recorded for case 'b' (has 1)" in problem
    assert "set the suite's `runs` to 1" in problem


def test_a_case_without_runs_is_a_shortage(record: Callable[..., None], problems: Callable[..., list[str]]) -> None:
    record(RUN)

    [problem] = problems()

    assert "case 'b' (has 0)" in problem
    assert "set the suite's `runs`" not in problem


def test_a_listed_run_that_is_missing_is_a_shortage(
    record: Callable[..., None], problems: Callable[..., list[str]]
) -> None:
    record(*({**RUN, "case": case, "run": run} for case in "ab" for run in (0, 1) if (case, run) != ("b", 0)))

    [problem] = problems(runs=2, listed=(0, 1))

    assert "the recorded runs [0, 1] of every case, but fewer are recorded for case 'b' (has 1)" in problem


def test_listing_fewer_runs_than_asked_for_is_a_problem(
    record: Callable[..., None], problems: Callable[..., list[str]]
) -> None:
    record(RUN, {**RUN, "case": "b"})

    [problem] = problems(runs=4, listed=(0,))

    assert "asks for 4 runs per case, but this target's `runs` lists 1" in problem


def test_a_missing_file_is_a_problem(problems: Callable[..., list[str]], ask: Ask, tmp_path: Path) -> None:
    [problem] = problems()

    assert problem == f"cannot read the recorded runs in {tmp_path / 'runs.jsonl'}: No such file or directory"
    with pytest.raises(ConfigError, match="cannot read"):
        ask(Recorded(path="runs.jsonl"))
