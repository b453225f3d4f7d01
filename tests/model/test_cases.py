from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from eval_assets import Case, CaseSet, hash_cases
from eval_assets.model import gojson

# Computed by Go's encoding/json and crypto/sha256 for the same cases.
GO_HASHES: list[tuple[list[tuple[str, str, Any]], str]] = [
    ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ([("a", "x", None)], "952d050a043d4e742e5483091fa08070cee1e5c5565e6e90e2bff13fa09a92da"),
    ([("a", "one", 1), ("b", "two", "yes")], "bf142d5422b95f1c77256d00e2dc1d2d89280f158e37354f1d00ca0a6e007526"),
    ([("b", "two", "yes"), ("a", "one", 1)], "9f9e23204e2b2bd97994b979d3cf926341eccb0c49c2c7579c939dfffc9ef975"),
    ([("ab", "c", None)], "259359291ff0e18553d6b92bc0fd3f79c353d274d9b3f9b7f1749c9c74b88cfb"),
    ([("a", "bc", None)], "ed46e5d8aa04d8e52b8c8e213af1f1a03e854c4201903cdc4347264469ee088d"),
    (
        [("f", "", [0.1, 1e21, 10**20, 1e-7, 1e-6, 100, 0, 0.3333333333333333, 123456789012345680])],
        "b2b7123f6f33ca351ab95780404ca793b7ea3eede1d20eefcca52e19d6b580d9",
    ),
    (
        [("é", "日本語 🙂", {"a": [1, 2.5, True, None], "ключ": "значение"})],
        "0908ed5240049f18883ad86d4e0580eee45ae962aa00200d72f8048760251a71",
    ),
    ([("h", "<b>&</b>", "<b>&\u2028")], "b570ffd57afd6ffda3cd7b6b233ee97f6c940f4c255eda00b8a6cfddb9114b73"),
    (
        [("c", "tab\tnl\n", '\t\n\r\x00\x1f"\\/\x7f')],
        "d258cf84883cb6e218ec1343fb5eee1e25db0051703ad268ace5b31c5194917f",
    ),
]


@pytest.mark.parametrize(("cases", "expected"), GO_HASHES)
def test_hash_is_go_s_to_the_byte(cases: list[tuple[str, str, Any]], expected: str) -> None:
    made = [Case(name=name, input=text, want=want) for name, text, want in cases]

    assert hash_cases(made) == expected


def test_hash_of_the_stored_reference_sets(reference: dict[str, Any]) -> None:
    for entry in reference.values():
        cases = [Case(**{k: v for k, v in case.items() if k in {"name", "input", "want"}}) for case in entry["cases"]]

        assert hash_cases(cases) == entry["hash"]


def test_tags_do_not_move_the_hash() -> None:
    assert Case(name="a", input="x", tags=("hard",)).hash == Case(name="a", input="x").hash


def test_messages_and_tools_move_the_hash() -> None:
    plain = Case(name="a", input="x")
    messages = Case(name="a", messages=({"role": "user", "content": "x"},))
    tools = Case(name="a", input="x", tools=({"type": "function", "function": {"name": "f"}},))

    assert len({plain.hash, messages.hash, tools.hash}) == 3


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_go_json_reads_back_as_the_same_value(value: Any) -> None:
    assert json.loads(gojson.dumps(value), parse_int=float) == value


@given(st.text(), st.text(), JSON)
def test_hash_agrees_with_its_definition(name: str, text: str, want: Any) -> None:
    parts = [(name or "n").encode(), text.encode(), gojson.dumps(want).encode()]
    written = b"".join(str(len(part)).encode() + b":" + part + b"\0" for part in parts)

    assert Case(name=name or "n", input=text, want=want).hash == hashlib.sha256(written).hexdigest()


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ({"name": ""}, "at least 1 character"),
        ({"name": "a", "input": "x", "messages": [{"role": "user"}]}, "both `input` and `messages`"),
        ({"name": "a", "messages": []}, "`messages` is empty"),
        ({"name": "a", "want": {1, 2}}, "not a JSON value"),
        ({"name": "a", "want": float("nan")}, "not a JSON number"),
        ({"name": "a", "tags": [" "]}, "a tag is empty"),
        ({"name": "a", "wnat": 1}, "Extra inputs"),
    ],
)
def test_a_bad_case_is_refused(case: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Case.model_validate(case)


def test_an_empty_case_set_is_refused() -> None:
    with pytest.raises(ValidationError):
        CaseSet(cases=())


def test_repeated_names_are_refused_by_name() -> None:
    with pytest.raises(ValidationError, match="case names repeat: a"):
        CaseSet(cases=(Case(name="a"), Case(name="b"), Case(name="a", input="other")))
