"""GET /sessions/{id}/history, rule by rule."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Session
from sessions_app.storage import storage
from tests.conftest import Api
from tests.sessions.conversations import assistant, called, calls, result, user

AT = "2026-05-01T10:00:00+00:00"


def consolidate(session_id: str, through: int) -> None:
    Session.objects.filter(uid=session_id).update(consolidated_through=through, summary="They said hello.")


def seqs(window: dict[str, Any]) -> tuple[int, int]:
    return window["from_seq"], window["to_seq"]


def test_an_empty_session_has_an_empty_window(api: Api) -> None:
    assert api.window(api.open()) == {
        "messages": [],
        "summary": None,
        "tokens": 0,
        "from_seq": None,
        "to_seq": None,
        "left_out": {"orphan_results": [], "repeated_results": [], "stand_ins": 0},
    }


@pytest.mark.parametrize(("through", "first"), [(0, 1), (10, 11), (12, 13), (14, 13), (20, 13)])
def test_what_is_consolidated_is_left_out_but_for_the_newest_eight(
    api: Api, through: int, first: int
) -> None:
    session = api.open()
    api.append(session, *[user(), assistant()] * 10)
    consolidate(session, through)
    window = api.window(session)
    assert seqs(window) == (first, 20)
    assert len(window["messages"]) == 21 - first
    assert window["summary"] == "They said hello."


def test_the_overlap_reaches_back_to_a_user_turn(api: Api) -> None:
    session = api.open()
    api.append(session, user(), user(), *[assistant()] * 11)
    consolidate(session, 13)
    assert seqs(api.window(session)) == (2, 13)


def test_the_overlap_of_a_conversation_without_a_user_is_eight(api: Api) -> None:
    session = api.open()
    api.append(session, *[assistant()] * 60)
    consolidate(session, 60)
    assert seqs(api.window(session)) == (53, 60)


def test_a_turn_that_is_longer_than_the_budget_is_whole(api: Api) -> None:
    session = api.open()
    api.append(session, *[user(), assistant()] * 5, user(), *[calls("a"), result("a")] * 60)
    for query in ("?max_messages=3", "?max_tokens=50"):
        window = api.window(session, query)
        assert seqs(window) == (11, 131)
        assert len(window["messages"]) == 121


def test_the_default_budget_is_five_hundred_messages(api: Api) -> None:
    session = api.open()
    api.append(session, *[user(), assistant()] * 300)
    assert seqs(api.window(session)) == (101, 600)


def test_tokens_are_the_estimate_of_what_is_sent(api: Api) -> None:
    session = api.open()
    # 4 a message and one for four letters; the picture 4 and 3 for its path; the time 18.
    api.append(session, user("abcd"), assistant("abcdefgh"), {**user("abcd"), "media": ["/pix/pic"]})
    assert api.window(session)["tokens"] == 5 + 6 + 12
    assert seqs(api.window(session, "?max_tokens=23")) == (1, 3)
    assert seqs(api.window(session, "?max_tokens=22")) == (3, 3)
    assert api.window(session, "?timestamps=true")["tokens"] == 5 + 6 + 12 + 36
    assert seqs(api.window(session, "?timestamps=true&max_tokens=58")) == (3, 3)
    assert api.window(session, "?timestamps=true&format=raw")["tokens"] == 5 + 6 + 12


def test_other_kinds_are_not_in_the_window(api: Api) -> None:
    session = api.open()
    api.append(
        session, user(), {"kind": "error", "error": "it broke"}, {"kind": "decision", "decision": "go"}
    )
    api.append(session, {"kind": "tool_call", "tool": "shell", "args": {}, "result": "x"}, assistant())
    assert api.window(session)["messages"] == [user(), assistant()]


def test_broken_pairs_are_mended(api: Api) -> None:
    session = api.open()
    api.append(session, user(), calls("a", "b"), result("x"), user("and?"), result("a"), result("a", "again"))
    window = api.window(session)
    assert window["messages"] == [
        user(),
        calls("a", "b"),
        result("a"),
        result("b", "[The result of this tool call is not available.]"),
        user("and?"),
    ]
    assert window["left_out"] == {"orphan_results": [3], "repeated_results": [6], "stand_ins": 1}
    assert seqs(window) == (1, 5)


def test_media_become_lines_of_user_messages(api: Api) -> None:
    session = api.open()
    api.append(
        session,
        {"role": "user", "media": ["/pix/a.png"]},
        {**user("look"), "media": ["/pix/b.png", "forged]\n# heading"]},
        {**assistant("drawn"), "media": ["/pix/c.png"]},
    )
    assert [message["content"] for message in api.window(session)["messages"]] == [
        "[image: /pix/a.png]",
        "look\n[image: /pix/b.png]\n[image: forged] # heading]",
        "drawn",
    ]


def test_times_stand_before_user_texts_and_deliveries_only(api: Api) -> None:
    session = api.open()
    said = [
        assistant("Rain today.", proactive=True),
        user("thanks"),
        assistant("Sure."),
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "and now?"}]},
        {"role": "user", "content": ""},
    ]
    api.append(session, *[{**message, "created_at": AT} for message in said])
    time = "[Message Time: 2026-05-01T10:00:00+00:00]"
    assert [message["content"] for message in api.window(session, "?timestamps=true")["messages"]] == [
        f"{time}\nRain today.",
        f"{time}\nthanks",
        "Sure.",
        "Be brief.",
        [{"type": "text", "text": time}, {"type": "text", "text": "and now?"}],
        time,
    ]


def test_the_keys_given_are_those_of_providers(api: Api) -> None:
    session = api.open()
    api.append(
        session,
        {**user(), "name": "Ann", "metadata": {"lang": "en"}, "media": ["/pix/a.png"]},
        {
            **assistant("hm", reasoning_content="let me think"),
            "confidence": 0.4,
            "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": {"q": 1}}}],
        },
        {**result("a"), "name": "f"},
    )
    assert api.window(session)["messages"] == [
        {"role": "user", "content": "hello\n[image: /pix/a.png]", "name": "Ann"},
        {
            "role": "assistant",
            "content": "hm",
            "reasoning_content": "let me think",
            "tool_calls": [called("a", '{"q":1}', "f")],
        },
        {"role": "tool", "content": "done", "tool_call_id": "a", "name": "f"},
    ]


def test_anthropic_gets_blocks_alternating_roles_and_a_system_text(api: Api) -> None:
    session = api.open()
    api.append(
        session, user("find"), {"role": "system", "content": "Be brief."}, calls("a:1", "b", content="ok")
    )
    api.append(session, result("a:1"), user("well?"), user("hello?"))
    window = api.window(session, "?format=anthropic")
    assert window["system"] == "Be brief."
    missing = "[The result of this tool call is not available.]"
    assert window["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "find"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "ok"},
                {"type": "tool_use", "id": "a_1", "name": "look_up", "input": {}},
                {"type": "tool_use", "id": "b", "name": "look_up", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "a_1", "content": [{"type": "text", "text": "done"}]},
                {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": missing}]},
                {"type": "text", "text": "well?"},
                {"type": "text", "text": "hello?"},
            ],
        },
    ]


def test_raw_gives_the_messages_as_stored(api: Api) -> None:
    session = api.open()
    api.append(session, {**user(), "media": ["/pix/a.png"], "metadata": {"lang": "en"}}, calls("a"))
    first, second, third = api.window(session, "?format=raw&timestamps=true")["messages"]
    assert (first["seq"], first["content"], first["media"]) == (1, "hello", ["/pix/a.png"])
    assert (first["metadata"], first["hidden"], first["id"]) == ({"lang": "en"}, False, f"{session}.1")
    assert second["tool_calls"] == [called("a")]
    assert (third["id"], third["seq"], third["tool_call_id"]) == (None, None, "a")


@pytest.mark.parametrize("query", ["?max_messages=0", "?max_messages=x", "?max_tokens=0", "?format=gemini"])
def test_a_wrong_question_is_refused(api: Api, query: str) -> None:
    assert api.get(f"/sessions/{api.open()}/history{query}").status_code == 422


def test_a_stranger_sees_no_window(api: Api, stranger: Api) -> None:
    assert stranger.get(f"/sessions/{api.open()}/history").status_code == 404


class Reads:
    """What a window fetched of the messages: statements and rows."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.rows: list[int] = []
        back_end, noting = storage(), connection.vendor == "postgresql"
        first, more = back_end.session, back_end.newest

        def session(*args: Any) -> Any:
            found = first(*args)
            # SQLite reads them by the other function.
            self.rows += [len(found[1])] if noting and found else []
            return found

        def newest(*args: Any) -> Any:
            found = more(*args)
            self.rows.append(len(found))
            return found

        monkeypatch.setattr(back_end, "session", session)
        monkeypatch.setattr(back_end, "newest", newest)


@pytest.mark.parametrize("turns", [100, 2000])
@pytest.mark.parametrize(
    ("query", "most"), [("", 501), ("?max_messages=50", 51), ("?max_tokens=400", 101), ("?format=raw", 501)]
)
def test_a_window_reads_its_own_rows_by_one_statement_however_long_the_session_is(
    api: Api, monkeypatch: pytest.MonkeyPatch, turns: int, query: str, most: int
) -> None:
    session = api.open()
    for _ in range(turns // 100):
        api.append(session, *[user(), calls("a"), result("a"), assistant()] * 100)
    reads = Reads(monkeypatch)
    api.window(session, query)
    assert reads.rows == [min(most, turns * 4)]
    # Who asks, the session, its messages; PostgreSQL brings the last two together.
    with CaptureQueriesContext(connection) as queries:
        api.window(session, query)
    asked = [one for one in queries if "SAVEPOINT" not in one["sql"]]
    assert len(asked) == (3 if connection.vendor == "sqlite" else 2)


def test_a_window_after_a_consolidation_reads_little(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    session = api.open()
    api.append(session, *[user(), assistant()] * 400)
    consolidate(session, 800)
    reads = Reads(monkeypatch)
    assert seqs(api.window(session)) == (793, 800)
    assert reads.rows == [33]


def test_a_long_turn_is_found_by_three_statements(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    session = api.open()
    api.append(session, *[user(), assistant()] * 50, user(), *[assistant()] * 800)
    reads = Reads(monkeypatch)
    assert seqs(api.window(session, "?max_messages=10")) == (101, 901)
    assert reads.rows == [25, 776]


def test_the_database_finds_the_window_by_its_index(api: Api) -> None:
    session = api.open()
    for _ in range(5):
        api.append(session, *[user(), assistant()] * 500)
    number = Session.objects.get(uid=session).pk
    with CaptureQueriesContext(connection) as queries:
        storage().newest(number, 5001, 101)
    (statement,) = [one["sql"] for one in queries]
    explain = "EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN "
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE sessions_app_message")
        cursor.execute(explain + statement)
        plan = " ".join(str(row) for row in cursor.fetchall())
    assert "message_window" in plan or "message_seq_once" in plan
    assert "SORT" not in plan.upper()
    assert "TEMP B-TREE" not in plan


def test_a_stand_in_has_every_field_of_a_message(api: Api) -> None:
    session = api.open()
    api.append(session, user("find"), calls("a"))
    found, _, stand_in = api.window(session, "?format=raw")["messages"]
    assert stand_in.keys() == found.keys()
    assert {name: value for name, value in stand_in.items() if value is not None} == {
        "kind": "message",
        "role": "tool",
        "content": "[The result of this tool call is not available.]",
        "tool_call_id": "a",
        "hidden": False,
    }


def test_a_name_that_openai_refuses_is_adapted_and_kept_as_it_is(api: Api) -> None:
    session = api.open()
    api.append(session, {**user("find"), "name": "Ana Lopes"})
    assert api.window(session)["messages"] == [{**user("find"), "name": "Ana_Lopes"}]
    assert api.window(session, "?format=raw")["messages"][0]["name"] == "Ana Lopes"
