from typing import cast

import pytest

from bench import BenchError
from bench.measuring import Ledger
from bench.servers import Product


class Stored:
    """Stands in for a server whose only session has this many entries."""

    def __init__(self, entries: int) -> None:
        self._entries = entries

    def entries_of(self, session: str) -> int:
        return self._entries


def check(entries: int) -> None:
    ledger = Ledger(["session"], batch=100)
    ledger.book(5)
    ledger.book(3)
    ledger.check(cast("Product", Stored(entries)))


@pytest.mark.parametrize("entries", [800, 800 + 2 * 16 * 100])
def test_what_was_under_way_when_a_load_ended_may_be_stored_or_not(entries: int) -> None:
    check(entries)


@pytest.mark.parametrize("entries", [799, 801 + 2 * 16 * 100])
def test_lost_or_invented_messages_fail(entries: int) -> None:
    with pytest.raises(BenchError, match=f"800 messages were acknowledged and {entries} are stored"):
        check(entries)
