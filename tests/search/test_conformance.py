"""The same answers on both databases and in every state of the index: hundreds of queries over one record."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from sessions_app.search import indexing
from tests.conftest import Api

from .corpus import WHOLE, feed, numbers, record, searched, texts

WORDS: list[tuple[str, list[int]]] = [
    ("database", [21, 1, 0]),
    ("DATABASES", [21, 1, 0]),
    ("decide", [1, 0]),
    ("deciding", [1, 0]),
    ("decision", []),
    ("run", [12]),
    ("running", [12]),
    ("database decide", [1, 0]),
    ("database -decide", [21]),
    ("-database", [n for n in range(27, -1, -1) if n not in (0, 1, 21)]),
    ("database OR hosts", [21, 13, 1, 0]),
    ("OR database OR", [21, 1, 0]),
    ("database AND decide", [1, 0]),
    ("main store OR brown fox", [22, 18, 1]),
    ('"main store"', [18, 1]),
    ('"store main"', [18]),
    ('"store main', [18]),
    ('"main store" -door', [1]),
    ('main -"main door"', [3, 1]),
    ("data*", [21, 1, 0]),
    ("d*", [22, 21, 18, 11, 2, 1, 0]),
    ("datab* hosts", []),
    ("*", []),
    ("*ing", []),
    ("postgres", []),
    ("postgres*", [1]),
    ("cafe", [9]),
    ("café", [9]),
    ("NAIVE RESUME", [9]),
    ("strasse", [9]),
    ("STRASSE grösse", [9]),
    ("погода", [10]),
    ("ПРИВЕТ дела", [10]),
    ("北京", [6, 5]),
    ("天气", [5]),
    ("京", [7, 6, 5]),
    ("天气北京", []),
    ("北京 天气", [5]),
    ("東京タワー", [7]),
    ("데이터", [8]),
    ("데이터베이스", [8]),
    ("データベース database", [21]),
    ("設計database", [21]),
    ("हिन्दी", [23]),
    ("مرحبا", [23]),
    ("main.py", [3]),
    ("app/main.py:42", [3]),
    ("main.py:43", []),
    ("v1.2.3", [16]),
    ("1.2", []),
    ("2026-03-01", [16]),
    ("foo-bar", [16]),
    ("-foo-bar release", []),
    ("web_search", [4]),
    ("lisbon", [4]),
    ("weather sunny", [4]),
    ("read_file", [14, 13]),
    ("/etc/hosts", [13]),
    ("127.0.0.1", [14]),
    ("NoneType", [3]),
    ("TypeError: 'NoneType' object is not subscriptable", [3]),
    ("install", [2]),
    ("picture", [15]),
    ("example.org", []),
    ("🎉", [11]),
    ("%", [11]),
    ("++", [11]),
    ("c++", [11]),
    ("C#", [27]),
    ("c", [27, 11, 4]),
    ("°", [4]),
    ("a:b", [11]),
    ("near", [17]),
    ("quoted", [17]),
    ("(brackets)", [17]),
    ("and", [17]),
    ("AND", []),
    ("OR", []),
    ("", []),
    ("   ", []),
    ('"', []),
    ('""', []),
    ("-", [16]),
    ("--", []),
    ("quick brown fox", [22]),
    ('"quick brown fox"', [22]),
    ("x", [20]),
    ("ab", [19]),
    ("zzz", []),
    ("istanbul", [24]),
    ("AGAC", [24]),
    ("ağaç", [24]),
    ("ครับ", [24]),
    ("อากาศ", [24]),
    ("नमस्ते", [23]),
    ("नम", []),
    ("नम*", [23]),
    ("広島", [25]),
    ("雨", [26]),
    ("报告", [27]),
]

# No message has all of a sentence: those that have about half of its telling words are shown, best first.
SENTENCES: list[tuple[str, list[int]]] = [
    ("what did we decide about the database last month?", [0, 1]),
    ("how is the weather going to be in Lisbon tomorrow", [4]),
    ("我们什么时候决定写报告的?", [27]),
    ("weather database hosts", []),
    ("what about the of it then", []),
    ('what did we decide about the "database last month"', []),
    ("what did we decide about the database -last month", []),
]

PIECES = [
    "a",
    "A",
    "b",
    "e",
    "x",
    "q",
    "%",
    "_",
    "\\",
    "'",
    '"',
    "+",
    "°",
    " ",
    "\n",
    "\t",
    "—",
    "🎉",
    "(",
    "[",
    "<",
    ":",
    "/",
    "ab",
    "AB",
    "c+",
    "++",
    "%  ",
    "a_b",
    "e\n",
    "k\nb",
    "ß",
    "ss",
    "SS",
    "É",
    "é",
    "ü",
    "Ü",
    "京",
    "北京",
    "天",
    "天气怎么",
    "タワー",
    "데이",
    "이터",
    "ПОГО",
    "ривет",
    "नम",
    "مر",
    "24 °C",
    "1.2.3",
    "v1.2",
    "NONETYPE",
    "'nonetype'",
    "main.py:42",
    "\\path\\to",
    "store",
    "STORE,",
    "dog",
    "g",
    "lazy dog",
    "lazy  dog",
    'Lisbon"}',
    'hosts"}',
    "picture",
    "cat.png",
    "zzz",
    "qq",
    "0.0.1 local",
    "The   quick",
    "database デ",
    "度。",
    "?",
    "!",
    "。",
    ",",
    ",",
    "0",
    "01",
    "-01",
    "ครับ",
    "สวั",
    "İ",
    "i̇s",
    "हिन्दी",
    "ि",
    "島",
    "c#",
]


def oracle(piece: str) -> list[int]:
    """Brute force, by nothing but Python's own idea of case."""
    found = [n for n, text in enumerate(texts()) if piece.casefold() in text.casefold()]
    return found[::-1]


@pytest.fixture(params=["pending", "indexed", "merged", "half"])
def state(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, api: Api) -> Callable[[], None]:
    """Everything still pending; one segment; many that were merged; a part of each."""
    if request.param in ("merged", "half"):
        monkeypatch.setattr(indexing, "BATCH", 3)
        monkeypatch.setattr(indexing, "AT_ONCE", 3)

    def bring() -> None:
        if request.param == "half":
            for _ in range(4):
                indexing.step(timezone.now())
        elif request.param != "pending":
            feed()

    return bring


def test_every_query_finds_just_what_it_asks_for(api: Api, state: Callable[[], None]) -> None:
    record(api, WHOLE)
    state()
    found = {q: numbers(searched(api, q)) for q, _ in WORDS}
    assert found == dict(WORDS)
    ranked = {q: sorted(numbers(searched(api, q, sort="rank")), reverse=True) for q, _ in WORDS}
    assert ranked == dict(WORDS)


def test_of_a_sentence_some_of_its_words_are_enough(api: Api, state: Callable[[], None]) -> None:
    record(api, WHOLE)
    state()
    answers = {q: searched(api, q) for q, _ in SENTENCES}
    assert {q: numbers(answer) for q, answer in answers.items()} == dict(SENTENCES)
    assert {answer["sort"] for answer in answers.values() if answer["items"]} == {"rank"}
    assert answers[SENTENCES[0][0]]["notes"] == [
        "No message has all of these words. Shown are those that have at least 2 of: decide, database, month."
    ]
    by_time = searched(api, SENTENCES[0][0], sort="newest")
    assert (numbers(by_time), by_time["sort"]) == ([1, 0], "newest")
    first = searched(api, SENTENCES[0][0], limit=1)
    rest = searched(api, SENTENCES[0][0], limit=1, cursor=first["next_cursor"])
    assert (numbers(first), numbers(rest), rest["next_cursor"]) == ([0], [1], None)


def test_any_part_of_any_text_is_found_as_brute_force_finds_it(api: Api, state: Callable[[], None]) -> None:
    record(api, WHOLE)
    state()
    found = {piece: numbers(searched(api, piece, mode="substring")) for piece in PIECES}
    assert found == {piece: oracle(piece) for piece in PIECES}


def test_every_part_of_some_lengths_is_found(api: Api) -> None:
    record(api, WHOLE)
    feed()
    whole = list(texts())
    for n, text in enumerate(whole):
        for length in (1, 2, 3, 7):
            start = (n * 5 + length) % max(len(text) - length, 1)
            piece = text[start : start + length]
            assert numbers(searched(api, piece, mode="substring")) == oracle(piece), piece
    assert len(whole) == len(WHOLE)
