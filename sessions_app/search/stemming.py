"""English word endings, by Porter's algorithm of 1980: `decided` and `deciding` become one term."""

import re
from functools import lru_cache

CONSONANT, VOWEL = "[^aeiou]", "[aeiouy]"
# A consonant may be a y at the start; elsewhere y after a consonant is a vowel.
C, V = f"{CONSONANT}[^aeiouy]*", f"{VOWEL}[aeiou]*"
MEASURE_OVER_0 = re.compile(f"^({C})?{V}{C}")
MEASURE_IS_1 = re.compile(f"^({C})?{V}{C}({V})?$")
MEASURE_OVER_1 = re.compile(f"^({C})?{V}{C}{V}{C}")
HAS_VOWEL = re.compile(f"^({C})?{VOWEL}")
ENDS_CVC = re.compile(f"^{C}{VOWEL}[^aeiouwxy]$")
DOUBLED = re.compile(r"([^aeiouylsz])\1$")
WORD = re.compile(r"[a-z]{3,40}\Z")

STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"),
    ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"),
    ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"), ("logi", "log"),
)  # fmt: skip
STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""),
    ("ness", ""),
)  # fmt: skip
STEP_4 = (
    "ement", "ment", "ance", "ence", "able", "ible", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize",
    "ion", "al", "er", "ic", "ou",
)  # fmt: skip


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Of a word in lower case; what is not an English word of some length stays as it is."""
    if not WORD.match(word):
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and HAS_VOWEL.match(word[:-1]):
        word = f"{word[:-1]}i"
    word = _replaced(word, STEP_2)
    word = _replaced(word, STEP_3)
    return _final_e(_suffix(word))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if MEASURE_OVER_0.match(word[:-3]) else word
    cut = next((word[: -len(end)] for end in ("ed", "ing") if word.endswith(end)), None)
    if cut is None or not HAS_VOWEL.match(cut):
        return word
    if cut.endswith(("at", "bl", "iz")):
        return f"{cut}e"
    if DOUBLED.search(cut):
        return cut[:-1]
    return f"{cut}e" if MEASURE_IS_1.match(cut) and ENDS_CVC.match(cut) else cut


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, other in endings:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            return rest + other if MEASURE_OVER_0.match(rest) else word
    return word


def _suffix(word: str) -> str:
    for ending in STEP_4:
        if word.endswith(ending):
            rest = word[: -len(ending)]
            fits = MEASURE_OVER_1.match(rest) and (ending != "ion" or rest.endswith(("s", "t")))
            return rest if fits else word
    return word


def _final_e(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if MEASURE_OVER_1.match(rest) or (MEASURE_IS_1.match(rest) and not ENDS_CVC.match(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and MEASURE_OVER_1.match(word) else word
