"""What is searched, and what is asked of it: 300 characters a message, words by Zipf, one message in fifty
Chinese, Japanese or Korean. The same in each run, for us and for those beside us."""

from collections.abc import Callable, Iterator
from itertools import count
from random import Random

from bench.corpus import Corpus

SEED = 7
CHARACTERS = 300
HALVES = 20_000
SESSIONS = 1_000
LIMIT = 20
STEP_SECONDS = 2

# Each in so many of 10 000 messages.
WORDS = {"85 %": ("zenith", 8_500), "3 %": ("quorum", 300), "1 %": ("vertex", 100), "0.01 %": ("obsidian", 1)}
PAIR = "数据"
VOCABULARY = 5_000
SCRIPTS = ((0x4E00, 1_500), (0x3042, 80), (0xAC00, 1_500))


def texts(messages: int) -> Iterator[str]:
    """300 characters each, words by Zipf, one in fifty Chinese, Japanese or Korean; the same in each run."""
    source, corpus = Random(SEED), Corpus(SEED)
    halves = corpus.texts(HALVES, CHARACTERS // 2)
    for number in range(messages):
        if number % 50 == 0:
            yield _without_spaces(source, number)
            continue
        marks = [word for word, often in WORDS.values() if (number + 7) * 7_919 % 10_000 < often]
        first, second = (halves[int(source.random() * HALVES)] for _ in range(2))
        yield " ".join([*marks, first, second])[:CHARACTERS]


def _without_spaces(source: Random, number: int) -> str:
    """Words of two characters, some frequent and most rare."""
    start, size = SCRIPTS[number // 50 % len(SCRIPTS)]
    words = []
    for _ in range(CHARACTERS // 2):
        word = int(VOCABULARY ** source.random())
        words.append(chr(start + word * 31 % size) + chr(start + word * 17 % size))
    if number % 1_000 == 0:
        words[50] = PAIR
    return "".join(words)


def classes() -> dict[str, tuple[str, str, Callable[[], str]]]:
    """What is asked: by name the mode, the order, and the next query."""
    never = (f"qoph{number}" for number in count())
    parts, numbers = Corpus(SEED), count()
    found: dict[str, tuple[str, str, Callable[[], str]]] = {}
    for often, (word, _) in WORDS.items():
        found[f"newest, word in {often}"] = ("text", "newest", lambda word=word: word)  # type: ignore[misc]
    found["newest, no hit"] = ("text", "newest", lambda: next(never))
    for often, (word, _) in WORDS.items():
        found[f"rank, word in {often}"] = ("text", "rank", lambda word=word: word)  # type: ignore[misc]
    found["rank, two frequent words"] = ("text", "rank", lambda: "zenith quorum")
    found["two Chinese characters"] = ("text", "newest", lambda: PAIR)
    found["substring, part of a rare word"] = ("substring", "newest", lambda: "bsidia")
    found["substring, no hit"] = (
        "substring",
        "newest",
        lambda: f"{parts.word()}{next(numbers)}{parts.word()}",
    )
    found["substring, no hit, of frequent parts"] = (
        "substring",
        "newest",
        lambda: "".join(parts.word() for _ in range(4)),
    )
    return found
