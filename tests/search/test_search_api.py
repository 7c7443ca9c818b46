"""GET /search and /history: filters, order, pages, neighbours, and what an answer says of itself."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
import time_machine

from sessions_app.models import Session
from tests.conftest import Api, said

from .corpus import BEGIN, RECORD, feed, numbers, record, searched

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)


@pytest.fixture(params=["pending", "indexed"])
def indexed(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "indexed")


@pytest.fixture
def recorded(api: Api, indexed: bool) -> Api:
    record(api)
    Session.objects.filter(key="cli").update(platform="local")
    if indexed:
        feed()
    return api


EVEN = [n for n in range(len(RECORD)) if n % 2 == 0][::-1]


FILTERED: list[tuple[str, dict[str, Any], list[int]]] = [
    ("database", {"role": "user"}, [21, 0]),
    ("database", {"role": "assistant"}, [1]),
    ("default", {"kind": "decision"}, [2]),
    ("default", {"kind": "error"}, []),
    ("read_file", {"tool": "read_file"}, [14, 13]),
    ("a", {"mode": "substring", "tool": "web_search"}, [4]),
    ("database", {"platform": "local"}, [21, 1]),
    ("database", {"exclude_platform": "local"}, [0]),
    ("database", {"exclude_platform": ["x,local"]}, [0]),
    ("database", {"key": "telegram:1"}, [0]),
    ("database", {"key": "nowhere"}, []),
    ("database", {"since": (BEGIN + timedelta(minutes=1)).isoformat()}, [21, 1]),
    ("database", {"until": (BEGIN + timedelta(minutes=1)).isoformat()}, [0]),
    ("database", {"since": "2026-03-01T09:01", "until": "2026-03-01T09:21:00Z"}, [1]),
    ("-zzz", {"key": "telegram:1"}, EVEN),
    ("database", {"session": "not-an-id"}, []),
]


def test_filters_go_together_with_the_query(recorded: Api) -> None:
    for q, options, expected in FILTERED:
        assert numbers(searched(recorded, q, **options)) == expected, (q, options)


def test_a_session_can_be_searched_alone_or_left_out(recorded: Api) -> None:
    session = recorded.open("cli")
    assert numbers(searched(recorded, "database", session=session)) == [21, 1]
    assert numbers(searched(recorded, "database", exclude_session=session)) == [0]
    assert numbers(searched(recorded, "database", session=session, key="telegram:1")) == []


def test_a_period_can_be_said_as_so_long_ago(api: Api) -> None:
    session = api.open()
    with time_machine.travel(NOW, tick=False):
        for hours in (23, 47, 6 * 24, 13 * 24):
            at = (NOW - timedelta(hours=hours)).isoformat()
            api.append(session, {"role": "user", "content": "ping", "created_at": at})
        periods = {"24h": 1, "2d": 2, "1w": 3, "90m": 0, "2W": 4}
        found = {since: len(searched(api, "ping", since=since)["items"]) for since in periods}
    assert found == periods


@pytest.mark.parametrize(
    "query",
    [
        "q=x&since=soon",
        "q=x&until=7y",
        "q=x&limit=0",
        "q=x&mode=fuzzy",
        "q=x&cursor=zz",
        "q=x&context=99",
        "",
        "q=x&nope=1",
        "q=x&since=0001-01-01T00:00%2B14:00",
        "q=x&mode=semantic&sort=newest",
    ],
)
def test_what_cannot_be_meant_is_a_422(api: Api, query: str) -> None:
    assert api.get(f"/search?{query}").status_code == 422


TYPED = [
    '"',
    '"a',
    "AND",
    "OR OR",
    "*",
    "**",
    "a:b",
    "NEAR(a b)",
    "%",
    "🎉",
    "(((",
    "\\",
    "-",
    "--",
    "'; DROP",
    "a" * 10_000,
    "word " * 2_000,
    "* " * 5_000,
    "\u0301",
    "\ufeff",
    "\u017f",
    "İ",
    "ﬃ",
    "\u200d",
    "a\tb\nc",
    "^a",
    "{a}",
    "x OR",
    "-OR",
    '-"',
]


def test_whatever_is_typed_is_a_query(recorded: Api) -> None:
    for q in TYPED:
        for mode in ("text", "substring", "hybrid"):
            assert recorded.get(f"/search?q={quote(q)}&mode={mode}").status_code == 200, (q, mode)
        assert recorded.get(f"/history?q={quote(q)}").status_code == 200, q


def test_a_hit_is_a_message_with_its_session_and_a_marked_snippet(recorded: Api) -> None:
    session = recorded.open("cli")
    [hit] = searched(recorded, "subscriptable")["items"]
    assert (hit["id"], hit["seq"], hit["kind"]) == (f"{session}.2", 2, "error")
    assert (hit["session_id"], hit["session_key"], hit["hidden"]) == (session, "cli", False)
    assert hit["snippet"] == ("TypeError: 'NoneType' object is not >>>subscriptable<<<\nfile app/main.py:42")
    assert (hit["score"], hit["before"], hit["after"]) == (None, None, None)


def test_a_snippet_marks_what_folding_made_longer_and_cuts_what_is_long(api: Api) -> None:
    session = api.open()
    api.append(session, {"role": "user", "content": f"{'Straße ' * 40}GRÖSSE {'x ' * 200}"})
    [hit] = searched(api, "grösse")["items"]
    assert hit["snippet"].startswith("…Straße Straße")
    assert ">>>GRÖSSE<<< x x" in hit["snippet"]
    assert hit["snippet"].endswith("…")
    assert len(hit["snippet"]) < 220


def test_context_shows_what_stands_before_and_after(recorded: Api) -> None:
    [hit] = searched(recorded, "subscriptable", context=1)["items"]
    assert [one["metadata"]["n"] for one in hit["before"]] == [1]
    assert [one["metadata"]["n"] for one in hit["after"]] == [5]
    [first] = searched(recorded, "which database", context=2)["items"]
    assert (first["before"], [one["metadata"]["n"] for one in first["after"]]) == ([], [2, 4])


@pytest.mark.parametrize("sort", ["newest", "rank"])
def test_pages_show_every_hit_once_while_more_are_stored(recorded: Api, sort: str) -> None:
    found: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = searched(recorded, "a*", sort=sort, limit=3, **cursor)
        found += numbers(page)
        recorded.append(
            recorded.open("cli"), {"role": "user", "content": "and another", "metadata": {"n": 99}}
        )
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert sorted(found, reverse=True) == [19, 17, 16, 15, 11, 3]


def test_by_rank_the_message_that_is_about_it_comes_first(api: Api, indexed: bool) -> None:
    session = api.open()
    long = "tea " + "and many other things " * 30
    for n, content in enumerate(["tea tea tea", long, "tea for two", long]):
        api.append(session, {"role": "user", "content": content, "metadata": {"n": n}})
    if indexed:
        feed()
    answer = searched(api, "tea", sort="rank")
    assert numbers(answer) == [0, 2, 3, 1]
    scores = [item["score"] for item in answer["items"]]
    assert scores == sorted(scores, reverse=True)
    assert (answer["sort"], answer["ranked_among"]) == ("rank", 4)


def test_without_a_hit_the_answer_says_what_was_searched(recorded: Api) -> None:
    answer = searched(recorded, "zzz")
    last = (BEGIN + timedelta(minutes=len(RECORD) - 1)).isoformat()
    assert answer["searched"] == {"messages": 24, "first_at": BEGIN.isoformat(), "last_at": last}
    assert searched(recorded, "zzz", kind="error")["searched"]["messages"] == 1
    assert searched(recorded, "zzz", since="2026-03-01T09:20")["searched"]["messages"] == 4
    assert searched(recorded, "zzz", platform="none")["searched"] == {
        "messages": 0,
        "first_at": None,
        "last_at": None,
    }
    assert searched(recorded, "database")["searched"] is None


def test_hidden_messages_are_found_only_when_asked_for(recorded: Api) -> None:
    session = recorded.open("telegram:1")
    assert recorded.post(f"/sessions/{session}/clear").status_code == 200
    assert numbers(searched(recorded, "database")) == [21, 1]
    hits = searched(recorded, "database", include_hidden=True)["items"]
    assert [(hit["metadata"]["n"], hit["hidden"]) for hit in hits] == [(21, False), (1, False), (0, True)]


def test_what_is_hidden_does_not_count_as_searched(recorded: Api) -> None:
    assert recorded.post(f"/sessions/{recorded.open('telegram:1')}/clear").status_code == 200
    told = {hidden: searched(recorded, "zzz", include_hidden=hidden)["searched"] for hidden in (False, True)}
    assert {hidden: one["messages"] for hidden, one in told.items()} == {False: 12, True: 24}
    assert told[False]["first_at"] == (BEGIN + timedelta(minutes=1)).isoformat()


def test_an_order_by_rank_says_where_it_ends(recorded: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert searched(recorded, "database", sort="rank")["notes"] == []
    monkeypatch.setattr("sessions_app.search.hits.RANKED", 2)
    answer = searched(recorded, "database", sort="rank")
    assert (sorted(numbers(answer)), answer["ranked_among"]) == ([1, 21], 2)
    assert answer["notes"] == [
        "The order is made among the newest 2 that were found; older ones are not shown."
    ]


def test_newest_is_by_the_time_of_the_message_not_of_its_arrival(api: Api) -> None:
    session = api.open()
    for n, day in enumerate([5, 1, 9, 3]):
        at = f"2026-02-0{day}T00:00:00Z"
        api.append(session, {"role": "user", "content": "tick", "created_at": at, "metadata": {"n": n}})
        feed()
    assert numbers(searched(api, "tick")) == [2, 0, 3, 1]
    first = searched(api, "tick", limit=2)
    assert numbers(searched(api, "tick", limit=2, cursor=first["next_cursor"])) == [3, 1]


def test_a_long_tail_is_searched_too(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker was down: everything behind the last batch is pending."""
    record(api)
    feed()
    monkeypatch.setattr("sessions_app.search.pending.AT_ONCE", 4)
    for n in range(100, 112):
        api.append(api.open("late"), {"role": "user", "content": f"database {n}", "metadata": {"n": n}})
    assert numbers(searched(api, "database")) == [*range(111, 99, -1), 21, 1, 0]
    assert numbers(searched(api, "database 105")) == [105]


def test_history_is_lines_for_a_prompt(recorded: Api) -> None:
    response = recorded.get("/history?q=default%20OR%20subscriptable%20OR%20lisbon%20OR%20decide&limit=4")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode() == (
        "Found 4 result(s) for 'default OR subscriptable OR lisbon OR decide':\n"
        "[2026-03-01T09:04:00] tool:web_search → 24 °C, sunny (telegram:1)\n"
        "[2026-03-01T09:03:00] ERROR: TypeError: 'NoneType' object is not subscriptable (cli)\n"
        "[2026-03-01T09:02:00] DECIDED: SQLite stays the default (telegram:1)\n"
        "[2026-03-01T09:01:00] assistant: We decided to use PostgreSQL databases for the main store. (cli)"
    )
    assert recorded.get("/history?q=zzz").content.decode() == "No session history found matching 'zzz'."
    user = recorded.get("/history?q=database&role=user&limit=1").content.decode()
    assert user.splitlines()[0] == "Found 1 result(s) for 'database':"


def test_history_cuts_texts_and_results_and_keeps_each_on_a_line(api: Api) -> None:
    session = api.open("k")
    api.append(session, {"kind": "tool_call", "tool": "t", "result": "needle " + "r" * 300})
    api.append(session, {"role": "user", "content": "needle\n" + "u" * 300})
    lines = api.get("/history?q=needle").content.decode().splitlines()
    assert lines[1].endswith(f"user: needle {'u' * 193}… (k)")
    assert lines[2].endswith(f"tool:t → needle {'r' * 93}… (k)")


def test_another_agent_finds_nothing_and_learns_nothing(recorded: Api, stranger: Api) -> None:
    mine = recorded.open("cli")
    for query in ("database", "zzz"):
        answer = searched(stranger, query)
        assert answer["items"] == []
        assert answer["searched"] == {"messages": 0, "first_at": None, "last_at": None}
    assert searched(stranger, "database", session=mine)["items"] == []
    assert searched(stranger, "database", key="cli", mode="substring")["items"] == []
    assert stranger.get("/history?q=database").content == b"No session history found matching 'database'."
    stranger.append(stranger.open("own"), {"role": "user", "content": "database", "metadata": {"n": 7}})
    feed()
    assert numbers(searched(stranger, "database")) == [7]
    assert 7 not in numbers(searched(recorded, "database"))
    cursor = searched(recorded, "database", limit=1)["next_cursor"]
    assert stranger.get(f"/search?q=database&cursor={cursor}").status_code == 422


def test_results_are_cut_where_they_are_listed(api: Api) -> None:
    api.append(api.open(), {"kind": "tool_call", "tool": "t", "result": "r" * 600 + " needle"})
    [hit] = said(api.get("/search?q=needle"))["items"]
    assert (len(hit["result"]), hit["truncated"]) == (500, True)
    assert hit["snippet"].endswith(">>>needle<<<")
