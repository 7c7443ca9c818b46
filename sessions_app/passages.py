"""A message as passages that can stand alone: pure. Sentences of a few words stay with their neighbours, a
list with the line that announces it; of code only is told that there was some."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from sessions_app.error_shapes import raised

LOOKED_AT = 6000
A_MESSAGE = 40
# Widths: a sign of Chinese, Japanese or Korean counts two.
LONGEST = 320
SHORT = 40
WRAPPED_AT = 50
LONGEST_ABBREVIATION = 16

_FENCED = re.compile(r"```[ \t]*([\w+#.-]*)[^\n]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_NOTES = re.compile(r"\[Message Time: [^\]]*\]\s*|\[image: [^\]]*\]\s*")
_ITEM = re.compile(r"\s*(?:[-*+•]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+)(?=\S)")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"\s*\|?[\s:|=*_-]*[-=*_]{3}[\s:|=*_-]*$")
_LEAD = re.compile(r"^\s*(?:#{1,6}\s+|>+\s*)+")
_EMPHASIS = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1|(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])")
_END = re.compile(r"([.!?…][\"'”»)\]]*)\s+|([。\uff01\uff1f｡][」』”\uff09]*)\s*")
# Behind these a point ends no sentence; neither does it behind the number of a day, or a single letter.
_GOES_ON = re.compile(
    r"(?:^|[\s(])(?:\d{1,2}|[A-Za-z]|e\.g|i\.e|z\.\s?B|d\.\s?h|u\.\s?a|etc|vs|cf|approx|ca|bzw|ggf|inkl|usw|Dr|Mr|Mrs|Ms|Prof"
    r"|St|Str|No|Nr|Nos|Sr|Sra|Mme|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|Mon|Tue|Wed|Thu|Fri|Sat|Sun)\.$",
    re.IGNORECASE,
)
_MERE_CODE = re.compile(r"\[code: (?:[^,\]]*, )?\d+ lines?\]")
_HEADING = re.compile(r"\s*#{1,6}\s")
_WIDE = re.compile(
    "[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]"
)
_LETTER = re.compile(r"[^\W\d_]")


def passages(text: str, least: int, idle: Callable[[str], bool] = lambda sentence: False) -> list[str]:
    """Each at least so wide, where there is as much on one line, and none wider than `LONGEST`.

    A sentence that is idle talk is left out of a line that says something besides.
    """
    found: list[str] = []
    for lead, items in _blocks(_lines(text)):
        if items:
            found += _packed(lead, items)
        else:
            said = list(_sentences(lead))
            found += _glued([sentence for sentence in said if not idle(sentence)] or said, least)
    told = (passage for passage in found if _LETTER.search(passage) and not _MERE_CODE.fullmatch(passage))
    return [cut(passage) for passage in told][:A_MESSAGE]


def width(text: str) -> int:
    if text.isascii():
        return len(text)
    return len(text) + len(_WIDE.findall(text))


def cut(text: str) -> str:
    if width(text) <= LONGEST:
        return text
    room = LONGEST - 1
    for place, sign in enumerate(text):
        room -= width(sign)
        if room < 0:
            kept = text[:place]
            # At a word, where there are words.
            return (kept.rsplit(" ", 1)[0] if " " in kept[-40:] else kept).rstrip(" ,;") + "…"
    return text


def one_line(text: str) -> str:
    return " ".join(text.split())


def _lines(text: str) -> Iterator[str]:
    """Without what Markdown is only for the eye; lines that were broken for it stand together."""
    held = ""
    for line in _NOTES.sub("", _FENCED.sub(_told_code, text[:LOOKED_AT])).splitlines():
        if held and _wrapped(held, line):
            held = f"{held} {line.strip()}"
            continue
        if held:
            yield held
        held = line
    if held:
        yield held


def _told_code(found: re.Match[str]) -> str:
    if (thrown := raised(found[2])) is not None:
        return f"\n[code: {thrown}]\n"
    lines = len(found[2].strip().splitlines())
    what = f"{found[1]}, " if found[1] else ""
    return f"\n[code: {what}{lines} line{'' if lines == 1 else 's'}]\n" if lines else "\n"


def _wrapped(before: str, line: str) -> bool:
    if before.lstrip().startswith(("|", "#", "[code:")) or not line.strip():
        return False
    start = line.lstrip()
    if _ITEM.match(before) and line.startswith((" ", "\t")) and not _ITEM.match(line):
        return True
    return len(before) >= WRAPPED_AT and before.rstrip()[-1:] not in ".!?:…。" and start[:1].islower()


def _blocks(lines: Iterator[str]) -> Iterator[tuple[str, list[str]]]:
    """Lines, and lists with the line before them where that announces them."""
    lead, items, heading = "", list[str](), False
    for line in lines:
        if not line.strip():
            continue
        if _RULE.match(line):
            # The row above the rule names the columns.
            if items and "|" in line:
                items.pop()
            continue
        if (item := _item(line)) is not None:
            items.append(item)
            continue
        # A heading without a list below says less than what stands there.
        if items or (lead and not heading):
            yield lead, items
        heading = _HEADING.match(line) is not None
        lead, items = _plain(line), []
        if heading:
            lead = f"{lead.rstrip(':')}:"
        elif not lead.endswith((":", "\uff1a")):
            yield lead, []
            lead = ""
    if lead or items:
        yield lead, items


def _item(line: str) -> str | None:
    if line.startswith("[code:"):
        return line
    if _ROW.match(line):
        cells = (_plain(cell) for cell in line.strip().strip("|").split("|"))
        return ", ".join(cell for cell in cells if cell)
    return _plain(line[found.end() :]) if (found := _ITEM.match(line)) else None


def _plain(line: str) -> str:
    return one_line(_EMPHASIS.sub(lambda found: found[2] or found[3], _LEAD.sub("", line)))


def _packed(lead: str, items: Sequence[str]) -> Iterator[str]:
    """As many to a passage as fit; without a line that announces them each stands alone."""
    if not lead:
        yield from items
        return
    passage = f"{lead} {items[0]}"
    for item in items[1:]:
        longer = f"{passage.rstrip('.;')}; {item}"
        if width(longer) > LONGEST:
            yield passage
            passage = item
        else:
            passage = longer
    yield passage


def _sentences(line: str) -> Iterator[str]:
    held = ""
    for piece in _END.sub(r"\1\2\n", line).split("\n"):
        held = _joined(held, piece.strip())
        if not _GOES_ON.search(held[-LONGEST_ABBREVIATION:]):
            yield held
            held = ""
    if held:
        yield held


def _glued(sentences: Iterable[str], least: int) -> Iterator[str]:
    passage = ""
    for sentence in sentences:
        longer = _joined(passage, sentence)
        enough = width(passage) >= least and width(sentence) >= min(least, SHORT)
        if passage and (enough or width(longer) > LONGEST):
            yield passage
            longer = sentence
        passage = longer
    if passage:
        yield passage


def _joined(before: str, after: str) -> str:
    """Scripts that part no words part no sentences either."""
    space = "" if not before or before[-1] in "。\uff01\uff1f｡" else " "
    return f"{before}{space}{after}"
