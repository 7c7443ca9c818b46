"""What goes, in which order, and what is left of it: a count."""

import os
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app import retention
from sessions_app.models import Deletion, Message, RetentionRule, Session
from tests.conftest import Api, said
from tests.faults.record import assert_consistent

NOW = timezone.now()


def session(api: Api, key: str, days: int, entries: int = 1, *, ended: bool = True, **fields: Any) -> str:
    uid = api.open(key)
    api.append(uid, *({"role": "user", "content": "x" * 100} for _ in range(entries)))
    at = NOW - timedelta(days=days)
    end = {"ended_at": at, "end_reason": "reset"} if ended else {}
    Session.objects.filter(uid=uid).update(updated_at=at, created_at=at, **end, **fields)
    return uid


def put(admin: Api, **fields: Any) -> RetentionRule:
    answer = admin.send("PUT", "/retention-rules", fields)
    assert answer.status_code == 200, answer.content
    return RetentionRule.objects.get(pk=said(answer)["id"])


def work_off(rule: RetentionRule) -> None:
    while retention.step(rule, NOW):
        pass


def left() -> set[str]:
    return {str(uid) for uid in Session.objects.values_list("uid", flat=True)}


def test_by_days_with_a_preview_and_a_ledger(api: Api, admin: Api) -> None:
    old, new = session(api, "a", 40, 3), session(api, "b", 5)
    rule = put(admin, days=30)
    shown = said(admin.get(f"/retention-rules/{rule.pk}/preview"))
    assert (shown["sessions"], shown["messages"], shown["first"]) == (1, 3, [old])
    assert shown["bytes"] == sum(
        len(body) for body in Message.objects.filter(session__uid=old).values_list("body", flat=True)
    )
    assert left() == {old, new}
    work_off(rule)
    assert left() == {new}
    (told,) = said(admin.get("/deletions"))["items"]
    assert (told["reason"], told["rule"], told["sessions"], told["messages"]) == (
        "retention",
        "everything: 30 days",
        1,
        3,
    )


def test_ended_ones_first_and_never_one_with_a_lease(api: Api, admin: Api) -> None:
    open_old = session(api, "open", 90, ended=False)
    ended_new = session(api, "ended", 50)
    leased = session(api, "leased", 99, ended=False, leased_until=NOW + timedelta(hours=1))
    rule = put(admin, sessions=2)
    assert said(admin.get(f"/retention-rules/{rule.pk}/preview"))["first"] == [ended_new]
    work_off(rule)
    assert left() == {open_old, leased}
    work_off(put(admin, days=1))
    assert left() == {leased}


def test_by_bytes_measured_once_and_only_what_is_new(api: Api, admin: Api) -> None:
    first, second = session(api, "a", 9, 4), session(api, "b", 8, 4)
    size = sum(len(body) for body in Message.objects.values_list("body", flat=True))
    rule = put(admin, bytes=size)
    work_off(rule)
    assert left() == {first, second}
    third = session(api, "c", 0, 1, ended=False)
    work_off(rule)
    assert left() == {second, third}


def test_a_rule_is_for_its_platform_and_its_agent_alone(api: Api, admin: Api, stranger: Api) -> None:
    here, there = session(api, "a", 9, platform="telegram"), session(api, "b", 9, platform="slack")
    theirs = session(stranger, "c", 9, platform="telegram")
    work_off(put(admin, platform="telegram", days=1))
    assert left() == {there, theirs}
    assert here not in left()
    assert said(stranger.get("/deletions"))["items"] == []


def test_entries_of_a_kind_are_emptied_and_keep_their_place(api: Api, admin: Api) -> None:
    uid = api.open("k")
    old = (NOW - timedelta(days=9)).isoformat()
    api.append(
        uid,
        {"role": "user", "content": "keep", "created_at": old},
        {"kind": "tool_call", "tool": "ls", "result": "secret listing", "created_at": old},
        {"kind": "tool_call", "tool": "ls", "result": "new listing"},
    )
    rule = put(admin, kind="tool_call", days=7)
    assert said(admin.get(f"/retention-rules/{rule.pk}/preview"))["messages"] == 1
    work_off(rule)
    bodies = list(Message.objects.order_by("seq").values_list("body", flat=True))
    assert "keep" in bodies[0]
    assert bodies[1] == '{"tool":"[erased]"}'
    assert "new listing" in bodies[2]
    assert_consistent(uid)


def test_a_long_session_goes_in_small_steps(api: Api, admin: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "MESSAGES", 4)
    uid = session(api, "a", 40, 10, ended=False)
    rule = put(admin, days=30)
    assert retention.step(rule, NOW) == 4
    assert assert_consistent_after_thinning(uid) == 6
    work_off(rule)
    assert left() == set()
    assert sum(Deletion.objects.values_list("messages", flat=True)) == 10


def assert_consistent_after_thinning(uid: str) -> int:
    found = Session.objects.get(uid=uid)
    assert found.last_seq == found.messages_count == Message.objects.filter(session=found).count()
    return found.last_seq


@pytest.mark.parametrize(
    "body", [{}, {"kind": "error", "sessions": 1}, {"days": 0}, {"kind": "message", "days": 1}]
)
def test_a_rule_that_cannot_be_is_refused(admin: Api, body: dict[str, Any]) -> None:
    assert admin.send("PUT", "/retention-rules", body).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_the_space_is_given_back(api: Api, admin: Api) -> None:
    uid = api.open("big")
    for _ in range(8):
        api.append(uid, {"role": "user", "content": os.urandom(250_000).hex()})
    Session.objects.filter(uid=uid).update(updated_at=NOW - timedelta(days=40))
    before = _size()
    put(admin, days=30)
    assert retention.run() == 1
    assert _size() < before - 2_000_000


def _size() -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        else:
            cursor.execute("CHECKPOINT")
            cursor.execute("SELECT pg_total_relation_size('sessions_app_message')")
        return int(cursor.fetchone()[0])
