"""
Case × RunOutput → Score: one function per question.

Each constructor here returns a `Metric`; a bad argument is a ConfigError at once, before anything runs. All take
`tags`: the metric is then asked only of cases that carry one of them.
"""

from eval_assets.metrics.custom import custom, recorded
from eval_assets.metrics.expectation import expectation
from eval_assets.metrics.governance import governance_held
from eval_assets.metrics.judge import judge
from eval_assets.metrics.outcome import available, contains, contains_want, equals_want, matches, no_error
from eval_assets.metrics.trajectory import called_tool, max_steps, tool_order

__all__ = [
    "available",
    "called_tool",
    "contains",
    "contains_want",
    "custom",
    "equals_want",
    "expectation",
    "governance_held",
    "judge",
    "matches",
    "max_steps",
    "no_error",
    "recorded",
    "tool_order",
]
