"""
What a user writes, read: suite.yaml, its cases and its candidates, into one `Suite`.

    document.py   text → values that know their line
    problems.py   what pydantic found → one clear sentence each
    variables.py  ${VAR} and ${VAR:-default}
    case_files.py cases in .jsonl, .json, .yaml or .csv, or written in the suite
    metric_list.py metrics as a suite writes them
    suite.py      all of it together, and what must hold between the parts
"""

from eval_assets.suite.suite import Refresh, Suite, load_suite

__all__ = ["Refresh", "Suite", "load_suite"]
