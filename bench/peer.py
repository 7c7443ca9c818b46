"""One of those beside search, run by the Python that has it: hermes' own store, its design, or a scan of a
file.

`python -m bench.peer hermes fill FOLDER MESSAGES`, `… run FOLDER SECONDS`, `… append FOLDER SECONDS`; in
place of `hermes` also `recreated` or `scan`. Needs no Django."""

import json
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

from bench.haystack import LIMIT, SESSIONS, STEP_SECONDS, classes, texts

BEGIN = 1_700_000_000.0
# It has no search for parts of words, and a scan answers anything.
NOT_ASKED = "substring"
SCANNED = ("newest, no hit", "substring, no hit")


class Store(Protocol):
    def fill(self, messages: Iterable[str]) -> None: ...

    def append(self, text: str) -> None: ...

    def search(self, query: str, order: str) -> list[Any]: ...


class Hermes:
    """By its own functions; only the filling goes past them, as one append after the other takes hours."""

    def __init__(self, folder: Path) -> None:
        import hermes_state  # type: ignore[import-not-found]

        self._path = folder / "state.db"
        self._db = hermes_state.SessionDB(self._path)

    def fill(self, messages: Iterable[str]) -> None:
        for number in range(SESSIONS):
            self._db.create_session(f"s{number}", "cli")
        rows = (
            (f"s{n % SESSIONS}", ("user", "assistant")[n // SESSIONS % 2], text, BEGIN + n * STEP_SECONDS)
            for n, text in enumerate(messages)
        )
        with sqlite3.connect(self._path) as database:
            database.executemany(
                "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)", rows
            )
        # What it does by itself after some thousand appends.
        self._db.optimize_fts()

    def append(self, text: str) -> None:
        self._db.append_message("s0", "user", text)

    def search(self, query: str, order: str) -> list[Any]:
        found: list[Any] = self._db.search_messages(
            query, limit=LIMIT, sort="newest" if order == "newest" else None
        )
        return found


class Recreated:
    """The same design where the package cannot be had: two FTS5 tables, by words and by three characters."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "recreated.db", isolation_level=None)
        self._db.executescript(
            """PRAGMA journal_mode = WAL;
            CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, content TEXT, timestamp REAL);
            CREATE VIRTUAL TABLE IF NOT EXISTS by_word USING fts5(content);
            CREATE VIRTUAL TABLE IF NOT EXISTS by_part USING fts5(content, tokenize='trigram');
            CREATE TRIGGER IF NOT EXISTS indexed AFTER INSERT ON messages BEGIN
              INSERT INTO by_word(rowid, content) VALUES (new.id, new.content);
              INSERT INTO by_part(rowid, content) VALUES (new.id, new.content);
            END;"""
        )

    def fill(self, messages: Iterable[str]) -> None:
        self._db.execute("BEGIN")
        rows = ((text, BEGIN + n * STEP_SECONDS) for n, text in enumerate(messages))
        self._db.executemany("INSERT INTO messages (content, timestamp) VALUES (?, ?)", rows)
        self._db.execute("COMMIT")
        for table in ("by_word", "by_part"):
            self._db.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")  # noqa: S608 - names of our own

    def append(self, text: str) -> None:
        self._db.execute("INSERT INTO messages (content, timestamp) VALUES (?, ?)", (text, time.time()))

    def search(self, query: str, order: str) -> list[Any]:
        if not query.isascii() and len(query) < 3:
            statement = "SELECT id FROM messages WHERE content LIKE ? ORDER BY timestamp DESC LIMIT ?"
            return self._db.execute(statement, (f"%{query}%", LIMIT)).fetchall()
        by = "m.timestamp DESC" if order == "newest" else "rank"
        statement = (
            "SELECT m.id, snippet(by_word, 0, '>>>', '<<<', '...', 40) FROM by_word "  # noqa: S608 - one of two orders
            f"JOIN messages m ON m.id = by_word.rowid WHERE by_word MATCH ? ORDER BY {by} LIMIT ?"
        )
        return self._db.execute(statement, (query, LIMIT)).fetchall()


class Scan:
    """A file of JSON lines, read from its end to its beginning for the newest that have the text."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "session.jsonl"

    def fill(self, messages: Iterable[str]) -> None:
        with self._file.open("w") as stream:
            for number, text in enumerate(messages):
                at = BEGIN + number * STEP_SECONDS
                stream.write(json.dumps({"type": "message", "content": text, "timestamp": at}) + "\n")

    def append(self, text: str) -> None:
        with self._file.open("a") as stream:
            stream.write(json.dumps({"type": "message", "content": text, "timestamp": time.time()}) + "\n")

    def search(self, query: str, order: str) -> list[Any]:
        wanted = query.lower()
        with self._file.open() as stream:
            entries = map(json.loads, stream)
            return [entry for entry in entries if wanted in entry["content"].lower()][::-1][:LIMIT]


STORES: dict[str, Callable[[Path], Store]] = {"hermes": Hermes, "recreated": Recreated, "scan": Scan}


def fill(store: Store, messages: int) -> dict[str, float]:
    began = time.perf_counter()
    store.fill(texts(messages))
    return {"seconds": time.perf_counter() - began}


def run(store: Store, seconds: int) -> dict[str, list[float]]:
    """Each class once before, then as often as fits into its share of the time, at least twice."""
    taken: dict[str, list[float]] = {}
    for name, (mode, order, query) in classes().items():
        if name not in SCANNED if isinstance(store, Scan) else mode == NOT_ASKED:
            continue
        timed = _timed(lambda query=query, order=order: store.search(query(), order), seconds, least=3)  # type: ignore[misc]
        taken[name] = timed[1:]
    return taken


def append(store: Store, seconds: int) -> list[float]:
    text = next(iter(texts(2)))
    return _timed(lambda: store.append(text), seconds, least=1)


def _timed(step: Callable[[], object], seconds: float, *, least: int) -> list[float]:
    taken: list[float] = []
    until = time.monotonic() + seconds
    while len(taken) < least or time.monotonic() < until:
        began = time.perf_counter()
        step()
        taken.append(time.perf_counter() - began)
    return taken


STEPS: dict[str, Callable[[Store, int], object]] = {"fill": fill, "run": run, "append": append}

if __name__ == "__main__":
    kind, step, folder, amount = sys.argv[1:]
    json.dump(STEPS[step](STORES[kind](Path(folder)), int(amount)), sys.stdout)
