from __future__ import annotations

import json
from pathlib import Path

import pytest

from eval_assets.errors import ConfigError, Problem
from eval_assets.suite import case_files, document


def problems_of(file: Path) -> list[Problem]:
    with pytest.raises(ConfigError) as caught:
        case_files.read_cases(file)
    return list(caught.value.problems)


CASES = [
    {"name": "a", "input": "x", "want": "y", "tags": ["t", "u"]},
    {"name": "b", "input": "two\nlines"},
]
FORMS = {
    "cases.jsonl": "\n".join(json.dumps(case) for case in CASES) + "\n\n",
    "cases.json": json.dumps(CASES, indent=2),
    "cases.yaml": "- {name: a, input: x, want: y, tags: [t, u]}\n- name: b\n  input: |-\n    two\n    lines\n",
    "cases.csv": 'name,input,want,tags\na,x,y,t; u\nb,"two\nlines",,\n',
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_reads_the_same(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FORMS[name])

    case_set = case_files.read_cases(tmp_path / name)

    assert [case.model_dump(exclude_defaults=True) for case in case_set.cases] == [
        {"name": "a", "input": "x", "want": "y", "tags": ("t", "u")},
        {"name": "b", "input": "two\nlines"},
    ]


@pytest.mark.parametrize(
    ("name", "text", "line", "says"),
    [
        ("c.jsonl", "", None, "there is no case in it"),
        ("c.jsonl", "\n\n", None, "there is no case in it"),
        ("c.json", "[]", None, "there is no case in it"),
        ("c.yaml", "[]", None, "there is no case in it"),
        ("c.csv", "name,input\n", None, "there is no case in it"),
        ("c.jsonl", '{"name": "a", "input": "x"}\n\n{"name": "a", "input": "y"}\n', 3, "already used on line 1"),
        ("c.json", '[\n  {"name": "a", "input": "x"},\n  {"name": "b"}\n]', 3, "needs `input` (text) or `messages`"),
        ("c.json", '{"name": "a"}', 1, "wanted a list of cases, found dict"),
        ("c.json", "[1\n", 2, "not JSON"),
        ("c.yaml", "a: 1\n", 1, "wanted a list of cases, found dict"),
        ("c.yaml", "- {name: a, input: x}\n- {name: b, input: y, wnat: 1}\n", 2, "did you mean `want`?"),
        ("c.jsonl", '["a"]\n', 1, "a case is an object"),
        ("c.jsonl", '{"name": "a", "input": 5}\n', 1, "valid string"),
        ("c.jsonl", '{"name": "a", "input": "x", "want": NaN}\n', 1, "not JSON"),
        ("c.csv", "name,inptu\na,x\n", 1, "columns are name, inptu"),
        ("c.csv", "name,input\na\n", 2, "fields"),
        ("c.csv", "name,input\na,x,y\n", 2, "fields"),
        ("c.csv", "", 1, "columns are missing"),
    ],
)
def test_a_bad_case_is_named_with_its_line(tmp_path: Path, name: str, text: str, line: int | None, says: str) -> None:
    (tmp_path / name).write_text(text)

    (problem,) = problems_of(tmp_path / name)

    assert says in problem.message
    assert problem.line == line


def test_every_bad_case_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_text('nope\n{"name": "a", "input": "x"}\n{"input": "y"}\n[]\n')

    assert [problem.line for problem in problems_of(tmp_path / "c.jsonl")] == [1, 3, 4]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_bytes("\ufeffname,input\na,x\n".encode())

    assert case_files.read_cases(tmp_path / "c.csv").cases[0].name == "a"


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.jsonl").write_bytes('{"name": "é", "input": "x"}'.encode("latin-1"))

    (problem,) = problems_of(tmp_path / "c.jsonl")

    assert "not UTF-8 text (byte 10)" in problem.message


def test_a_date_stays_the_text_it_was(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("- {name: a, input: x, want: 2024-05-20}\n")

    assert case_files.read_cases(tmp_path / "c.yaml").cases[0].want == "2024-05-20"


def test_cases_in_the_suite_itself_know_their_lines(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("cases:\n  - {name: a, input: x}\n  - {name: a, input: y}\n")
    written = document.read_yaml(tmp_path / "suite.yaml", what="a suite")

    with pytest.raises(ConfigError) as caught:
        case_files.inline_cases(written, "cases")

    assert [problem.line for problem in caught.value.problems] == [3]
