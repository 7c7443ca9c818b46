"""Text that looks like language to an index: made-up words, Zipf frequencies, the same for the same seed."""

import random
from bisect import bisect
from itertools import accumulate

ONSETS = (
    "b",
    "br",
    "d",
    "f",
    "g",
    "gr",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "z",
)
VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
VOCABULARY = 20_000


class Corpus:
    def __init__(self, seed: int, vocabulary: int = VOCABULARY) -> None:
        self._random = random.Random(seed)
        self._words = _made_up_words(self._random, vocabulary)
        self._bounds = list(accumulate(1 / rank for rank in range(1, vocabulary + 1)))

    def word(self) -> str:
        # Only random() is promised to give the same numbers in every Python version.
        return self._words[bisect(self._bounds, self._random.random() * self._bounds[-1])]

    def text(self, characters: int) -> str:
        words = [self.word()]
        length = len(words[0])
        while length < characters:
            words.append(self.word())
            length += 1 + len(words[-1])
        return " ".join(words)[:characters].rstrip().ljust(characters, ".")

    def texts(self, count: int, characters: int) -> list[str]:
        return [self.text(characters) for _ in range(count)]


def _made_up_words(source: random.Random, count: int) -> list[str]:
    words: dict[str, None] = {}
    while len(words) < count:
        # Frequent words are short, as in real language.
        syllables = 1 + (len(words) > 60) + (len(words) > 2_500) * (source.random() < 0.6)
        words.setdefault("".join(_pick(source, ONSETS) + _pick(source, VOWELS) for _ in range(syllables)))
    return list(words)


def _pick(source: random.Random, options: tuple[str, ...]) -> str:
    return options[int(source.random() * len(options))]
