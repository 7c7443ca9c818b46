"""Consolidation as an agent sees it: triggers, boundaries, windows, and what became of it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from sessions_app import consolidation_jobs
from sessions_app.models import Agent, Consolidation, ConsolidationJob, Session
from tests.conftest import Api, said
from tests.sessions.conversations import assistant, calls, result, user

TRIP = [
    user("Please book a hotel in Lisbon for the 3rd of May."),
    assistant("Sure!"),
    {"kind": "error", "error": "timeout after 10 s", "context": "hotel search"},
    assistant("The search failed because the server was too slow. I found the Hotel Aurora for 90 euros."),
    {"kind": "decision", "decision": "Hotel Aurora", "rationale": "the user wants it cheap"},
    user("Great, and is breakfast included?"),
]


def consolidated(api: Api, session: str) -> dict[str, Any]:
    response = api.post(f"/sessions/{session}/consolidate?wait=true")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = said(response)
    return answer


def row(session: str) -> Session:
    return Session.objects.get(uid=session)


def pass_by(**time: float) -> None:
    """As if everything so far had happened that much earlier."""
    for session in Session.objects.all():
        session.active_at = session.active_at and session.active_at - timedelta(**time)
        session.created_at -= timedelta(**time)
        session.save(update_fields=["active_at", "created_at"])


def run_due() -> int:
    now = timezone.now()
    consolidation_jobs.find_due(lambda: now)
    return consolidation_jobs.work_off(lambda: now)


def test_asked_for_it_condenses_everything_before_the_newest_user_turn(api: Api) -> None:
    session = api.open()
    api.append(session, *TRIP)
    answer = consolidated(api, session)
    made = answer.pop("consolidation")
    assert answer["state"] == "done"
    assert (made["from_seq"], made["through_seq"], made["entries"]) == (1, 5, 5)
    assert (made["trigger"], made["engine"], made["model"], made["fell_back"]) == (
        "asked",
        "extractive",
        None,
        None,
    )
    assert made["summary"].splitlines() == [
        "- User: Please book a hotel in Lisbon for the 3rd of May.",
        "- Error: timeout after 10 s (hotel search)",
        f"- Assistant: {TRIP[3]['content']}",
        "- Decided: Hotel Aurora (because: the user wants it cheap)",
    ]
    assert [point["message_id"] for point in made["points"]] == [f"{session}.{seq}" for seq in (1, 3, 4, 5)]
    window = api.window(session)
    assert window["summary"] == made["summary"]
    # Eight messages would reach further back than the session does.
    assert (window["from_seq"], window["to_seq"]) == (1, 6)
    assert said(api.get(f"/sessions/{session}"))["consolidated_through"] == 5
    assert row(session).unconsolidated_tokens == 4 + 9


def test_it_is_linked_both_ways_with_its_messages(api: Api) -> None:
    session = api.open()
    api.append(session, *TRIP)
    made = consolidated(api, session)["consolidation"]
    assert said(api.get(f"/messages/{session}.3"))["consolidation_id"] == made["id"]
    assert said(api.get(f"/messages/{session}.6"))["consolidation_id"] is None
    for seq, found in ((5, [made["id"]]), (6, [])):
        page = said(api.get(f"/sessions/{session}/consolidations?seq={seq}"))
        assert [item["id"] for item in page["items"]] == found


def test_nothing_to_condense_is_said_and_stores_nothing(api: Api) -> None:
    session = api.open()
    assert consolidated(api, session)["state"] == "nothing"
    api.append(session, user("Hello?"), assistant("Hi."))
    assert consolidated(api, session) == {
        "state": "nothing",
        "trigger": None,
        "queued_at": None,
        "attempts": 0,
        "last_error": None,
        "next_attempt_at": None,
        "consolidation": None,
    }
    assert not Consolidation.objects.exists()


def test_queued_it_is_done_by_a_worker_and_its_state_is_shown(api: Api, reader: Api) -> None:
    session = api.open()
    api.append(session, *TRIP)
    queued = api.post(f"/sessions/{session}/consolidate")
    assert queued.status_code == 202
    assert (said(queued)["state"], said(queued)["trigger"]) == ("queued", "asked")
    page = said(reader.get(f"/sessions/{session}/consolidations"))
    assert (page["items"], page["job"]["state"]) == ([], "queued")
    assert consolidation_jobs.work_off(timezone.now) == 1
    page = said(reader.get(f"/sessions/{session}/consolidations"))
    assert (page["items"][0]["through_seq"], page["job"]) == (5, None)


def test_an_idle_session_is_condensed_after_its_minutes_and_once(api: Api) -> None:
    session = api.open()
    api.append(session, *TRIP)
    assert run_due() == 0
    pass_by(minutes=14)
    Session.objects.update(consolidate_check_at=timezone.now())
    assert run_due() == 0
    # It is looked at again when its time has come, and not before.
    active_at = row(session).active_at
    assert active_at is not None
    assert row(session).consolidate_check_at == active_at + timedelta(minutes=15)
    pass_by(minutes=1)
    Session.objects.update(consolidate_check_at=timezone.now())
    assert run_due() == 1
    [made] = Consolidation.objects.all()
    assert (made.trigger, made.through_seq) == ("idle", 5)
    assert row(session).consolidate_check_at is None
    assert run_due() == 0


def test_a_session_over_its_budget_is_condensed_until_half_of_it_stays(api: Api) -> None:
    session = api.open()
    # 4 and 16 tokens each: 10 turns are 400.
    turns = [message for _ in range(10) for message in (user("x" * 64), assistant("y" * 64))]
    Agent.objects.update(token_budget=400)
    api.append(session, *turns)
    assert (row(session).unconsolidated_tokens, run_due()) == (400, 0)
    api.append(session, user("x" * 64))
    assert run_due() == 1
    [made] = Consolidation.objects.all()
    # 420 less six turns of 40 are 180, which is the first that is no more than 200.
    assert (made.trigger, made.through_seq, made.tokens_before) == ("budget", 12, 240)
    assert row(session).unconsolidated_tokens == 180


def test_a_reset_condenses_everything_and_hands_it_over(api: Api) -> None:
    session = api.open()
    api.append(session, *TRIP)
    new = said(api.post(f"/sessions/{session}/reset"))["id"]
    assert api.window(new)["summary"] is None
    assert run_due() == 1
    [made] = Consolidation.objects.all()
    assert (made.trigger, made.through_seq) == ("reset", 6)
    assert "- User, open question: Great, and is breakfast included?" in made.summary.splitlines()
    assert api.window(new)["summary"] == f"From earlier sessions:\n{made.summary}"
    assert said(api.get(f"/sessions/{new}/context"))["previous"]["summary"] == made.summary


def test_what_is_handed_over_is_bounded_however_long_the_chain(api: Api) -> None:
    session = api.open()
    lengths = []
    for number in range(12):
        facts = [user(f"Remember that project {number}-{fact} is due on day {fact}.") for fact in range(40)]
        api.append(session, *facts)
        session = said(api.post(f"/sessions/{session}/reset"))["id"]
        run_due()
        lengths.append(len(api.window(session)["summary"]))
    assert max(lengths) < 1500 * 4 + 200
    summary = api.window(session)["summary"]
    # The newest comes first, and what came before it still has room.
    assert "project 11-" in summary
    assert "Earlier:\n" in summary
    assert "project 10-" in summary


def test_a_late_consolidation_reaches_those_who_followed_meanwhile(api: Api) -> None:
    first = api.open()
    api.append(first, user("Remember that my name is Ada Lovelace."), assistant("Noted."))
    second = said(api.post(f"/sessions/{first}/reset"))["id"]
    third = said(api.post(f"/sessions/{second}/reset"))["id"]
    assert api.window(third)["summary"] is None
    run_due()
    assert "Ada Lovelace" in (api.window(third)["summary"] or "")


def test_messages_that_arrive_meanwhile_stay_unconsolidated(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = api.open()
    api.append(session, *TRIP)
    from sessions_app.engines.extractive import ExtractiveEngine

    real = ExtractiveEngine.condense

    def condense(self: ExtractiveEngine, material: Any) -> Any:
        api.append(session, assistant("Yes, it is."), user("Good."))
        return real(self, material)

    monkeypatch.setattr(ExtractiveEngine, "condense", condense)
    assert consolidated(api, session)["consolidation"]["through_seq"] == 5
    assert row(session).unconsolidated_tokens == 13 + (4 + 4) + (4 + 2)


def test_a_rewind_meanwhile_leaves_no_summary_of_what_was_taken_back(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = api.open()
    api.append(session, user("Keep this in mind, please."), assistant("ok"), *TRIP)
    from sessions_app.engines.extractive import ExtractiveEngine

    real = ExtractiveEngine.condense

    def condense(self: ExtractiveEngine, material: Any) -> Any:
        assert api.post(f"/sessions/{session}/rewind", {"to_seq": 3}).status_code == 200
        return real(self, material)

    monkeypatch.setattr(ExtractiveEngine, "condense", condense)
    assert consolidated(api, session)["state"] == "nothing"
    assert (row(session).consolidated_through, row(session).summary) == (0, "")
    assert not Consolidation.objects.exists()


def test_a_rewind_falls_back_to_the_summary_before(api: Api) -> None:
    session = api.open()
    api.append(
        session, user("Remember that the code word is bluebird."), assistant("ok"), user("Next, please.")
    )
    first = consolidated(api, session)["consolidation"]
    api.append(
        session, assistant("Which one?"), user("The red one, please."), assistant("ok"), user("Thanks!")
    )
    second = consolidated(api, session)["consolidation"]
    assert (first["through_seq"], second["through_seq"]) == (2, 6)
    api.post(f"/sessions/{session}/rewind", {"to_seq": 5})
    assert (row(session).consolidated_through, row(session).summary) == (2, first["summary"])
    page = said(api.get(f"/sessions/{session}/consolidations?include_discarded=true"))
    assert [(item["id"], item["discarded_by"]) for item in page["items"]] == [
        (second["id"], "rewind"),
        (first["id"], None),
    ]


def test_clear_forgets_the_summary_and_what_was_handed_over(api: Api) -> None:
    session = api.open()
    api.append(session, *TRIP)
    consolidated(api, session)
    Session.objects.update(carried="- User: something old")
    api.post(f"/sessions/{session}/clear")
    assert api.window(session)["summary"] is None
    assert (
        row(session).unconsolidated_tokens,
        said(api.get(f"/sessions/{session}/consolidations"))["items"],
    ) == (
        0,
        [],
    )


def test_an_operator_redoes_and_discards_the_newest_one(api: Api, admin: Api) -> None:
    session = api.open()
    api.append(
        session, user("Remember that the code word is bluebird."), assistant("ok"), user("Next, please.")
    )
    first = consolidated(api, session)["consolidation"]
    api.append(session, assistant("Which one?"), user("The red one, please."))
    second = consolidated(api, session)["consolidation"]
    base = f"/sessions/{session}/consolidations"
    assert admin.post(f"{base}/{first['id']}/redo").status_code == 409
    assert admin.post(f"{base}/{first['id']}/discard").status_code == 409

    again = said(admin.post(f"{base}/{second['id']}/redo", Idempotency_Key="once"))
    repeat = admin.post(f"{base}/{second['id']}/redo", Idempotency_Key="once")
    assert (said(repeat), repeat.headers["Idempotent-Replayed"]) == (again, "true")
    other = admin.post(f"{base}/{second['id']}/redo", {"engine": "extractive"}, Idempotency_Key="once")
    assert other.status_code == 422
    assert again["id"] != second["id"]
    assert [again[name] for name in ("from_seq", "through_seq", "summary", "trigger")] == [
        second[name] for name in ("from_seq", "through_seq", "summary", "trigger")
    ]
    assert [item["id"] for item in said(api.get(base))["items"]] == [again["id"], first["id"]]

    assert said(admin.post(f"{base}/{again['id']}/discard"))["discarded_by"] == "api"
    assert (row(session).consolidated_through, row(session).summary) == (2, first["summary"])
    # Nothing condenses it again by itself before there is something new.
    pass_by(minutes=60)
    assert run_due() == 0


def test_points_of_before_stay_and_are_never_condensed_again(api: Api) -> None:
    session = api.open()
    api.append(
        session, user("Remember that the code word is bluebird."), assistant("ok"), user("Next, please.")
    )
    first = consolidated(api, session)["consolidation"]
    # What an agent puts into the conversation out of a summary, by word or by mark, is nothing new.
    recalled = {**user("Remember that the launch is on Friday."), "metadata": {"recalled": True}}
    api.append(
        session,
        {"role": "system", "content": f"Summary: {first['summary']}"},
        user(first["summary"]),
        recalled,
        assistant("Got it, the meeting is at 10:30 in room 7."),
        user("Bye."),
    )
    summary = consolidated(api, session)["consolidation"]["summary"]
    assert summary.count("bluebird") == 1
    assert "launch" not in summary
    assert "room 7" in summary


def test_a_failing_consolidation_is_retried_and_holds_up_nobody(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    poison, healthy = api.open("a"), api.open("b")
    api.append(poison, *TRIP)
    api.append(healthy, *TRIP)
    from sessions_app.engines.extractive import ExtractiveEngine

    real = ExtractiveEngine.condense
    seen: list[int] = []

    def condense(self: ExtractiveEngine, material: Any) -> Any:
        seen.append(1)
        if len(seen) == 1:
            raise RuntimeError("no")
        return real(self, material)

    monkeypatch.setattr(ExtractiveEngine, "condense", condense)
    for session in (poison, healthy):
        api.post(f"/sessions/{session}/reset")
    assert run_due() == 2
    [job] = ConsolidationJob.objects.all()
    assert (str(job.session.uid), job.attempts, job.running) == (poison, 1, False)
    assert job.last_error == "It failed on our side (RuntimeError)."
    assert consolidation_jobs.work_off(lambda: timezone.now() + timedelta(seconds=31)) == 1
    assert Consolidation.objects.count() == 2


def test_a_tool_call_is_not_cut_from_its_late_result(api: Api) -> None:
    session = api.open()
    api.append(
        session,
        user("one"),
        assistant("ok"),
        user("two"),
        calls("a"),
        user("three"),
        result("a"),
        assistant(),
    )
    assert consolidated(api, session)["consolidation"]["through_seq"] == 2


def test_a_stranger_sees_none_of_it(api: Api, stranger: Api) -> None:
    session = api.open()
    api.append(session, *TRIP)
    made = consolidated(api, session)["consolidation"]
    for path in ("consolidations", f"consolidations/{made['id']}/discard"):
        send = stranger.get if path == "consolidations" else stranger.post
        assert send(f"/sessions/{session}/{path}").status_code == 404
    other = stranger.open()
    assert stranger.post(f"/sessions/{other}/consolidations/{made['id']}/redo").status_code == 404
