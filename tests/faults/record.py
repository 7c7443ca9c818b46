"""What must hold of the record whatever happened: asked of the rows, not of the code that wrote them."""

from collections import Counter

from sessions_app.models import Message, Session


def assert_consistent(session_id: str) -> Session:
    """Seqs are 1, 2, 3 …, and every counter is the number of rows that it counts."""
    session = Session.objects.get(uid=session_id)
    rows = list(Message.objects.filter(session=session).order_by("seq"))
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    kinds = Counter(row.kind for row in rows)
    assert session.last_seq == len(rows)
    assert session.messages_count == kinds["message"]
    assert session.tool_calls_count == kinds["tool_call"]
    assert session.errors_count == kinds["error"]
    assert session.decisions_count == kinds["decision"]
    assert session.first_at == min((row.created_at for row in rows), default=None)
    assert session.last_at == max((row.created_at for row in rows), default=None)
    user_times = [row.created_at for row in rows if row.role == "user"]
    assert session.active_at == max(user_times, default=None)
    assert {row.agent_id for row in rows} <= {session.agent_id}
    return session
