from __future__ import annotations

from typing import Any

import pytest

from eval_assets import Case, ConfigError, agent_runner, evaluate, metrics

CASES = [Case(name="a", input="x"), Case(name="b", input="y")]
METRICS = [metrics.no_error(), metrics.called_tool("look"), metrics.max_steps(3)]


class Agent:
    """Looks something up and answers; its steps are kept by run id, over evaluations."""

    def __init__(self) -> None:
        self.steps: dict[str, list[dict[str, Any]]] = {}

    async def __call__(self, run_id: str, text: str) -> dict[str, Any]:
        assert run_id not in self.steps, "a run id was used before"
        call = {"id": "1", "function": {"name": "look", "arguments": "{}"}}
        answer = {"role": "assistant", "content": text}
        self.steps[run_id] = [{"role": "user", "content": text}, {"role": "assistant", "tool_calls": [call]}, answer]
        return answer

    def history(self, run_id: str) -> list[dict[str, Any]]:
        return self.steps[run_id]


def test_steps_come_from_the_journal() -> None:
    agent = Agent()

    report = evaluate(agent_runner(agent, agent, "support"), CASES, METRICS, runs=3)

    assert {name: (stat.passes, stat.scored) for name, stat in report.overall.items()} == {
        "called:look": (6, 6),
        "max_steps:3": (6, 6),
        "no_error": (6, 6),
    }
    assert all(run_id.startswith("support-") for run_id in agent.steps)


def test_a_second_evaluation_over_a_kept_journal_samples_again() -> None:
    agent = Agent()

    for _ in range(2):
        evaluate(agent_runner(agent, agent, "support"), CASES, METRICS, runs=3)

    assert len(agent.steps) == 12


def test_an_unreadable_journal_leaves_the_trajectory_unscored() -> None:
    class Broken(Agent):
        def history(self, run_id: str) -> list[dict[str, Any]]:
            raise OSError("disk gone")

    agent = Broken()
    report = evaluate(agent_runner(agent, agent, "support"), CASES, METRICS)

    assert (report.overall["no_error"].passes, report.overall["no_error"].scored) == (2, 2)
    assert (report.overall["max_steps:3"].scored, report.overall["max_steps:3"].unscored) == (0, 2)


def test_an_agent_that_raises_fails_its_run() -> None:
    def agent(run_id: str, text: str) -> str:
        raise RuntimeError("no model")

    report = evaluate(agent_runner(agent, Agent(), "support"), CASES, [metrics.no_error()])

    assert (report.overall["no_error"].passes, report.overall["no_error"].scored) == (0, 2)


@pytest.mark.parametrize("arguments", [(None, Agent(), "p"), (Agent(), None, "p"), (Agent(), Agent(), "")])
def test_bad_arguments_are_refused_before_anything_runs(arguments: Any) -> None:
    with pytest.raises(ConfigError, match="agent_runner"):
        agent_runner(*arguments)
