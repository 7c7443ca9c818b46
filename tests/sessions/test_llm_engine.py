"""The llm engine against a server that speaks the protocol: well, wrongly, slowly and not at all."""

import socket
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.db import DEFAULT_DB_ALIAS, connections
from django.utils import timezone

from sessions_app import condensing, consolidation_jobs
from sessions_app.engines import EngineFailed
from sessions_app.models import Agent, Consolidation, ConsolidationJob, Session
from tests.conftest import Api, said
from tests.gateway.receiver import Receiver, answer, receiving
from tests.operations.daybook import until
from tests.sessions.conversations import assistant, user

from .model_server import asked, completion, notes
from .test_consolidation import TRIP, consolidated

EXTRACTED = "- User: Please book a hotel in Lisbon for the 3rd of May."


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long whoever waits for an answer was made to wait between two tries, in seconds."""
    found: list[float] = []
    monkeypatch.setattr(condensing, "wait", found.append)
    return found


@pytest.fixture
def server(settings: Any, api: Api, waits: list[float]) -> Iterator[Receiver]:
    with receiving() as server:
        settings.LLM_URL = f"http://127.0.0.1:{server.port}/v1"
        settings.LLM_MODEL, settings.LLM_KEY = "small", "sk-secret"
        Agent.objects.update(consolidation_engine="llm")
        yield server


@pytest.fixture
def session(api: Api) -> str:
    session = api.open()
    api.append(session, *TRIP)
    return session


def test_a_model_writes_the_summary_and_the_memory(server: Receiver, api: Api, session: str) -> None:
    server.will(notes("- Ada books a hotel.", remember=["Ada likes cheap hotels."]))
    made = consolidated(api, session)["consolidation"]
    assert (made["engine"], made["model"], made["fell_back"]) == ("llm", "small", None)
    assert (made["summary"], made["memory_version"]) == ("- Ada books a hotel.", 1)
    assert said(api.get("/memory"))["content"] == "## Learned\n- Ada likes cheap hotels."
    assert said(api.get("/memory"))["author"] == "llm"

    [request] = server.requests
    assert (request.target, request.headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-secret")
    [body] = asked(server)
    assert (body["model"], body["response_format"]["type"]) == ("small", "json_schema")
    told = body["messages"][1]["content"]
    assert "<summary-so-far>\n(none)\n</summary-so-far>" in told
    assert "[user] Please book a hotel in Lisbon for the 3rd of May." in told
    assert "[error] timeout after 10 s (hotel search)" in told
    # The newest turn is not condensed, and not sent.
    assert "breakfast" not in told


def test_what_is_known_is_marked_and_not_told_as_new(server: Receiver, api: Api, session: str) -> None:
    server.will(notes("- Ada books a hotel in Lisbon."), notes("- All is done."))
    consolidated(api, session)
    api.append(session, user("- Ada books a hotel in Lisbon."), assistant("It is booked."), user("Thanks!"))
    consolidated(api, session)
    told = asked(server)[1]["messages"][1]["content"]
    assert "<summary-so-far>\n- Ada books a hotel in Lisbon.\n</summary-so-far>" in told
    assert told.count("Ada books a hotel in Lisbon") == 1
    assert "[assistant] It is booked." in told


def test_a_long_range_goes_in_parts(server: Receiver, api: Api, settings: Any) -> None:
    settings.LLM_INPUT_TOKENS = 500
    session = api.open()
    api.append(session, *[user("word " * 100) for _ in range(9)])
    server.will(notes("- one"), notes("- two"), notes("- three"))
    assert consolidated(api, session)["consolidation"]["summary"] == "- three"
    told = [body["messages"][1]["content"] for body in asked(server)]
    # A line of 507 characters is 128 tokens: three of them and a fourth are more than 500.
    assert [text.count("[user]") for text in told] == [3, 3, 2]
    assert "<summary-so-far>\n- one\n" in told[1]


WRONG = {
    "no JSON": completion("I would rather talk about cats."),
    "another form": completion({"summary": "- x", "remember": "nothing"}),
    "an empty summary": completion({"summary": "", "remember": [], "forget": []}),
    "cut off": completion({"summary": "- x", "remember": [], "forget": []}, "length"),
    "no choices": answer(200, "Content-Type: application/json", body='{"choices": []}'),
    "a web page": answer(200, "Content-Type: text/html", body="<html>Welcome!</html>"),
    "broken JSON": answer(200, "Content-Type: application/json", body="{"),
    "a refusal": answer(401, body="{}"),
    "a failure": answer(500, body="oops"),
    "a broken connection": b"",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_three_failures_hand_over_to_the_other_engine(
    server: Receiver, api: Api, session: str, wrong: str
) -> None:
    server.will(*[WRONG[wrong]] * 3)
    made = consolidated(api, session)["consolidation"]
    assert len(server.requests) == 3
    assert (made["engine"], made["model"]) == ("extractive", None)
    assert made["fell_back"].startswith("The model")
    assert made["summary"].splitlines()[0] == EXTRACTED


def test_a_fenced_answer_is_read_and_a_second_try_counts(server: Receiver, api: Api, session: str) -> None:
    fenced = '```json\n{"summary": "- ok", "remember": [], "forget": []}\n```'
    server.will(WRONG["a failure"], completion(fenced))
    made = consolidated(api, session)["consolidation"]
    assert (made["engine"], made["summary"], made["fell_back"]) == ("llm", "- ok", None)


def test_a_server_without_structured_output_is_told_the_form_in_words(
    server: Receiver, api: Api, session: str
) -> None:
    server.will(answer(400, body='{"error": {"message": "unknown field response_format"}}'), notes("- told"))
    made = consolidated(api, session)["consolidation"]
    assert (made["engine"], made["summary"]) == ("llm", "- told")
    first, second = asked(server)
    assert first["response_format"]["type"] == "json_schema"
    assert "response_format" not in second
    assert '"remember"' in second["messages"][0]["content"]


def test_a_pause_may_be_told_as_a_time_of_the_clock(
    server: Receiver, api: Api, session: str, waits: list[float]
) -> None:
    past, never = "Wed, 01 Jan 2020 00:00:00 GMT", "whenever you like"
    server.will(*(answer(429, f"Retry-After: {told}", body="{}") for told in (past, never)), notes())
    assert consolidated(api, session)["consolidation"]["engine"] == "llm"
    assert waits == [0.5, 1.0]
    future = (timezone.now() + timedelta(hours=1)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    server.will(answer(429, f"Retry-After: {future}", body="{}"))
    api.append(session, assistant("It is."), user("Good."))
    api.post(f"/sessions/{session}/consolidate")
    now = timezone.now()
    assert consolidation_jobs.work_off(lambda: now) == 1
    assert ConsolidationJob.objects.get().next_attempt_at == now + timedelta(minutes=10)


def test_a_server_that_hangs_or_is_not_there_is_given_up(
    server: Receiver, api: Api, session: str, settings: Any
) -> None:
    settings.LLM_TIMEOUT_SECONDS = 0.05
    server.will(server.hang, server.trickle, server.hang)
    made = consolidated(api, session)["consolidation"]
    assert made["fell_back"] == "The model's server took too long."
    with socket.create_server(("127.0.0.1", 0)) as door:
        settings.LLM_URL = f"http://127.0.0.1:{door.getsockname()[1]}/v1"
    api.append(session, assistant("It is."), user("Good."))
    made = consolidated(api, session)["consolidation"]
    assert made["fell_back"] == "The model's server did not answer (APIConnectionError)."


def test_a_server_that_asks_for_a_pause_gets_one_also_from_those_who_wait(
    server: Receiver, api: Api, session: str, waits: list[float]
) -> None:
    limited = answer(429, "Retry-After: 7", body="{}")
    server.will(limited, answer(429, "Retry-After: 3600", body="{}"), notes())
    assert consolidated(api, session)["consolidation"]["engine"] == "llm"
    assert waits == [7.0, 10.0]
    api.append(session, assistant("It is."), user("Good."))
    server.will(*[answer(500, body="oops")] * 3)
    assert consolidated(api, session)["consolidation"]["engine"] == "extractive"
    assert waits[2:] == [0.5, 1.0]


def test_agents_without_a_model_wait_for_nobody_who_has_one(
    server: Receiver, api: Api, session: str, stranger: Api
) -> None:
    theirs = stranger.open()
    stranger.append(theirs, *TRIP)
    api.post(f"/sessions/{session}/consolidate")
    stranger.post(f"/sessions/{theirs}/consolidate")
    Agent.objects.filter(name=stranger.agent).update(consolidation_engine="extractive")
    assert consolidation_jobs.work_off(timezone.now, engine="extractive") == 1
    assert (Consolidation.objects.get().engine, server.requests) == ("extractive", [])
    server.will(notes())
    assert consolidation_jobs.work_off(timezone.now, engine="llm") == 1


@pytest.mark.django_db(transaction=True)
def test_a_claim_is_renewed_as_long_as_the_work_goes_on(
    server: Receiver, api: Api, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidation_jobs, "RENEW_SECONDS", 0.01)
    now, moments = timezone.now(), count(0)
    seen: list[Any] = []

    def clock() -> Any:
        return now + timedelta(seconds=next(moments))

    def claimed_until() -> Any:
        return ConsolidationJob.objects.get().next_attempt_at

    def condense(plan: Any) -> Any:
        first = claimed_until()
        until(lambda: claimed_until() > first, "the claim to be renewed")
        seen.append(ConsolidationJob.objects.get().running)
        raise EngineFailed("It took its time.")

    monkeypatch.setattr(condensing, "condensed", condense)
    api.post(f"/sessions/{session}/consolidate")
    ConsolidationJob.objects.update(next_attempt_at=now)
    assert consolidation_jobs.work_off(clock) == 1
    # Whoever renews it stops before the job is put off.
    assert seen == [True]
    job = ConsolidationJob.objects.get()
    assert (job.running, job.attempts, job.last_error) == (False, 1, "It took its time.")


def test_a_worker_waits_between_failures_and_as_long_as_it_is_asked_to(
    server: Receiver, api: Api, session: str
) -> None:
    server.will(answer(429, "Retry-After: 90", body="{}"), answer(503, body="{}"), answer(503, body="{}"))
    api.post(f"/sessions/{session}/consolidate")
    now = timezone.now()
    assert consolidation_jobs.work_off(lambda: now) == 1
    job = said(api.get(f"/sessions/{session}/consolidations"))["job"]
    assert (job["state"], job["attempts"], job["last_error"]) == (
        "retrying",
        1,
        "The model's server answered 429.",
    )
    assert ConsolidationJob.objects.get().next_attempt_at == now + timedelta(seconds=90)
    assert consolidation_jobs.work_off(lambda: now + timedelta(seconds=89)) == 0
    assert consolidation_jobs.work_off(lambda: now + timedelta(seconds=90)) == 1
    # The pause after the second failure: 30 seconds, twice.
    assert consolidation_jobs.work_off(lambda: now + timedelta(seconds=149)) == 0
    assert consolidation_jobs.work_off(lambda: now + timedelta(seconds=150)) == 1
    [made] = Consolidation.objects.all()
    assert (made.engine, made.fell_back) == ("extractive", "The model's server answered 503.")
    assert (len(server.requests), ConsolidationJob.objects.count()) == (3, 0)


@pytest.mark.django_db(transaction=True)
def test_no_database_connection_is_held_while_a_model_thinks(
    server: Receiver, api: Api, session: str
) -> None:
    held: list[Any] = []
    # That of this thread: the one which the server looks from has another.
    ours = connections[DEFAULT_DB_ALIAS]

    def look(wire: socket.socket) -> None:
        held.append(ours.connection)
        wire.sendall(notes())

    server.will(look)
    assert consolidated(api, session)["consolidation"]["engine"] == "llm"
    assert held == [None]


def test_a_memory_that_was_edited_meanwhile_keeps_both(
    server: Receiver, api: Api, admin: Api, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sessions_app.engines.llm import LlmEngine

    real = LlmEngine.condense

    def condense(self: LlmEngine, material: Any) -> Any:
        digest = real(self, material)
        edited = admin.send("PUT", "/memory", {"content": "# Ada\nShe is 36.", "version": 0})
        assert edited.status_code == 200
        return digest

    monkeypatch.setattr(LlmEngine, "condense", condense)
    server.will(notes(remember=["She likes cheap hotels.", "She is 36."]))
    assert consolidated(api, session)["consolidation"]["memory_version"] == 2
    # What stands there in other words of an operator is left alone, and not added once more.
    assert said(api.get("/memory"))["content"] == "# Ada\nShe is 36.\n\n## Learned\n- She likes cheap hotels."


def test_summaries_of_a_model_are_cut_to_their_room(server: Receiver, api: Api, session: str) -> None:
    server.will(notes("\n".join(f"- line {number} of many that say nothing" for number in range(400))))
    made = consolidated(api, session)["consolidation"]
    assert made["tokens_after"] <= 1000
    assert Session.objects.get(uid=session).summary == made["summary"]


def test_the_engine_can_be_chosen_only_where_there_is_a_model(admin: Api, settings: Any) -> None:
    refused = admin.send("PATCH", "/agent", {"consolidation_engine": "llm"})
    assert refused.status_code == 422
    assert said(refused)["errors"][0]["loc"] == ["body", "consolidation_engine"]
    settings.LLM_MODEL = "small"
    chosen = admin.send("PATCH", "/agent", {"consolidation_engine": "llm"})
    assert said(chosen)["consolidation_engine"] == "llm"
