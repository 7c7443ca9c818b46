"""Text of strangers, made fit to stand on one line of ours."""

import re
import unicodedata

SHOWN = 240

# Tags and selectors are shown by nothing and can carry a hidden text; fillers are letters without a shape.
_UNSEEN = re.compile("[\U000e0000-\U000e0fff\u115f\u1160\u3164\uffa0\u2065\ufff0-\ufff8]")
# They join letters and emoji into one and neither hide nor reorder anything.
_JOINERS = "\u200c\u200d"
# What could end our emphasis or open code, or pass for a tag that a model obeys.
_LOOKALIKES = str.maketrans({"`": "'", "<": "\u2039", ">": "\u203a"})


def one_line(text: str, most: int = SHOWN) -> str:
    """Without line breaks, control, bidirectional and other invisible characters; at most `most` long."""
    # Only so much is looked at: what is cut anyway is not worth the time of whoever asks.
    words = "".join(_visible(character) for character in text[: most * 20]).translate(_LOOKALIKES).split()
    # At the edge of a word there is nothing to join: what is left of one that was nothing else is no name.
    line = _single_stars(" ".join(filter(None, (word.strip(_JOINERS) for word in words))))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def _visible(character: str) -> str:
    if character.isspace():
        return " "
    if character in _JOINERS or character.isprintable():
        return "" if _UNSEEN.match(character) else character
    # Private use and characters newer than this Python are not printable to it, yet are somebody's letters.
    kept = unicodedata.category(character) in ("Co", "Cn") and not _UNSEEN.match(character)
    return character if kept else ""


def _single_stars(line: str) -> str:
    while "**" in line:
        line = line.replace("**", "*")
    return line
