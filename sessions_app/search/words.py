"""What of a text is compared: its folded form, its words, its terms in the index."""

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from sessions_app.search.stemming import stem

# Scripts without spaces (Chinese, Japanese, Thai, Lao, Burmese, Khmer), and Korean, whose words carry their
# endings: compared character by character.
CJK = (
    "\u0e01-\u0e4e\u0e81-\u0eda\u0edc-\u0eff\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u17dc-\u17dd"
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3041-\u30ff\u3105-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00020000-\U0003ffff"
)
# Vowels and other marks of many scripts, no letters to Python and part of the word to everybody else.
MARKS = "".join(char for char in map(chr, range(0x300, 0x3000)) if unicodedata.category(char).startswith("M"))
UNIT = re.compile(f"[{CJK}]|[^\\W_{CJK}](?:[^\\W_{CJK}]|[{MARKS}])*")
RUN = re.compile(f"[{CJK}]+")
IS_CJK = re.compile(f"[{CJK}]\\Z")
LONGEST_TERM = 64
# Behind the last character, so that a short text at the very end starts a gram too. Nobody can type it.
END = "\x00\x00"


def fold(text: str) -> str:
    """One form for all cases and for composed and combining letters."""
    folded = text.casefold()
    return folded if folded.isascii() else unicodedata.normalize("NFC", folded)


def words(folded: str) -> list[str]:
    """As they stand: words, and single characters of a script without spaces."""
    return UNIT.findall(folded)


@lru_cache(maxsize=65_536)
def term_of(word: str) -> str:
    """Of a folded word: without accents where it has them, in its stem where it is English."""
    if word.isascii():
        return stem(word)[:LONGEST_TERM]
    if IS_CJK.match(word):
        return word
    plain = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    return stem(plain)[:LONGEST_TERM] or word


def word_terms(folded: str) -> set[str]:
    """Each word once; scripts without spaces by single characters and by pairs."""
    found = set(map(term_of, words(folded)))
    if not folded.isascii():
        for run in RUN.findall(folded):
            found.update(map("".join, pairwise(run)))
    return found


def grams(folded: str) -> set[str]:
    """Every three characters that follow each other, but for those that pairs tell of already."""
    padded = folded + END
    found = {padded[place : place + 3] for place in range(len(folded))}
    return found if folded.isascii() else {gram for gram in found if not RUN.fullmatch(gram)}


def literal_terms(folded: str) -> list[str]:
    """Terms of the index that every text with this one in it has; none where it is too short to tell."""
    parts = [folded[place : place + 3] for place in range(len(folded) - 2)]
    found = [f"g{part}" for part in parts if not RUN.fullmatch(part)]
    for run in RUN.findall(folded):
        found += [f"w{first}{second}" for first, second in pairwise(run)] or [f"w{run}"]
    return found
