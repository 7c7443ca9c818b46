"""JSON as it is taken: what another reader would see differently is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.problems import BadRequest, Invalid
from sessions_app.strict_json import loads

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abé漢"), inner),
    max_leaves=20,
)


@given(VALUES, st.booleans())
def test_whatever_json_can_say_is_read_as_any_reader_reads_it(value: Any, escaped: bool) -> None:
    assert loads(json.dumps(value, ensure_ascii=escaped).encode()) == value


@pytest.mark.parametrize(
    ("raw", "loc", "kind"),
    [
        (b'{"a": "\\u0000"}', ["body", "a"], "nul_character"),
        (b'{"a": [{"b\\u0000": 1}]}', ["body", "a", 0], "nul_character"),
        (b'{"a": "\x00"}', ["body"], "nul_character"),
        (b'{"a": "\\ud800"}', ["body", "a"], "lone_surrogate"),
        (b'{"\\udfff": 1}', ["body"], "lone_surrogate"),
        (b'["\\udc00\\ud800"]', ["body", 0], "lone_surrogate"),
        (b'{"a": 9223372036854775808}', ["body"], "json_value"),
        (b'{"a": -9223372036854775808}', ["body"], "json_value"),
        (b'{"a": 1' + b"0" * 400 + b"}", ["body"], "json_value"),
        (b'{"a": 1' + b"0" * 5000 + b"}", ["body"], "json_value"),
        (b'{"a": 1e999}', ["body"], "json_value"),
        (b'{"a": -1e999}', ["body"], "json_value"),
        (b'{"a": NaN}', ["body"], "json_value"),
        (b"[-Infinity]", ["body"], "json_value"),
        (b'{"a": 1, "b": 2, "a": 1}', ["body"], "json_value"),
        (b'{"a": 1, "\\u0061": 2}', ["body"], "json_value"),
        (b"[" * 101 + b"]" * 101, ["body"], "json_depth"),
        (b"[" * 900 + b'"\\u0041"' + b"]" * 900, ["body"], "json_depth"),
        (b"[" * 100_000 + b"]" * 100_000, ["body"], "json_depth"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, ["body"], "json_depth"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_its_place(raw: bytes, loc: list[str | int], kind: str) -> None:
    with pytest.raises(Invalid) as refused:
        loads(raw)
    (error,) = refused.value.errors
    assert (error["loc"], error["type"]) == (loc, kind)


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b"",
        b"nul",
        b"{'a': 1}",
        b'{"a": 1,}',
        b'{"a": 1} x',
        b'"\n"',
        b"\xff\xfe{}",
        b'{"a": "\xc3"}',
        b'{"a": "\xed\xa0\x80"}',
        b"01",
        b'\xef\xbb\xbf{"a": 1}',
    ],
)
def test_what_is_no_json_is_a_bad_request(raw: bytes) -> None:
    with pytest.raises(BadRequest):
        loads(raw)


def test_a_pair_of_surrogates_is_a_character_and_a_hundred_levels_are_fine() -> None:
    assert loads(b'"\\ud83d\\ude00"') == "\U0001f600"
    value = loads(b"[" * 100 + b"]" * 100)
    assert json.dumps(value) == "[" * 100 + "]" * 100
    assert loads(b'"' + b"[" * 1000 + b'"') == "[" * 1000


def test_an_object_of_many_names_is_told_its_double_at_once() -> None:
    """With a look at all names for each name this would take hours."""
    names = ",".join(f'"{n}":0' for n in range(400_000))
    with pytest.raises(Invalid, match="'x' stands twice"):
        loads(f'{{{names},"x":0,"x":0}}'.encode())
