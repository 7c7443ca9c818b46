"""JSON as we take it: nothing that another reader would see differently, nothing that cannot be stored."""

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

import orjson

from sessions_app.problems import BadRequest, Problem, invalid

DEEPEST = 100
LARGEST_INTEGER = 2**63 - 1


class _Refused(ValueError):
    pass


def loads(raw: bytes) -> Any:
    try:
        value = _decoder.decode(raw.decode())
    except _Refused as error:
        raise invalid(["body"], str(error), "json_value") from None
    except UnicodeDecodeError as error:
        raise BadRequest(f"The body is not valid UTF-8: byte {error.start} cannot be read.") from None
    except json.JSONDecodeError as error:
        if b"\x00" in raw:
            raise invalid(["body"], "NUL characters cannot be stored.", "nul_character") from None
        raise BadRequest(
            f"The body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
    except (RecursionError, ValueError):
        raise too_deep() from None
    _refuse_unstorable(raw, value)
    return value


def dumps(value: Any) -> str:
    return orjson.dumps(value).decode()


class StoredJson(json.JSONDecoder):
    """PostgreSQL writes a number out, 1e300 as 301 digits: no integer that we take is that long."""

    def __init__(self) -> None:
        super().__init__(parse_int=_stored_integer)


def _stored_integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 19 or abs(int(digits)) <= LARGEST_INTEGER else float(digits)


def too_deep() -> Problem:
    return invalid(["body"], f"JSON may be nested at most {DEEPEST} levels deep.", "json_depth")


def _refuse_unstorable(raw: bytes, value: Any) -> None:
    # First, because what follows goes down as deep as the value does.
    if raw.count(b"[") + raw.count(b"{") > DEEPEST and _depth(value) > DEEPEST:
        raise too_deep()
    # NUL and lone surrogates only come in by an escape: most bodies have none and are not looked at again.
    if b"\\u" in raw:
        _refuse_text(value, ["body"])


def _refuse_text(value: Any, loc: list[str | int]) -> None:
    if isinstance(value, str):
        if "\x00" in value:
            raise invalid(loc, "NUL characters cannot be stored.", "nul_character")
        if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
            raise invalid(loc, "A lone surrogate is not a character.", "lone_surrogate")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_text(item, [*loc, index])
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_text(key, loc)
            _refuse_text(item, [*loc, key])


def _depth(value: Any) -> int:
    """Level by level, so that no nesting is too deep to be measured."""
    depth, level = 0, [value] if isinstance(value, dict | list) else []
    while level:
        depth += 1
        level = [child for item in level for child in _children(item) if isinstance(child, dict | list)]
    return depth


def _children(item: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
        raise _Refused(f"The name {twice[:64]!r} stands twice in one object.")
    return found


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else LARGEST_INTEGER + 1
    if not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
        raise _Refused("An integer is larger than 64 bits.")
    return value


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _Refused("A number is too large.")
    return value


def _constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not JSON.")


_decoder = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_number, parse_constant=_constant
)
