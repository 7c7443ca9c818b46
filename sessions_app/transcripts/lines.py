"""JSON of any size and in any condition, a piece at a time."""

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

import orjson

# Longer lines are passed over without ever being held.
LONGEST_LINE = 64 * 1024 * 1024
DEEPEST = 100
CHUNK = 1024 * 1024
BOM = b"\xef\xbb\xbf"
REPLACEMENT = "\ufffd"
INTEGER = 2**63


class Line(NamedTuple):
    number: int
    value: Any
    # Why there is no value; or, with one, what had to be replaced in it.
    problem: str = ""


def json_lines(stream: BinaryIO) -> Iterator[Line]:
    """Each line that is not blank. What cannot be read has no value and says why."""
    number = 0
    while raw := stream.readline(LONGEST_LINE):
        number += 1
        if not raw.endswith(b"\n") and len(raw) == LONGEST_LINE:
            _pass_over(stream)
            yield Line(number, None, f"longer than {LONGEST_LINE} bytes")
        elif not raw.isspace():
            yield Line(number, *parsed(raw.removeprefix(BOM) if number == 1 else raw))


def _pass_over(stream: BinaryIO) -> None:
    while (rest := stream.readline(CHUNK)) and not rest.endswith(b"\n"):
        pass


def parsed(raw: bytes) -> tuple[Any, str]:
    """The value and what had to be repaired in it; (None, why) for what is no JSON."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return _leniently(raw)
    if b"\\u0000" in raw:
        value, changed = storable(value)
        return (None, "nested too deep") if _too_deep(raw, value) else (value, changed)
    return (None, "nested too deep") if _too_deep(raw, value) else (value, "")


def _leniently(raw: bytes) -> tuple[Any, str]:
    """Half a character, a lone surrogate, NaN: other programs write them, and the rest is good."""
    try:
        value = json.loads(raw.decode("utf-8", "replace"), parse_constant=lambda _: None)
    except ValueError:
        return None, "not JSON"
    except RecursionError:
        return None, "nested too deep"
    if _too_deep(raw, value):
        return None, "nested too deep"
    value, changed = storable(value)
    return value, changed or "characters or numbers that are not JSON were replaced"


def _too_deep(raw: bytes, value: Any) -> bool:
    if raw.count(b"[") + raw.count(b"{") <= DEEPEST:
        return False
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return any(isinstance(item, dict | list) for item in level)


def storable(value: Any) -> tuple[Any, str]:
    """Without what PostgreSQL or UTF-8 cannot hold."""
    found: list[str] = []
    return _storable(value, found), found[0] if found else ""


def _storable(value: Any, found: list[str]) -> Any:
    if isinstance(value, str):
        return _text(value, found)
    if isinstance(value, dict):
        return {_text(name, found): _storable(item, found) for name, item in value.items()}
    if isinstance(value, list):
        return [_storable(item, found) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -INTEGER < value < INTEGER:
        found.append("an integer over 64 bits became a text")
        return str(value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        found.append("a number that is too large became null")
        return None
    return value


def _text(text: str, found: list[str]) -> str:
    if "\x00" in text:
        found.append("NUL characters were replaced")
        text = text.replace("\x00", REPLACEMENT)
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        found.append("lone surrogates were replaced")
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class Field(NamedTuple):
    """A name of the outermost object, or an item of the list behind it; the name is empty in a bare list."""

    name: str
    value: Any
    is_item: bool


class NotJson(ValueError):
    pass


def json_fields(stream: BinaryIO, lists: frozenset[str] = frozenset()) -> Iterator[Field]:
    """The fields of one large object, and of the lists that are named their items, one at a time."""
    text = _Text(stream)
    opening = text.next_character()
    if opening == "[":
        yield from (Field("", value, True) for value in text.items())
        return
    if opening != "{":
        raise NotJson("neither an object nor a list")
    while text.peek() != "}":
        name = text.value()
        text.expect(":")
        if name in lists and text.peek() == "[":
            text.next_character()
            yield from (Field(name, value, True) for value in text.items())
        else:
            yield Field(str(name), text.value(), False)
        if text.peek() == ",":
            text.next_character()
        elif text.peek() != "}":
            raise NotJson("cut off or broken")


class _Text:
    """A window over the stream's text that moves on behind what was read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._read = codecs.getreader("utf-8-sig")(stream, "replace").read
        self._buffer = ""
        self._place = 0
        self._ended = False
        self._decoder = json.JSONDecoder(parse_constant=lambda _: None)

    def peek(self) -> str:
        while True:
            while self._place < len(self._buffer) and self._buffer[self._place] in " \t\r\n":
                self._place += 1
            if self._place < len(self._buffer):
                return self._buffer[self._place]
            if not self._more():
                raise NotJson("cut off")

    def next_character(self) -> str:
        found = self.peek()
        self._place += 1
        return found

    def expect(self, character: str) -> None:
        if self.next_character() != character:
            raise NotJson("broken")

    def value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._place)
            except (ValueError, RecursionError) as error:
                if isinstance(error, RecursionError) or not self._more():
                    raise NotJson("cut off or broken") from None
                continue
            # A number may go on behind the end of what was read.
            if end < len(self._buffer) or not self._more():
                self._place = end
                return storable(value)[0]

    def items(self) -> Iterator[Any]:
        while self.peek() != "]":
            yield self.value()
            if self.peek() == ",":
                self.next_character()
            elif self.peek() != "]":
                raise NotJson("cut off or broken")
        self.next_character()

    def _more(self) -> bool:
        """Twice as much each time, so that a large value is not tried too often."""
        if self._ended or len(self._buffer) - self._place > LONGEST_LINE:
            return False
        found = self._read(max(CHUNK // 4, len(self._buffer) - self._place))
        self._ended = not found
        self._buffer, self._place = self._buffer[self._place :] + found, 0
        return bool(found)
