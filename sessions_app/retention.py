"""Retention: rules say what may be kept; what goes over it goes in small steps, and only a count is left.

Ended sessions go first, then those that nobody has used for longest; never one with a live lease."""

import time
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, Count, F, Max, Min, Q, QuerySet, Sum, Value, When
from django.db.models.functions import Coalesce, Length
from django.utils import timezone

from sessions_app import paging
from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.erasure import ERASED, empty_messages, erase_sessions, note
from sessions_app.models import Deletion, Message, RetentionRule, Session, SessionSize
from sessions_app.objects import iso
from sessions_app.problems import NotFound, invalid
from sessions_app.storage.space import give_back

# What one transaction may take along: writers wait for it.
SESSIONS, MESSAGES = 50, 2_000
LONGEST_SECONDS = 120.0
SHOWN = 20
REASON, ENDED = "retention", "retention"


def run() -> int:
    """Steps until nothing is left to do or the time is up; the next run goes on from there."""
    deadline = time.monotonic() + LONGEST_SECONDS
    done = 0
    for rule in RetentionRule.objects.filter(enabled=True).order_by("pk"):
        while time.monotonic() < deadline and (count := step(rule, timezone.now())):
            done += count
    if done:
        give_back(deadline)
    return done


def step(rule: RetentionRule, now: datetime) -> int:
    """One short transaction: how many rows went, 0 when there is nothing to do."""
    if rule.kind:
        return commit(lambda: _empty(rule, now))
    while rule.bytes is not None and _measure(rule):
        pass
    chosen = _doomed(rule, now)[:SESSIONS]
    if not chosen:
        return 0
    large = next((session for session in chosen if session.last_seq > MESSAGES), None)
    if large is not None and large == chosen[0]:
        return _thin_out(rule, large, now)
    return commit(lambda: _erase(rule, _fitting(chosen), now))


def preview(rule: RetentionRule, now: datetime) -> dict[str, Any]:
    """What would go now. Nothing is changed but what was measured."""
    if rule.kind:
        return _preview_kind(rule, now)
    while rule.bytes is not None and _measure(rule):
        pass
    doomed = [session.pk for session in _doomed(rule, now)]
    found = Session.objects.filter(pk__in=doomed[:100_000])
    told = found.aggregate(messages=Sum("last_seq"), oldest=Min("updated_at"), newest=Max("updated_at"))
    size = Message.objects.filter(session__in=doomed[:100_000]).aggregate(size=Sum(_WEIGHT))["size"]
    first = {session.pk: session.uid for session in found.filter(pk__in=doomed[:SHOWN])}
    return {
        "sessions": len(doomed),
        "messages": told["messages"] or 0,
        "bytes": size or 0,
        "oldest_at": iso(told["oldest"]),
        "newest_at": iso(told["newest"]),
        "first": [str(first[pk]) for pk in doomed[:SHOWN]],
    }


_WEIGHT = Length("body") + Coalesce(Length("extra"), 0)


def _scope(rule: RetentionRule) -> QuerySet[Session]:
    found = Session.objects.filter(agent_id=rule.agent_id)
    if rule.platform:
        found = found.filter(platform=rule.platform)
    return found.filter(chat_type=rule.chat_type) if rule.chat_type else found


def _doomed(rule: RetentionRule, now: datetime) -> list[Session]:
    """In the order in which they go. Each limit of the rule is kept."""
    scope = _scope(rule)
    ended_first = Case(When(ended_at__isnull=False, then=Value(0)), default=Value(1))
    free = scope.filter(Q(leased_until__isnull=True) | Q(leased_until__lte=now))
    order = free.annotate(in_use=ended_first).order_by("in_use", "updated_at", "pk")
    order = order.only("pk", "uid", "last_seq", "updated_at", "ended_at")
    found: dict[int, Session] = {}
    if rule.days is not None:
        due = order.filter(updated_at__lt=now - timedelta(days=rule.days))
        found |= {session.pk: session for session in due[:100_000]}
    if rule.sessions is not None:
        excess = max(0, scope.count() - rule.sessions)
        found |= {session.pk: session for session in order[: min(excess, 100_000)]}
    if rule.bytes is not None:
        found |= {session.pk: session for session in _over(rule, scope, order)}
    return list(found.values())


def _over(rule: RetentionRule, scope: QuerySet[Session], order: QuerySet[Session]) -> list[Session]:
    total = scope.aggregate(total=Sum("sessionsize__bytes"))["total"] or 0
    going: list[Session] = []
    for session in order.annotate(size=F("sessionsize__bytes"))[:100_000]:
        if total <= (rule.bytes or 0):
            break
        going.append(session)
        total -= getattr(session, "size", 0) or 0
    return going


def _measure(rule: RetentionRule) -> int:
    """Only what came since the last time; a batch at a time."""
    grown = _scope(rule).filter(
        Q(sessionsize__isnull=True) | Q(sessionsize__through__lt=F("last_seq")), last_seq__gt=0
    )
    batch = list(grown.order_by("pk").values_list("pk", "last_seq", "sessionsize__through")[:SESSIONS])
    for pk, last_seq, through in batch:
        new = Message.objects.filter(session_id=pk, seq__gt=through or 0, seq__lte=last_seq)
        size = new.aggregate(size=Sum(_WEIGHT))["size"] or 0
        _note_size(pk, last_seq, size)
    return len(batch)


def _note_size(pk: int, through: int, size: int) -> None:
    def work() -> None:
        if not Session.objects.filter(pk=pk).exists():
            return
        row, made = SessionSize.objects.get_or_create(
            session_id=pk, defaults={"through": through, "bytes": size}
        )
        if not made and row.through < through:
            SessionSize.objects.filter(pk=row.pk).update(through=through, bytes=F("bytes") + size)

    commit(work)


def _fitting(sessions: Sequence[Session]) -> list[int]:
    """As many as one transaction may take along."""
    chosen: list[int] = []
    messages = 0
    for session in sessions:
        messages += session.last_seq
        if chosen and messages > MESSAGES:
            break
        chosen.append(session.pk)
    return chosen


def _erase(rule: RetentionRule, pks: Sequence[int], now: datetime) -> int:
    """Runs inside `commit`. Who took a lease or spoke meanwhile stays."""
    free = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
    kept = Session.objects.select_for_update(skip_locked=True).filter(free, pk__in=pks).order_by("pk")
    locked = [session.pk for session in kept if not _is_fresh(rule, session, now)]
    if not locked:
        return 0
    size = SessionSize.objects.filter(session_id__in=locked).aggregate(size=Sum("bytes"))["size"] or 0
    sessions, messages = erase_sessions(locked)
    note(rule.agent_id, REASON, now, rule=str(rule), sessions=sessions, messages=messages, size=size)
    return sessions


def _is_fresh(rule: RetentionRule, session: Session, now: datetime) -> bool:
    only_days = rule.sessions is None and rule.bytes is None and rule.days is not None
    return only_days and session.updated_at >= now - timedelta(days=rule.days or 0)


def _thin_out(rule: RetentionRule, session: Session, now: datetime) -> int:
    """A session of many messages loses them a few at a time, after it was ended: then it is small."""

    def work() -> int:
        free = Q(leased_until__isnull=True) | Q(leased_until__lte=now)
        found = Session.objects.select_for_update(no_key=True).filter(free, pk=session.pk).first()
        if found is None or _is_fresh(rule, found, now):
            return 0
        if found.ended_at is None:
            found.ended_at, found.end_reason = max(now, found.created_at), ENDED
            found.reset_check_at = None
            found.save(update_fields=["ended_at", "end_reason", "reset_check_at"])
        newest = Message.objects.filter(session_id=found.pk).order_by("-seq")
        pks = list(newest.values_list("pk", flat=True)[:MESSAGES])
        empty_messages(found, pks)
        gone = Message.objects.filter(pk__in=pks)
        counts = {f"{kind}s_count": count for kind, count in _kinds(gone)}
        removed = gone._raw_delete("default")
        for name, count in counts.items():
            setattr(found, name, getattr(found, name) - count)
        found.last_seq -= removed
        found.imported_through = None
        # On its way out: not worth an index of what is left.
        found.searched_through = found.embedded_through = found.last_seq
        found.save(
            update_fields=["last_seq", "imported_through", "searched_through", "embedded_through", *counts]
        )
        note(rule.agent_id, REASON, now, rule=str(rule), messages=removed)
        return removed

    return commit(work)


def _kinds(found: QuerySet[Message]) -> list[tuple[str, int]]:
    return list(found.values_list("kind").annotate(count=Count("id")).order_by("kind"))


def _of_kind(rule: RetentionRule, now: datetime) -> QuerySet[Message]:
    found = Message.objects.filter(
        ~Q(hidden_by=ERASED),
        agent_id=rule.agent_id,
        kind=rule.kind,
        created_at__lt=now - timedelta(days=rule.days or 0),
    )
    if rule.platform:
        found = found.filter(session__platform=rule.platform)
    return found.filter(session__chat_type=rule.chat_type) if rule.chat_type else found


def _empty(rule: RetentionRule, now: datetime) -> int:
    """Runs inside `commit`. Entries of one session after the other; they keep their place."""
    due = _of_kind(rule, now).order_by("created_at").values_list("session_id", "pk", named=False)[:MESSAGES]
    by_session: dict[int, list[int]] = {}
    for session_pk, pk in due:
        by_session.setdefault(session_pk, []).append(pk)
    emptied = 0
    locked = Session.objects.select_for_update(no_key=True).filter(pk__in=by_session).order_by("pk")
    for session in locked:
        emptied += empty_messages(session, by_session[session.pk])
    if emptied:
        note(rule.agent_id, REASON, now, rule=str(rule), messages=emptied)
    return emptied


def _preview_kind(rule: RetentionRule, now: datetime) -> dict[str, Any]:
    told = _of_kind(rule, now).aggregate(
        messages=Count("id"), size=Sum(_WEIGHT), oldest=Min("created_at"), newest=Max("created_at")
    )
    return {
        "sessions": 0,
        "messages": told["messages"],
        "bytes": told["size"] or 0,
        "oldest_at": iso(told["oldest"]),
        "newest_at": iso(told["newest"]),
        "first": [],
    }


def put(caller: Caller, given: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    values = check(given)
    place = {name: values.pop(name) for name in ("platform", "chat_type", "kind")}
    rule, _ = commit(
        lambda: RetentionRule.objects.update_or_create(
            agent_id=caller.agent_id,
            **place,
            defaults=values,
            create_defaults={**values, "created_at": now},
        )
    )
    return shown(rule)


def check(given: Mapping[str, Any]) -> dict[str, Any]:
    if all(given[name] is None for name in ("days", "sessions", "bytes")):
        raise invalid(["body"], "A rule needs days, sessions or bytes.", "missing")
    if given["kind"] and (
        given["days"] is None or given["sessions"] is not None or given["bytes"] is not None
    ):
        raise invalid(["body", "kind"], "Entries of a kind go by days alone.", "value_error")
    return dict(given)


def one(caller: Caller, text: str) -> RetentionRule:
    found = RetentionRule.objects.filter(agent_id=caller.agent_id)
    if text.isascii() and text.isdigit() and len(text) <= 18:
        rule = found.filter(pk=int(text)).first()
        if rule is not None:
            return rule
    raise NotFound("There is no such rule.")


def remove(caller: Caller, text: str) -> None:
    rule = one(caller, text)
    commit(rule.delete)


def listed(caller: Caller, cursor: str | None, limit: int) -> paging.Page:
    found = RetentionRule.objects.filter(agent_id=caller.agent_id)
    if cursor is not None:
        found = found.filter(pk__gt=paging.decode(cursor, paging.seq)[0])
    rows = list(found.order_by("pk")[: limit + 1])
    return paging.page(
        rows, limit, lambda rows: [shown(rule) for rule in rows], lambda rule: paging.encode(rule.pk)
    )


def deletions(caller: Caller, cursor: str | None, limit: int) -> paging.Page:
    found = Deletion.objects.filter(agent_id=caller.agent_id)
    if cursor is not None:
        created_at, place = paging.decode(cursor, paging.moment, paging.seq)
        found = found.filter(Q(created_at__lt=created_at) | Q(created_at=created_at, pk__lt=place))
    return paging.page(
        list(found.order_by("-created_at", "-pk")[: limit + 1]),
        limit,
        lambda rows: [_shown_deletion(row) for row in rows],
        lambda row: paging.encode(iso(row.created_at) or "", row.pk),
    )


def shown(rule: RetentionRule) -> dict[str, Any]:
    return {
        "id": rule.pk,
        "platform": rule.platform or None,
        "chat_type": rule.chat_type or None,
        "kind": rule.kind or None,
        "days": rule.days,
        "sessions": rule.sessions,
        "bytes": rule.bytes,
        "enabled": rule.enabled,
        "created_at": iso(rule.created_at),
    }


def _shown_deletion(row: Deletion) -> dict[str, Any]:
    return {
        "reason": row.reason,
        "rule": row.rule or None,
        "sessions": row.sessions,
        "messages": row.messages,
        "bytes": row.bytes,
        "created_at": iso(row.created_at),
    }
