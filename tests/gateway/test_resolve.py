"""From a source to its session: found, opened, reset, told about once."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db.models import F

from sessions_app.models import ConsolidationJob, Session
from tests.conftest import Api, said

from .conftest import CHAT, Clock, Resolve

Policy = Callable[..., dict[str, Any]]
Sweep = Callable[[], int]


def read(api: Api, session_id: str) -> dict[str, Any]:
    session: dict[str, Any] = said(api.get(f"/sessions/{session_id}"))
    return session


def test_a_new_source_opens_a_session_and_the_next_message_finds_it(resolve: Resolve) -> None:
    first = resolve(201)
    session = first["session"]
    assert (first["was_auto_reset"], first["reset_reason"], first["previous_id"]) == (False, None, None)
    assert (session["platform"], session["chat_type"]) == ("telegram", "dm")
    assert session["source"]["user_name"] == "Ada"
    assert session["last_activity_at"] == "2026-05-01T12:00:00+00:00"
    again = resolve(200)
    assert again["session"]["id"] == session["id"]


def test_the_built_in_policy_is_both_after_a_day_or_at_four(resolve: Resolve, clock: Clock) -> None:
    first = resolve()["session"]
    assert first["next_reset_at"] == "2026-05-02T04:00:00+00:00"
    clock.to("2026-05-02 03:59:59.999999")
    assert resolve(200, touch=False)["session"]["id"] == first["id"]
    clock.to("2026-05-02 04:00")
    answer = resolve(201)
    assert answer["previous_id"] == first["id"]
    assert (answer["was_auto_reset"], answer["reset_reason"]) == (True, "daily")


def test_what_a_policy_ended_keeps_its_record_and_its_reason(
    resolve: Resolve, policy: Policy, clock: Clock, api: Api
) -> None:
    policy("idle", idle_minutes=30)
    old = resolve()["session"]["id"]
    api.append(old, {"role": "user", "content": "remember me"})
    clock.move(minutes=30, microseconds=1)
    new = resolve(201)["session"]
    ended = read(api, old)
    assert (ended["ended_at"], ended["end_reason"]) == ("2026-05-01T12:30:00.000001+00:00", "idle")
    assert ended["next_reset_at"] is None
    assert ended["counts"]["messages"] == 1
    assert (new["previous_id"], new["was_auto_reset"], new["reset_reason"]) == (old, True, "idle")
    assert new["counts"]["messages"] == 0


def test_a_reset_is_told_by_the_first_answer_and_by_no_other(
    resolve: Resolve, policy: Policy, clock: Clock
) -> None:
    policy("idle", idle_minutes=30)
    resolve()
    clock.move(minutes=31)
    assert resolve(201)["was_auto_reset"] is True
    for _ in range(2):
        answer = resolve(200)
        assert (answer["was_auto_reset"], answer["reset_reason"]) == (False, None)
        assert answer["session"]["was_auto_reset"] is True


def test_a_reset_by_the_sweep_is_told_hours_later(
    resolve: Resolve, clock: Clock, sweep_all: Sweep, api: Api
) -> None:
    old = resolve()["session"]["id"]
    clock.to("2026-05-02 04:01")
    assert sweep_all() == 1
    assert read(api, old)["end_reason"] == "daily"
    assert Session.objects.count() == 1
    clock.to("2026-05-02 09:00")
    answer = resolve(201)
    assert (answer["was_auto_reset"], answer["reset_reason"]) == (True, "daily")
    assert answer["previous_id"] == old
    assert resolve(200)["was_auto_reset"] is False


def test_nights_without_a_word_grow_no_chain_of_empty_sessions(
    resolve: Resolve, clock: Clock, sweep_all: Sweep
) -> None:
    resolve()
    for _ in range(5):
        clock.move(days=1)
        sweep_all()
    assert Session.objects.count() == 1


def test_a_session_opened_by_its_key_after_a_reset_is_linked_and_the_resolve_tells(
    resolve: Resolve, clock: Clock, sweep_all: Sweep, api: Api
) -> None:
    old = resolve()["session"]
    clock.to("2026-05-02 04:01")
    sweep_all()
    opened = said(api.post("/sessions", {"key": old["key"]}))
    assert opened["previous_id"] == old["id"]
    assert (opened["was_auto_reset"], opened["reset_reason"]) == (True, "daily")
    assert (opened["platform"], opened["source"]) == ("telegram", old["source"])
    answer = resolve(200)
    assert answer["session"]["id"] == opened["id"]
    assert (answer["was_auto_reset"], answer["reset_reason"]) == (True, "daily")
    assert resolve(200)["was_auto_reset"] is False


def test_only_what_the_user_does_keeps_a_session_alive(
    resolve: Resolve, policy: Policy, clock: Clock, api: Api, reader: Api
) -> None:
    policy("idle", idle_minutes=30)
    session = resolve()["session"]["id"]
    clock.move(minutes=20)
    api.append(session, {"role": "assistant", "content": "still there?"})
    api.append(session, {"kind": "tool_call", "tool": "cron"})
    reader.get(f"/sessions/{session}")
    reader.get("/sessions")
    reader.get(f"/sessions/{session}/history")
    resolve(200, touch=False)
    assert read(api, session)["last_activity_at"] == "2026-05-01T12:00:00+00:00"
    clock.move(minutes=10, microseconds=1)
    assert resolve(201, touch=False)["reset_reason"] == "idle"


@pytest.mark.parametrize("by", ["message", "resolve"])
def test_the_users_word_keeps_a_session_alive(
    by: str, resolve: Resolve, policy: Policy, *, clock: Clock, api: Api, sweep_all: Sweep
) -> None:
    policy("idle", idle_minutes=30)
    session = resolve()["session"]["id"]
    clock.move(minutes=20)
    if by == "message":
        api.append(session, {"role": "user", "content": "hello"})
    else:
        resolve(200)
    assert read(api, session)["next_reset_at"] == "2026-05-01T12:50:00+00:00"
    clock.move(minutes=30)
    sweep_all()
    assert resolve(200)["session"]["id"] == session


def test_a_first_message_of_long_ago_makes_the_session_due(
    resolve: Resolve, clock: Clock, api: Api, sweep_all: Sweep
) -> None:
    session = resolve(touch=False)["session"]["id"]
    api.append(session, {"role": "user", "content": "old", "created_at": "2026-04-20T12:00:00+00:00"})
    clock.move(seconds=1)
    sweep_all()
    assert read(api, session)["end_reason"] == "idle"


def test_force_new_ends_the_session_as_asked_for(
    resolve: Resolve, policy: Policy, clock: Clock, api: Api
) -> None:
    policy("idle", idle_minutes=30)
    old = resolve()["session"]["id"]
    clock.move(minutes=31)
    answer = resolve(201, force_new=True)
    assert read(api, old)["end_reason"] == "reset"
    assert answer["previous_id"] == old
    assert (answer["was_auto_reset"], answer["reset_reason"]) == (False, None)
    assert answer["session"]["was_auto_reset"] is False


def test_a_lease_holds_off_policies_and_not_people(
    resolve: Resolve, policy: Policy, clock: Clock, api: Api
) -> None:
    policy("idle", idle_minutes=30)
    session = resolve()["session"]["id"]
    api.send("PUT", f"/sessions/{session}/leases/build", {"ttl_seconds": 7200})
    clock.move(minutes=31)
    assert resolve(200, touch=False)["session"]["reset_blocked_by"] == ["build"]
    assert resolve(201, force_new=True)["previous_id"] == session


def test_a_renamed_chat_is_seen(resolve: Resolve) -> None:
    resolve(user_name="Ada")
    assert resolve(200, user_name="Ada L.")["session"]["source"]["user_name"] == "Ada L."


def test_a_systems_event_changes_nothing_that_is_known(
    resolve: Resolve, clock: Clock, api: Api, admin: Api
) -> None:
    admin.send("PUT", "/platforms/telegram", {"dm_scope": "owner"})
    session = resolve()["session"]
    clock.move(minutes=1)
    assert resolve(200, chat_id="43", user_id=None, user_name=None, touch=False)["session"] == session
    assert read(api, session["id"]) == session
    assert resolve(200, chat_id="43")["session"]["source"]["chat_id"] == "43"


def test_a_systems_event_tells_where_a_session_is_of_which_nobody_knew(
    resolve: Resolve, clock: Clock, api: Api
) -> None:
    api.open("agent:main:telegram:dm:42")
    clock.move(minutes=1)
    found = resolve(200, touch=False)["session"]
    assert (found["source"]["chat_id"], found["platform"]) == ("42", "telegram")
    assert found["last_activity_at"] == "2026-05-01T12:00:00+00:00"


def test_a_session_opened_by_key_falls_under_policies_once_its_source_is_known(
    resolve: Resolve, clock: Clock, api: Api, sweep_all: Sweep
) -> None:
    key = resolve()["session"]["key"]
    api.send("DELETE", f"/sessions/{api.open(key)}")
    opened = said(api.post("/sessions", {"key": key}))
    assert (opened["platform"], opened["next_reset_at"]) == (None, None)
    assert resolve(200)["session"]["next_reset_at"] == "2026-05-02T04:00:00+00:00"
    clock.to("2026-05-02 04:01")
    assert sweep_all() == 1


def test_a_clock_that_jumped_ahead_does_not_keep_a_session_for_ever(
    resolve: Resolve, clock: Clock, api: Api, sweep_all: Sweep
) -> None:
    clock.to("2027-05-01 12:00")
    session = resolve()["session"]["id"]
    clock.to("2026-05-01 12:00")
    answer = resolve(200)["session"]
    assert (answer["id"], answer["last_activity_at"]) == (session, "2026-05-01T12:00:00+00:00")
    clock.move(days=2)
    assert sweep_all() == 1
    assert read(api, session)["end_reason"] == "idle"


def test_what_is_said_of_the_next_reset_rests_on_one_look_at_the_clock(api: Api, policy: Policy) -> None:
    """While time goes on, as it does outside of tests."""
    policy("idle", idle_minutes=30)
    with time_machine.travel("2026-05-01T12:00:00+00:00", tick=True):
        session = said(api.post("/resolve", {"source": CHAT}))["session"]
        answers = [session, said(api.post(f"/sessions/{session['id']}/reset"))]
    for answer in answers:
        due = datetime.fromisoformat(answer["last_activity_at"]) + timedelta(minutes=30)
        assert answer["next_reset_at"] == due.isoformat()


def test_an_imported_session_goes_on_and_falls_under_policies_from_then_on(
    resolve: Resolve, policy: Policy, api: Api, *, clock: Clock, sweep_all: Sweep
) -> None:
    policy("idle", idle_minutes=30)
    session = resolve()["session"]["id"]
    api.append(session, {"role": "user", "content": "long ago"})
    Session.objects.update(imported_through=F("last_seq"), active_at=None)
    clock.move(days=100)
    sweep_all()
    assert read(api, session)["next_reset_at"] is None
    explained = said(api.get(f"/sessions/{session}/reset-decision"))
    assert (explained["reset"], explained["reasons"], explained["next_reset_at"]) == (False, [], None)
    assert resolve(200, touch=False)["session"]["next_reset_at"] is None
    assert resolve(200)["session"]["next_reset_at"] == "2026-08-09T12:30:00+00:00"
    clock.move(minutes=31)
    assert sweep_all() == 1
    assert resolve(201)["previous_id"] == session


def test_two_agents_on_one_chat_have_a_session_each(resolve: Resolve, stranger: Api) -> None:
    assert resolve(201)["session"]["id"] != resolve(201, who=stranger)["session"]["id"]


def test_a_retried_resolve_is_answered_once(resolve: Resolve, policy: Policy, clock: Clock, api: Api) -> None:
    policy("idle", idle_minutes=30)
    resolve()
    clock.move(minutes=31)
    answers = [api.post("/resolve", {"source": CHAT}, Idempotency_Key="one") for _ in range(2)]
    assert said(answers[0]) == said(answers[1])
    assert said(answers[0])["was_auto_reset"] is True
    assert answers[1].headers["Idempotent-Replayed"] == "true"
    assert Session.objects.count() == 2


def test_readers_may_not_resolve(reader: Api) -> None:
    assert reader.post("/resolve", {"source": CHAT}).status_code == 403


class TestReset:
    def test_it_ends_the_session_and_opens_the_next_of_its_key(self, resolve: Resolve, api: Api) -> None:
        old = resolve()["session"]
        response = api.post(f"/sessions/{old['id']}/reset")
        new = said(response)
        assert response.status_code == 201
        assert read(api, old["id"])["end_reason"] == "reset"
        assert (new["key"], new["previous_id"], new["was_auto_reset"]) == (old["key"], old["id"], False)
        assert (new["platform"], new["source"]) == ("telegram", old["source"])
        assert new["next_reset_at"] == "2026-05-02T04:00:00+00:00"
        answer = resolve(200)
        assert (answer["session"]["id"], answer["was_auto_reset"]) == (new["id"], False)

    def test_an_ended_session_cannot_be_reset(self, resolve: Resolve, api: Api) -> None:
        old = resolve()["session"]["id"]
        api.post(f"/sessions/{old}/reset")
        assert api.post(f"/sessions/{old}/reset").status_code == 409
        assert Session.objects.count() == 2

    def test_a_stranger_finds_nothing_to_reset(self, resolve: Resolve, stranger: Api) -> None:
        session = resolve()["session"]["id"]
        for path in ("reset", "reopen"):
            assert stranger.post(f"/sessions/{session}/{path}").status_code == 404


class TestReopen:
    def test_the_old_one_is_open_again_and_the_current_one_was_switched(
        self, resolve: Resolve, api: Api, clock: Clock, sweep_all: Sweep
    ) -> None:
        old = resolve()["session"]["id"]
        clock.to("2026-05-02 04:00")
        new = resolve(201)["session"]["id"]
        clock.to("2026-05-02 10:00")
        response = api.post(f"/sessions/{old}/reopen")
        assert response.status_code == 200
        reopened = said(response)
        assert (reopened["id"], reopened["ended_at"], reopened["end_reason"]) == (old, None, None)
        assert reopened["last_activity_at"] == "2026-05-02T10:00:00+00:00"
        assert reopened["next_reset_at"] == "2026-05-03T04:00:00+00:00"
        assert read(api, new)["end_reason"] == "switched"
        sweep_all()
        assert resolve(200)["session"]["id"] == old

    def test_it_is_swept_again_in_its_time(
        self, resolve: Resolve, api: Api, clock: Clock, sweep_all: Sweep
    ) -> None:
        old = resolve()["session"]["id"]
        api.post(f"/sessions/{old}/reset")
        api.post(f"/sessions/{old}/reopen")
        clock.to("2026-05-02 04:01")
        assert sweep_all() == 1
        answer = resolve(201)
        assert (answer["previous_id"], answer["was_auto_reset"]) == (old, True)

    def test_an_open_one_stays_as_it_is(self, resolve: Resolve, api: Api, clock: Clock) -> None:
        session = resolve()["session"]
        clock.move(minutes=1)
        response = api.post(f"/sessions/{session['id']}/reopen")
        assert (response.status_code, said(response)) == (200, session)

    def test_without_a_current_one_nothing_else_ends(
        self, resolve: Resolve, api: Api, clock: Clock, sweep_all: Sweep
    ) -> None:
        old = resolve()["session"]["id"]
        clock.to("2026-05-02 04:01")
        sweep_all()
        assert said(api.post(f"/sessions/{old}/reopen"))["ended_at"] is None
        answer = resolve(200)
        assert (answer["session"]["id"], answer["was_auto_reset"]) == (old, False)

    def test_a_lease_that_still_runs_holds_it_again(self, resolve: Resolve, api: Api, clock: Clock) -> None:
        old = resolve()["session"]["id"]
        api.send("PUT", f"/sessions/{old}/leases/job", {"ttl_seconds": 3600})
        api.post(f"/sessions/{old}/reset")
        assert read(api, old)["reset_blocked_by"] == []
        assert said(api.post(f"/sessions/{old}/reopen"))["reset_blocked_by"] == ["job"]


class TestConsolidationIsQueued:
    def queued(self) -> list[tuple[str, str]]:
        jobs = ConsolidationJob.objects.order_by("pk")
        return [(str(job.session.uid), job.trigger) for job in jobs.select_related("session")]

    def test_with_every_end_of_a_session_that_has_something_to_condense(
        self, resolve: Resolve, api: Api, clock: Clock, sweep_all: Sweep
    ) -> None:
        ended = []
        for how in ("sweep", "resolve", "force", "reset"):
            session = resolve(chat_id=how)["session"]["id"]
            api.append(session, {"role": "user", "content": "hello"})
            ended.append(session)
        resolve(force_new=True, chat_id="force")
        api.post(f"/sessions/{ended[3]}/reset")
        clock.to("2026-05-02 04:00")
        resolve(201, chat_id="resolve")
        clock.to("2026-05-02 04:01")
        sweep_all()
        assert sorted(self.queued()) == sorted((session, "reset") for session in ended)

    def test_and_not_for_an_empty_one(self, resolve: Resolve) -> None:
        resolve()
        resolve(201, force_new=True)
        assert self.queued() == []

    def test_and_no_more_once_it_is_open_again(self, resolve: Resolve, api: Api) -> None:
        session = resolve()["session"]["id"]
        api.append(session, {"role": "user", "content": "hello"})
        api.post(f"/sessions/{session}/reset")
        assert self.queued() == [(session, "reset")]
        api.post(f"/sessions/{session}/reopen")
        assert self.queued() == []
