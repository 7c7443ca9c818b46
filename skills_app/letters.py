"""Likeness by letters: texts as counts of their short runs of characters. Any script, no model."""

import math
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence

import numpy as np

from sessions_app.embedding import Vectors, normalised

MODEL = "letters-512"
DIMENSIONS = 512
RUNS = (1, 2, 3, 4)
MOST_CHARACTERS = 2000


class LetterEmbedder:
    model = MODEL
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Vectors:
        found = np.zeros((len(texts), DIMENSIONS), np.float32)
        for place, text in enumerate(texts):
            for run, times in runs_of(text).items():
                number = zlib.crc32(run.encode())
                # A sign by another bit: runs that fall together by chance cancel out as often as they add up.
                weight = math.sqrt(times) * (1 if number & 0x80000000 else -1)
                found[place, number % DIMENSIONS] += weight
        return normalised(found)


def runs_of(text: str) -> Counter[str]:
    """Runs of two to four letters of a word with its borders; of Chinese and the like single ones too."""
    plain = unicodedata.normalize("NFKC", text[:MOST_CHARACTERS]).casefold()
    words = "".join(letter if letter.isalnum() else " " for letter in plain).split()
    found: Counter[str] = Counter()
    for word in words:
        bordered = f" {word} " if word.isascii() else word
        for length in RUNS[1:] if word.isascii() else RUNS[:3]:
            found.update(bordered[i : i + length] for i in range(len(bordered) - length + 1))
    return found


letters = LetterEmbedder()
