"""The numbers that real recorded runs must give, through the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eval_assets.cli import main

AIRLINE = """\
name: tau_airline
cases: {data}/cases.jsonl
runs: {runs}
targets:
  first: {{kind: recorded, path: "{data}/runs.jsonl", runs: {first}, model: gpt-4o}}
  second: {{kind: recorded, path: "{data}/runs.jsonl", runs: [2, 3], model: gpt-4o}}
baseline: first
candidates: [second]
metrics:
  - recorded: reward
  - called_tool: get_user_details
  - max_steps: 15
  - tool_order: [get_user_details, update_reservation_flights]
gate: {{test: pooled}}
"""
SMOLLM = """\
name: smollm2
cases: {data}/cases.jsonl
runs: 10
targets:
  plain: {{kind: recorded, path: "{data}/runs_plain.jsonl", temperature: 0.8}}
  terse: {{kind: recorded, path: "{data}/runs_terse.jsonl", temperature: 0.8}}
baseline: plain
candidates: [terse]
metrics: [contains_want]
gate: {{test: pooled}}
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVAL_ASSETS_HOME", raising=False)
    return lambda *arguments: main.run(list(arguments))


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def test_tau_airline_is_flat(shared: Path, tmp_path: Path, command: Callable[..., int]) -> None:
    suite = AIRLINE.format(data=shared / "data" / "tau_airline", runs=2, first=[0, 1])
    (tmp_path / "suite.yaml").write_text(suite)

    assert command("run", ".", "first", "--json", "first.json") == 0
    assert command("run", ".", "second") == 0
    assert command("gate", ".", "second", "--json", "gate.json") == 0

    stat = read(tmp_path / "first.json")["overall"]["recorded:reward"]
    assert (stat["passes"], stat["scored"]) == (43, 100)
    assert (stat["ci_low"], stat["ci_high"]) == pytest.approx((0.3373, 0.5278), abs=5e-5)
    gate = read(tmp_path / "gate.json")
    reward = next(metric for metric in gate["metrics"] if metric["metric"] == "recorded:reward")
    assert (gate["verdict"], reward["direction"]) == ("pass", "flat")
    assert (reward["new_passes"], reward["new_scored"]) == (41, 100)
    assert reward["p_value"] == pytest.approx(0.7744690587, abs=1e-9)


BROKEN = ("airline-12", "airline-18", "airline-20", "airline-24", "airline-35", "airline-36")
P_VALUES = [
    ((), {"pooled": 0.7744690587, "stratified": 0.7162206086, "sign_flip": 0.6661529542}, 0),
    (BROKEN, {"pooled": 0.0391701660, "stratified": 0.0228506073, "sign_flip": 0.0346781015}, 1),
]


@pytest.mark.parametrize(("broken", "p_values", "code"), P_VALUES, ids=["as recorded", "six cases broken"])
def test_all_three_tests_on_tau_airline(
    shared: Path,
    tmp_path: Path,
    command: Callable[..., int],
    broken: tuple[str, ...],
    p_values: dict[str, float],
    code: int,
) -> None:
    data = shared / "data" / "tau_airline"
    runs = [json.loads(line) for line in (data / "runs.jsonl").read_text().splitlines()]
    for run in runs:
        run["scores"]["reward"] = run["scores"]["reward"] and not (run["case"] in broken and run["run"] in {2, 3})
    (tmp_path / "runs.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
    suite = AIRLINE.format(data=data, runs=2, first=[0, 1]).replace(f"{data}/runs.jsonl", "runs.jsonl")
    reward_only = suite.split("metrics:")[0] + "metrics: [{recorded: reward}]\n"
    (tmp_path / "suite.yaml").write_text(reward_only)

    command("run", ".", "first")
    command("run", ".", "second")
    assert command("gate", ".", "second", "--json", "gate.json") == code

    (reward,) = read(tmp_path / "gate.json")["metrics"]
    found = {test: each["p_value"] for test, each in reward["extensions"]["tests"].items()}
    assert found == pytest.approx(p_values, abs=1e-9)


def test_tau_airline_over_all_runs(shared: Path, tmp_path: Path, command: Callable[..., int]) -> None:
    suite = AIRLINE.format(data=shared / "data" / "tau_airline", runs=4, first=[0, 1, 2, 3])
    (tmp_path / "suite.yaml").write_text(suite.replace("candidates: [second]\n", ""))

    assert command("run", ".", "first", "--json", "all.json") == 0

    report = read(tmp_path / "all.json")
    reward = report["extensions"]["metrics"]["recorded:reward"]
    assert reward["pass_hat"] == pytest.approx([0.420, 0.273, 0.220, 0.200], abs=5e-4)
    assert (reward["icc"], reward["design_effect"]) == pytest.approx((0.4046, 2.2138), abs=5e-5)
    alike, these = reward["cases_like_these"], report["overall"]["recorded:reward"]
    assert (these["ci_low"], these["ci_high"]) == pytest.approx((0.3537, 0.4893), abs=5e-5)
    assert (alike["rate"], alike["ci_low"], alike["ci_high"]) == pytest.approx((0.42, 0.3213, 0.5256), abs=5e-5)

    overall = report["overall"]
    assert {name: (stat["passes"], stat["scored"]) for name, stat in overall.items()} == {
        "recorded:reward": (84, 200),
        "called:get_user_details": (120, 200),
        "max_steps:15": (143, 200),
        "tool_order:get_user_details>update_reservation_flights": (41, 200),
    }


def test_smollm2_terse_is_a_regression(shared: Path, tmp_path: Path, command: Callable[..., int]) -> None:
    (tmp_path / "suite.yaml").write_text(SMOLLM.format(data=shared / "data" / "smollm2"))

    assert command("run", ".", "plain") == 0
    assert command("run", ".", "terse") == 0
    assert command("gate", ".", "terse", "--json", "gate.json") == 1

    (metric,) = read(tmp_path / "gate.json")["metrics"]
    assert (metric["old_passes"], metric["new_passes"], metric["new_scored"]) == (279, 252, 400)
    assert metric["p_value"] == pytest.approx(0.0433187748, abs=1e-9)
    assert metric["direction"] == "regression"
    tests = {test: each["p_value"] for test, each in metric["extensions"]["tests"].items()}
    assert tests["stratified"] == pytest.approx(0.0171371859, abs=1e-9)
    assert tests["sign_flip"] == pytest.approx(0.0351928654, abs=1e-9)


def cpu_seconds(folder: Path, *arguments: str) -> float:
    program = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)"
    )
    command = [sys.executable, "-c", program, sys.executable, "-m", "eval_assets", *arguments]
    return float(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)


def test_run_and_gate_cost_little(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVAL_ASSETS_HOME", raising=False)
    suite = AIRLINE.format(data=shared / "data" / "tau_airline", runs=2, first=[0, 1])
    (tmp_path / "suite.yaml").write_text(suite)
    cpu_seconds(tmp_path, "run", ".", "first")

    # The least of three, because whatever else the machine does only adds to it.
    run = min(cpu_seconds(tmp_path, "run", ".", "second") for _ in range(3))
    gate = min(cpu_seconds(tmp_path, "gate", ".", "second") for _ in range(3))

    assert run + gate < 4


def test_help_answers_at_once(tmp_path: Path) -> None:
    assert min(cpu_seconds(tmp_path, "--help") for _ in range(3)) < 0.15
