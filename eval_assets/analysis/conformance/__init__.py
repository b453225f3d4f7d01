"""
Is a target fit to be evaluated at all? What its answers to a few plain cases say.

    canonical.py   the cases every provider can be asked
    judge.py       case × output → how the target did on it
    tool_calls.py  precision, recall and F1 of calling the right tool
    baseline.py    what an earlier certification passed and this one does not
    document.py    a report as a document

Asking the target is not here: that is the work of targets and execution.
"""
