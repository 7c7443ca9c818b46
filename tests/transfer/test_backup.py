"""A copy that was made while somebody writes, and what comes back from it."""

import sqlite3
import threading
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections

from tests.conftest import Api


@pytest.mark.django_db(transaction=True)
def test_a_backup_is_whole_while_others_write(api: Api, tmp_path: Path) -> None:
    session = api.open("k")
    if connection.vendor != "sqlite":
        with pytest.raises(CommandError, match="pg_dump"):
            call_command("backup", str(tmp_path / "copy"))
        return
    stop = threading.Event()
    written = [0]

    def write() -> None:
        while not stop.is_set():
            # Two at once: a copy has both of a pair or none.
            api.append(
                session, {"role": "user", "content": "a" * 2000}, {"role": "user", "content": "b" * 2000}
            )
            written[0] += 2
        connections.close_all()

    api.append(session, {"role": "user", "content": "first"}, {"role": "user", "content": "second"})
    thread = threading.Thread(target=write)
    thread.start()
    try:
        call_command("backup", str(tmp_path / "copy.sqlite3"), verbosity=0)
    finally:
        stop.set()
        thread.join()
    with sqlite3.connect(tmp_path / "copy.sqlite3") as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (count,) = copy.execute("SELECT count(*) FROM sessions_app_message").fetchone()
        (last,) = copy.execute("SELECT last_seq FROM sessions_app_session").fetchone()
    copy.close()
    assert count == last
    assert count % 2 == 0
    assert 2 <= count <= written[0] + 2
    with pytest.raises(CommandError, match="already"):
        call_command("backup", str(tmp_path / "copy.sqlite3"))
    assert list(tmp_path.iterdir()) == [tmp_path / "copy.sqlite3"]
