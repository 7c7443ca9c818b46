"""The page of one session: places in it, summaries where they stand, and what it offers."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from sessions_app.models import Agent, Consolidation, Session
from tests.conftest import Api

from .conftest import Member

SESSIONS = "/admin/sessions_app/session/"


@pytest.fixture
def page(api: Api) -> str:
    """Six entries, of which an error and two decisions."""
    api.append(
        api.open("telegram:1", title="Lisbon"),
        {"role": "user", "content": "How warm is LISBON?"}, {"kind": "decision", "decision": "ask"},
        {"kind": "error", "error": "lisbon is not known"}, {"role": "assistant", "content": "Ask me again."},
        {"kind": "decision", "decision": "wait"}, {"role": "user", "content": "And Porto?"},
    )  # fmt: skip
    return f"{SESSIONS}{Session.objects.get().pk}/"


def found(client: Client, page: str, words: str) -> Any:
    return client.get(f"{page}find/", {"q": words}).json()


def test_words_are_found_in_the_whole_session_by_their_places(
    member: Member, page: str, stranger: Api
) -> None:
    stranger.append(stranger.open("other"), {"role": "user", "content": "Lisbon too"})
    viewer = member("viewer")
    assert found(viewer, page, "lisbon") == {"seqs": [1, 3], "more": False}
    assert found(viewer, page, "isbo") == {"seqs": [1, 3], "more": False}
    for words in ("", " ", "\0", "x" * 5000, "nowhere"):
        assert found(viewer, page, words) == {"seqs": [], "more": False}


@pytest.mark.parametrize(
    ("kind", "after", "leads_to"),
    [("error", "0", 3), ("error", "3", 3), ("decision", "2", 5), ("decision", "5", 2), ("decision", "x", 2)],
)
def test_one_goes_from_error_to_error(
    member: Member, page: str, kind: str, after: str, leads_to: int
) -> None:
    answer: Any = member("viewer").get(f"{page}next/{kind}/", {"after": after})
    assert answer.url == f"{page}change/?seq={leads_to}#m{leads_to}"


def test_there_is_no_next_of_what_there_is_not(member: Member, page: str) -> None:
    viewer = member("viewer")
    answer: Any = viewer.get(f"{page}next/tool_call/")
    assert answer.url == f"{page}change/"
    for kind in ("message", "nothing"):
        assert viewer.get(f"{page}next/{kind}/").status_code == 404


def test_each_summary_stands_where_its_range_ends_and_is_shown_as_the_agent_allows(
    member: Member, admin: Api, page: str
) -> None:
    admin.send("PUT", "/redaction", {"email": True})
    session, agent = Session.objects.get(), Agent.objects.get(name="main")
    for first, through, text in ((1, 2, "first, for ada@example.org"), (3, 4, "second, for ada@example.org")):
        Consolidation.objects.create(
            agent=agent, session=session, from_seq=first, through_seq=through, trigger="asked",
            engine="extractive", entries=2, tokens_before=90, tokens_after=9, summary=text,
        )  # fmt: skip
    Session.objects.update(consolidated_through=4, summary="second, for ada@example.org")
    answer: Any = member("viewer").get(f"{page}change/")
    shown = {entry.seq: entry.summary for entry in answer.context["part"].entries if entry.summary}
    assert {seq: (one.from_seq, one.through_seq, one.stands) for seq, one in shown.items()} == {
        2: (1, 2, False),
        4: (1, 4, True),
    }
    assert [seq for seq in range(1, 7) if answer.context["part"].entries[seq - 1].condensed] == [1, 2, 3, 4]
    text = answer.content.decode()
    assert ["first, for " in text, "second, for " in text, "ada@example.org" in text] == [True, True, False]


def test_an_ended_session_is_reopened_and_what_does_not_fit_is_not_offered(member: Member, page: str) -> None:
    operator = member("operator")

    def offered() -> list[str]:
        answer: Any = operator.get(f"{SESSIONS}{first.pk}/change/")
        return [action.name for action in answer.context["actions"]]

    first = Session.objects.get()
    assert offered() == ["reset", "condense", "reflect", "retain", "erase"]
    operator.post(f"{page}act/reset/")
    assert offered() == ["reopen", "condense", "reflect", "erase"]
    assert b"becomes the open session" in operator.get(f"{page}act/reopen/").content
    operator.post(f"{page}act/reopen/")
    first.refresh_from_db()
    assert (first.ended_at, first.end_reason) == (None, "")
    assert Session.objects.exclude(pk=first.pk).get().end_reason == "switched"
    [entry, _] = LogEntry.objects.order_by("-pk")
    assert entry.change_message == "Reopened: it is the open session of its key."


@pytest.mark.parametrize("pk", ["9" * 30, "²", "0", "x", "99999"])
def test_an_address_of_no_session_is_answered(member: Member, pk: str) -> None:
    assert member("viewer").get(f"{SESSIONS}{pk}/change/").status_code in (302, 404)
