"""The words that people come back to: pure, for any script."""

import re
import unicodedata
from collections.abc import Iterator, Mapping

from sessions_app.stop_words import HAN_SIGNS, HAN_WORDS, KOREAN, STOP_WORDS

LONGER_THAN = 3
# In a syllable script two characters are a word already.
SYLLABLES = 2
# Vowels and tones of many scripts, which Python takes for no letters.
_MARKS = "".join(chr(code) for code in range(0x300, 0x1100) if unicodedata.category(chr(code))[0] == "M")
_SIGN = rf"(?:[^\W_]|[{_MARKS}\u200c\u200d])"
_RUN = re.compile(rf"[^\W_]{_SIGN}*(?:['\-]{_SIGN}+)*")
_ASCII_RUN = re.compile(r"[a-z0-9]+(?:['\-][a-z0-9]+)*")
_APOSTROPHE = "\u2019"
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+")
_KANA = re.compile("[\u30a0-\u30ff]+")
_NO_SPACES = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
# What is said with signs is as long as this at most: longer runs are sentences.
MOST_SIGNS = 4
_ADDRESS = re.compile(r"\b(?:https?|ftp|file)://\S+|\bwww\.\S+|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def words(text: str) -> Iterator[str]:
    """Those of a text that could be a topic, as often as they stand there."""
    plain = text.casefold().replace(_APOSTROPHE, "'")
    if "://" in plain or "@" in plain or "www." in plain:
        plain = _ADDRESS.sub(" ", plain)
    if plain.isascii():
        # Most texts of long records: nothing to look for in their words.
        yield from (run for run in _ASCII_RUN.findall(plain) if _is_topic(run))
        return
    for run in _RUN.findall(plain):
        if _NO_SPACES.search(run):
            yield from _without_spaces(run)
        elif _counts(run):
            yield run


def leading(counts: Mapping[str, int], least: int, most: int) -> list[tuple[str, int]]:
    """Those that came most often; of signs without spaces no part of a longer word that came as often."""
    often = [(word, count) for word, count in counts.items() if count >= least]
    chosen: list[tuple[str, int]] = []
    for word, count in sorted(often, key=lambda item: (-item[1], -_signs(item[0]), item[0])):
        if len(chosen) == most:
            break
        if not any(_covers(longer, times, word, count) for longer, times in chosen):
            chosen.append((word, count))
    return chosen


def _signs(word: str) -> int:
    return len(word) if _HAN.fullmatch(word) else 0


def _covers(longer: str, times: int, word: str, count: int) -> bool:
    if not _signs(word) or not _signs(longer):
        return False
    # Two runs out of one word that is longer than what is counted have an end in common.
    overlap = any(longer.endswith(word[:size]) or longer.startswith(word[-size:]) for size in (1, 2, 3))
    return word in longer or (overlap and times == count)


def _counts(word: str) -> bool:
    if _HANGUL.search(word):
        return len(word) >= SYLLABLES and word not in KOREAN
    return _is_topic(word)


def _is_topic(word: str) -> bool:
    return len(word) > LONGER_THAN and word not in STOP_WORDS and not word.isnumeric()


def _without_spaces(run: str) -> Iterator[str]:
    """Chinese by runs of signs, for no spaces part its words; Japanese by its foreign words too."""
    for word in _KANA.findall(run):
        if len(word) >= SYLLABLES:
            yield word
    for signs in _HAN.findall(run):
        for size in range(SYLLABLES, MOST_SIGNS + 1):
            for start in range(len(signs) - size + 1):
                word = signs[start : start + size]
                if (
                    not HAN_SIGNS.intersection(word)
                    and word[:2] not in HAN_WORDS
                    and word[-2:] not in HAN_WORDS
                ):
                    yield word
