"""Cases from a .jsonl, .json, .yaml or .csv file, or from a list in the suite; a bad case is named with its line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from eval_assets.errors import ConfigError, Problem
from eval_assets.model.cases import Case, CaseSet
from eval_assets.suite import document, problems
from eval_assets.suite.document import Document

_CSV_COLUMNS = ("name", "input", "want", "tags")
_WHAT = "a file of cases"


class _Entry(NamedTuple):
    """One case as written, and where."""

    value: Any
    line: int | None


def read_cases(file: Path) -> CaseSet:
    """
    Read the cases of a file, by the ending of its name.

    Raises:
        ConfigError: Every problem of the file at once, each with its line.
    """
    readers = {".jsonl": _jsonl, ".json": _json, ".yaml": _yaml, ".yml": _yaml, ".csv": _csv}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        endings = ", ".join(sorted(readers))
        raise ConfigError(
            Problem(f"cases in a {file.suffix or 'nameless'} file cannot be read; wanted {endings}", file)
        )
    return _case_set(reader(file), file, None)


def inline_cases(suite: Document, place: str) -> CaseSet:
    """Read cases written as a list in the suite itself; errors as `read_cases`."""
    entries = [_Entry(value, suite.line((place, index))) for index, value in enumerate(suite.value[place])]
    return _case_set(entries, suite.file, suite.line((place,)))


def _case_set(entries: Iterable[_Entry], file: Path, line: int | None) -> CaseSet:
    cases: list[Case] = []
    found: list[Problem] = []
    first_line: dict[str, int | None] = {}
    for entry in entries:
        case, wrong = _case(entry, file)
        found.extend(wrong)
        if case is None:
            continue
        if case.name in first_line:
            message = f"the case name {case.name!r} is already used on line {first_line[case.name]}; names are unique"
            found.append(Problem(message, file, entry.line))
        first_line.setdefault(case.name, entry.line)
        cases.append(case)
    if not cases and not found:
        found.append(Problem("there is no case in it; an evaluation of nothing measures nothing", file, line))
    if found:
        raise ConfigError(found)
    return CaseSet(cases=tuple(cases))


def _case(entry: _Entry, file: Path) -> tuple[Case | None, list[Problem]]:
    if isinstance(entry.value, Problem):
        return None, [entry.value]
    if not isinstance(entry.value, dict):
        message = f"a case is an object with `name` and `input`, found {type(entry.value).__name__}"
        return None, [Problem(message, file, entry.line)]
    value = {key: item for key, item in entry.value.items() if item is not None}
    if "input" not in value and "messages" not in value:
        named = f" ({value['name']!r})" if "name" in value else ""
        return None, [Problem(f"a case{named} needs `input` (text) or `messages`", file, entry.line)]
    try:
        return Case.model_validate(value), []
    except ValidationError as error:
        return None, list(problems.explain(error, Case, lambda text, _: Problem(text, file, entry.line)))


def _jsonl(file: Path) -> Iterator[_Entry]:
    for number, line in enumerate(document.read_text(file, what=_WHAT).split("\n"), start=1):
        if line.strip():
            yield _json_entry(line, file, number)


def _json_entry(text: str, file: Path, line: int) -> _Entry:
    try:
        return _Entry(json.loads(text, parse_constant=_refuse_constant), line)
    except ValueError as error:
        return _Entry(Problem(f"not JSON: {error}", file, line), line)


def _json(file: Path) -> Iterator[_Entry]:
    """Element by element, because the standard reader forgets on which line each stood."""
    text = document.read_text(file, what=_WHAT)
    decoder = json.JSONDecoder(parse_constant=_refuse_constant)
    try:
        whole = decoder.decode(text)
    except ValueError as error:
        raise ConfigError(Problem(f"not JSON: {error}", file, getattr(error, "lineno", None))) from error
    if not isinstance(whole, list):
        raise ConfigError(Problem(f"wanted a list of cases, found {type(whole).__name__}", file, 1))
    position = text.index("[") + 1
    for _ in whole:
        position = _skip(text, position)
        line = text.count("\n", 0, position) + 1
        value, position = decoder.raw_decode(text, position)
        yield _Entry(value, line)


def _skip(text: str, position: int) -> int:
    while text[position] in " \t\r\n,":
        position += 1
    return position


def _yaml(file: Path) -> Iterator[_Entry]:
    read = document.read_yaml(file, what=_WHAT)
    if not isinstance(read.value, list):
        found = "nothing" if read.value is None else type(read.value).__name__
        raise ConfigError(Problem(f"wanted a list of cases, found {found}", file, 1))
    for index, value in enumerate(read.value):
        yield _Entry(value, read.line((index,)))


def _csv(file: Path) -> Iterator[_Entry]:
    rows = csv.DictReader(io.StringIO(document.read_text(file, what=_WHAT), newline=""), strict=True)
    unknown = sorted(set(rows.fieldnames or ()) - set(_CSV_COLUMNS))
    missing = sorted({"name", "input"} - set(rows.fieldnames or ()))
    if unknown or missing:
        wanted = f"wanted {', '.join(_CSV_COLUMNS)} (want and tags may be left out)"
        raise ConfigError(Problem(f"columns are {', '.join(rows.fieldnames or ()) or 'missing'}; {wanted}", file, 1))
    try:
        for row in rows:
            yield _csv_entry(row, file, rows.line_num)
    except csv.Error as error:
        raise ConfigError(Problem(f"not CSV: {error}", file, rows.line_num)) from error


def _csv_entry(row: dict[str | Any, Any], file: Path, line: int) -> _Entry:
    if None in row or None in row.values():
        return _Entry(Problem(f"a row needs {len(_CSV_COLUMNS)} fields, as the header has them", file, line), line)
    tags = [tag.strip() for tag in (row.get("tags") or "").split(";") if tag.strip()]
    return _Entry({"name": row["name"], "input": row["input"], "want": row.get("want") or None, "tags": tags}, line)


def _refuse_constant(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON value")
