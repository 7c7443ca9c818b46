"""Lists of sessions: what they filter, and how they are paged."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
import time_machine

from sessions_app.models import Session
from tests.conftest import Api, said

NOW = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)


def keys(api: Api, query: str = "") -> list[str]:
    response = api.get(f"/sessions{query}")
    assert response.status_code == 200, response.content
    return [item["key"] for item in said(response)["items"]]


def test_sessions_are_listed_last_changed_first(api: Api) -> None:
    ids = {}
    for minute, key in enumerate("abc"):
        with time_machine.travel(NOW + timedelta(minutes=minute), tick=False):
            ids[key] = api.open(key)
    assert keys(api) == ["c", "b", "a"]
    api.append(ids["a"], {"role": "user", "content": "x"})
    assert keys(api) == ["a", "c", "b"]


def test_pages_show_each_session_once_though_all_share_a_time_and_more_arrive(api: Api) -> None:
    with time_machine.travel(NOW, tick=False):
        for n in range(11):
            api.open(f"k{n}")
    found: list[str] = []
    cursor, pages = "", 0
    while True:
        page = said(api.get(f"/sessions?limit=4{cursor}"))
        found += [item["key"] for item in page["items"]]
        pages += 1
        if page["next_cursor"] is None:
            break
        api.open(f"new{pages}")
        cursor = f"&cursor={page['next_cursor']}"
    assert pages == 3
    assert sorted(found) == sorted(f"k{n}" for n in range(11))


def test_a_last_page_that_is_full_says_that_it_is_the_last(api: Api) -> None:
    for n in range(4):
        api.open(f"k{n}")
    page = said(api.get("/sessions?limit=4"))
    assert (len(page["items"]), page["next_cursor"]) == (4, None)


def test_filters_are_exact_and_go_together(api: Api) -> None:
    for key in ("one", "two", "One"):
        api.open(key)
    Session.objects.filter(key="one").update(platform="telegram", chat_type="dm")
    Session.objects.filter(key="two").update(
        platform="telegram", chat_type="group", ended_at=NOW, end_reason="idle"
    )
    assert keys(api, "?key=one") == ["one"]
    assert sorted(keys(api, "?platform=telegram")) == ["one", "two"]
    assert keys(api, "?platform=tele") == []
    assert keys(api, "?chat_type=group") == ["two"]
    assert sorted(keys(api, "?open=true")) == ["One", "one"]
    assert keys(api, "?open=false") == ["two"]
    assert keys(api, "?platform=telegram&open=true") == ["one"]
    assert keys(api, "?key=") == []


def test_active_minutes_counts_what_the_user_did(api: Api) -> None:
    ids = {}
    for minutes in (10, 30, 50):
        with time_machine.travel(NOW - timedelta(minutes=minutes), tick=False):
            ids[minutes] = api.open(str(minutes))
    with time_machine.travel(NOW - timedelta(minutes=5), tick=False):
        api.append(ids[50], {"role": "user", "content": "back"})
        api.append(ids[30], {"role": "assistant", "content": "still here"})
    with time_machine.travel(NOW, tick=False):
        assert keys(api, "?active_minutes=5") == ["50"]
        assert sorted(keys(api, "?active_minutes=29")) == ["10", "50"]
        assert sorted(keys(api, "?active_minutes=30")) == ["10", "30", "50"]


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("%", ["100% sure"]),
        ("_", ["snake_case"]),
        ("\\", ["back\\slash"]),
        (".*", ["dot.*star"]),
        ("(", ["open("]),
        ("SNAKE", ["snake_case"]),
        ("ÜBER", ["Grüße über"]),
        ("grÜ", ["Grüße über"]),
        ("ПРИВЕТ", ["привет"]),
        ("漢", ["漢字"]),
        ("Plan", ["titled"]),
        ("a\nB", ["A\nb"]),
        ("nothing like it", []),
    ],
)
def test_q_is_a_plain_text_in_any_case(api: Api, q: str, found: list[str]) -> None:
    for key in (
        "100% sure",
        "snake_case",
        "back\\slash",
        "dot.*star",
        "open(",
        "Grüße über",
        "привет",
        "漢字",
        "A\nb",
    ):
        api.open(key)
    api.open("titled", title="The PLAN")
    assert keys(api, f"?q={quote(q)}") == found


def test_an_empty_q_asks_for_nothing(api: Api) -> None:
    api.open("k")
    assert keys(api, "?q=") == ["k"]
