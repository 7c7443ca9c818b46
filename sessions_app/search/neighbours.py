"""What stands before and after a message that was found."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q

from sessions_app.access import Caller
from sessions_app.models import Message
from sessions_app.objects import MESSAGE_COLUMNS, message_object, uid_text

AT_ONCE = 100


def neighbours(
    caller: Caller, rows: Sequence[Mapping[str, Any]], context: int, *, include_hidden: bool
) -> dict[int, dict[str, Any]]:
    """By the number of the message: so many messages before it and after it, in their order."""
    if not context:
        return {}
    near: dict[tuple[int, int], dict[str, Any]] = {}
    for start in range(0, len(rows), AT_ONCE):
        for row in _around(caller, rows[start : start + AT_ONCE], context, include_hidden=include_hidden):
            near[row["session_id"], row["seq"]] = row
    return {row["pk"]: _sides(row, near, context) for row in rows}


def _around(
    caller: Caller, rows: Sequence[Mapping[str, Any]], context: int, *, include_hidden: bool
) -> list[dict[str, Any]]:
    which = Q()
    for row in rows:
        which |= Q(session_id=row["session_id"], seq__range=(row["seq"] - context, row["seq"] + context))
    found = Message.objects.filter(which, agent_id=caller.agent_id)
    if not include_hidden:
        found = found.filter(hidden_by="")
    return list(found.values("session_id", *MESSAGE_COLUMNS))


def _sides(
    row: Mapping[str, Any], near: Mapping[tuple[int, int], Mapping[str, Any]], context: int
) -> dict[str, Any]:
    session_id = uid_text(row["session__uid"]) or ""

    def side(seqs: range) -> list[dict[str, Any]]:
        found = (near.get((row["session_id"], seq)) for seq in seqs)
        return [message_object(one, session_id, preview=True) for one in found if one is not None]

    seq = row["seq"]
    return {"before": side(range(seq - context, seq)), "after": side(range(seq + 1, seq + context + 1))}
