"""The index: fed in batches, forgets nothing, gives up what is erased, and can be made anew."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.utils import timezone

from sessions_app.commits import commit
from sessions_app.erasure import empty_messages
from sessions_app.models import (
    Agent,
    Message,
    SearchDuty,
    SearchErasure,
    SearchPage,
    SearchSegment,
    SearchVector,
    Session,
)
from sessions_app.search import indexing, segments
from sessions_app.search.duty import CLAIM, held, work_off
from sessions_app.search.indexing import to_merge
from sessions_app.search.postings import read_page
from tests.conftest import Api

from .corpus import RECORD, feed, numbers, record, searched


def terms() -> set[bytes]:
    return {
        term
        for data in SearchPage.objects.values_list("data", flat=True)
        for term in read_page(bytes(data)).terms
    }


def test_each_append_is_pending_until_its_batch_is_shown(api: Api) -> None:
    record(api)
    assert indexing.is_due(timezone.now())
    feed()
    assert sum(SearchSegment.objects.values_list("count", flat=True)) == len(RECORD)
    assert list(Session.objects.values_list("searched_through", flat=True)) == [12, 12]
    assert not indexing.is_due(timezone.now())
    api.append(api.open("cli"), {"role": "user", "content": "one more"})
    assert indexing.is_due(timezone.now())


def test_a_batch_whose_session_is_erased_meanwhile_is_not_shown(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(api)
    gone = api.open("cli")
    write = segments.write

    def erase_first(*arguments: Any) -> int:
        monkeypatch.setattr(segments, "write", write)
        assert api.send("DELETE", f"/sessions/{gone}").status_code == 204
        return write(*arguments)

    monkeypatch.setattr(segments, "write", erase_first)
    feed()
    assert numbers(searched(api, "-zzz")) == list(range(22, -1, -2))
    assert b"wsubscript" not in terms()
    assert SearchErasure.objects.count() == 0


def test_an_erased_session_leaves_the_index(api: Api) -> None:
    record(api)
    feed()
    assert {b"wsubscript", b"gubs"} <= terms()
    assert api.send("DELETE", f"/sessions/{api.open('cli')}").status_code == 204
    assert searched(api, "subscriptable")["items"] == []
    feed()
    assert not {b"wsubscript", b"gubs"} & terms()
    assert b"wdatabas" in terms()
    assert numbers(searched(api, "database")) == [0]
    assert (SearchErasure.objects.count(), SearchVector.objects.count()) == (0, 0)


@pytest.fixture
def emptied(api: Api) -> Callable[[], None]:
    """The message that speaks of what is subscriptable loses its text and keeps its place."""

    def work() -> None:
        row = Message.objects.get(body__contains="subscriptable")
        session = Session.objects.select_for_update().get(pk=row.session_id)
        assert empty_messages(session, [row.pk]) == 1

    return lambda: commit(work)


def test_an_emptied_message_leaves_the_index_and_the_others_stay(
    api: Api, emptied: Callable[[], None]
) -> None:
    record(api)
    feed()
    before = numbers(searched(api, "-zzz"))
    emptied()
    assert searched(api, "subscriptable")["items"] == []
    feed()
    assert not {b"wsubscript", b"gubs"} & terms()
    assert len(numbers(searched(api, "-zzz"))) == len(before) - 1
    assert set(numbers(searched(api, "-zzz"))) < set(before)
    assert sum(SearchSegment.objects.values_list("count", flat=True)) == len(RECORD)
    assert list(Session.objects.values_list("searched_through", flat=True)) == [12, 12]
    assert SearchErasure.objects.count() == 0


def test_a_batch_whose_message_is_emptied_meanwhile_is_not_shown(
    api: Api, monkeypatch: pytest.MonkeyPatch, emptied: Callable[[], None]
) -> None:
    record(api)
    write = segments.write

    def empty_first(*arguments: Any) -> int:
        monkeypatch.setattr(segments, "write", write)
        emptied()
        # The index is rid of it before the batch that was read earlier comes.
        assert indexing.purge(*SearchErasure.objects.values_list("agent_id", "session")[0], timezone.now())
        return write(*arguments)

    monkeypatch.setattr(segments, "write", empty_first)
    feed()
    assert not {b"wsubscript", b"gubs"} & terms()
    assert list(Session.objects.values_list("searched_through", flat=True)) == [12, 12]


def test_an_agent_takes_its_index_along(api: Api) -> None:
    record(api)
    feed()
    Agent.objects.filter(name="main").delete()
    assert (SearchSegment.objects.count(), SearchPage.objects.count()) == (0, 0)


def test_small_segments_are_merged_and_nothing_is_lost(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "BATCH", 1)
    monkeypatch.setattr(indexing, "AT_ONCE", 1)
    record(api)
    feed()
    assert SearchSegment.objects.count() < indexing.FAN
    assert numbers(searched(api, "-zzz")) == list(range(len(RECORD) - 1, -1, -1))


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        ([10] * 7, []),
        ([10] * 8, [0, 1, 2, 3, 4, 5, 6, 7]),
        ([40_000] * 20, []),
        ([20_000] * 8, [0, 1, 2]),
        ([40_000, *[300] * 8, 5], [1, 2, 3, 4, 5, 6, 7, 8]),
    ],
)
def test_segments_of_a_like_size_become_one(counts: list[int], chosen: list[int]) -> None:
    assert to_merge(list(enumerate(counts))) == chosen


def test_the_index_is_made_anew_with_progress(api: Api, stranger: Api) -> None:
    record(api)
    stranger.append(stranger.open("k"), {"role": "user", "content": "database"})
    feed()
    before = set(SearchSegment.objects.values_list("pk", flat=True))
    told = StringIO()
    call_command("rebuild_search", stdout=told)
    assert told.getvalue().splitlines() == [
        "main: 24 of 24 messages (100 %)",
        "main: 24 messages, done",
        "other: 1 of 1 messages (100 %)",
        "other: 1 messages, done",
    ]
    assert not before & set(SearchSegment.objects.values_list("pk", flat=True))
    assert numbers(searched(api, "database")) == [21, 1, 0]


def test_a_session_may_be_erased_while_the_index_is_made_anew(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(api)
    feed()
    gone, write = api.open("cli"), segments.write

    def erase_then(*arguments: Any) -> int:
        number = write(*arguments)
        monkeypatch.setattr(segments, "write", write)
        assert api.send("DELETE", f"/sessions/{gone}").status_code == 204
        indexing.purge(*SearchErasure.objects.values_list("agent_id", "session")[0], timezone.now())
        return number

    monkeypatch.setattr(segments, "write", erase_then)
    call_command("rebuild_search", stdout=StringIO())
    assert numbers(searched(api, "-zzz")) == list(range(22, -1, -2))
    feed()
    assert not {b"wsubscript", b"gubs"} & terms()
    assert SearchSegment.objects.filter(live=False).count() == 0


def test_an_index_that_is_not_finished_leaves_nothing_behind(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(api)
    feed()
    before = set(SearchSegment.objects.values_list("pk", flat=True))
    monkeypatch.setattr(indexing, "BATCH", 20)

    def overtaken(*_: Any) -> None:
        SearchDuty.objects.filter(name="index").update(until=timezone.now() + timedelta(hours=1))

    monkeypatch.setattr("sessions_app.search.indexing.indexed", Overtaken(indexing.indexed, overtaken))
    with pytest.raises(CommandError, match="took over"):
        call_command("rebuild_search", stdout=StringIO())
    assert set(SearchSegment.objects.values_list("pk", flat=True)) == before
    assert numbers(searched(api, "database")) == [21, 1, 0]


class Overtaken:
    """Does what is given, and at the first time something else before it."""

    def __init__(self, work: Callable[..., Any], first: Callable[..., None]) -> None:
        self._work = work
        self._first: list[Callable[..., None]] = [first]

    def __call__(self, *arguments: Any) -> Any:
        if self._first:
            self._first.pop()()
        return self._work(*arguments)


def test_after_a_kill_the_next_process_waits_no_longer_than_the_claim(api: Api) -> None:
    record(api)
    killed = timezone.now()
    SearchDuty.objects.create(name="index", until=killed + CLAIM)
    with time_machine.travel(killed + CLAIM - timedelta(seconds=1), tick=False):
        assert work_off("index", indexing.step, 5) == 0
    with time_machine.travel(killed + CLAIM + timedelta(seconds=1), tick=False):
        assert work_off("index", indexing.step, 5) > 0
    assert (SearchDuty.objects.get(name="index").until, timedelta(minutes=1)) == (None, CLAIM)


def test_one_process_at_a_time_feeds_the_index(api: Api) -> None:
    record(api)
    with held("index", timezone.now, seconds=0):
        assert work_off("index", indexing.step, 5) == 0
    assert work_off("index", indexing.step, 5) > 0
