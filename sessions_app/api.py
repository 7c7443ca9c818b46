"""Sessions and messages over HTTP: parse, call one function, answer."""

from typing import Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Query, Router

from sessions_app import episodes, history, log, schemas, sessions, trimming
from sessions_app.access import caller, requires
from sessions_app.documents import BATCH_BODY, answers, event_stream
from sessions_app.events import stream
from sessions_app.http import answer_once, json_answer, json_body, made
from sessions_app.idempotency import Answer
from sessions_app.models import Session
from sessions_app.problems import invalid
from sessions_app.recording import announce, append, entries_of
from sessions_app.sessions import find, parse_uid, shown

router = Router(tags=["sessions"])
messages_router = Router(tags=["messages"])


@router.post("", response=answers({201: schemas.OpenedSession, 200: schemas.OpenedSession}))
@requires("write")
def open_session(request: HttpRequest, data: schemas.SessionIn) -> HttpResponse:
    """Get or create the open session of a key."""
    who = caller(request)
    metadata = sessions.merged({}, data.metadata or {})

    def work() -> Answer:
        session, created = episodes.open_for_key(who, data.key, data.title or "", metadata, who.asked_at)
        return made({**shown(session, who), "created": created}, 201 if created else 200, session.uid)

    return answer_once(request, work, who.asked_at)


@router.get("", response=answers({200: schemas.Page[schemas.SessionOut]}))
@requires("read")
def list_sessions(request: HttpRequest, query: Query[schemas.SessionQuery]) -> HttpResponse:
    """Sessions of the agent, last active first."""
    who, filters = caller(request), query.dict()
    return json_answer(sessions.listed(who, is_open=filters.pop("open"), now=who.asked_at, **filters))


@router.get("/{session_id}", response=answers({200: schemas.SessionOut}))
@requires("read")
def read_session(request: HttpRequest, session_id: str) -> HttpResponse:
    """One session: counts, times, and when it will be reset."""
    who = caller(request)
    return json_answer(shown(find(who, parse_uid(session_id)), who))


@router.patch("/{session_id}", response=answers({200: schemas.SessionOut}))
@requires("write")
def change_session(request: HttpRequest, session_id: str, data: schemas.SessionChange) -> HttpResponse:
    """Change the title, or merge into the metadata."""
    who = caller(request)
    changes = data.dict(exclude_unset=True)
    return json_answer(shown(sessions.change(who, parse_uid(session_id), changes, who.asked_at), who))


@router.delete("/{session_id}", response=answers({204: None}))
@requires("write")
def erase_session(request: HttpRequest, session_id: str) -> HttpResponse:
    """Erase the session and all of its record. Nothing else erases."""
    sessions.erase(caller(request), parse_uid(session_id))
    return HttpResponse(status=204)


@router.post("/{session_id}/messages", response=answers({201: schemas.Appended}), openapi_extra=BATCH_BODY)
@requires("write")
def append_messages(request: HttpRequest, session_id: str) -> HttpResponse:
    """Append one message, or a batch that is stored whole or not at all."""
    who = caller(request)
    uid = parse_uid(session_id)
    entries = entries_of(json_body(request), who, who.asked_at)
    response = answer_once(
        request,
        lambda: made(append(who, uid, entries, who.asked_at), 201, uid),
        who.asked_at,
        one_statement=True,
    )
    if "Idempotent-Replayed" not in response.headers:
        announce(session_id, entries)
    return response


@router.get("/{session_id}/messages", response=answers({200: schemas.Page[schemas.MessageOut]}))
@requires("read")
def list_messages(request: HttpRequest, session_id: str, query: Query[schemas.MessageQuery]) -> HttpResponse:
    """Page through the record by seq."""
    filters = query.dict()
    session = find(caller(request), parse_uid(session_id))
    return json_answer(log.listed(session, descending=filters.pop("order") == "desc", **filters))


@router.get("/{session_id}/history", response=answers({200: schemas.WindowOut}))
@requires("read")
def read_window(request: HttpRequest, session_id: str, query: Query[schemas.HistoryQuery]) -> HttpResponse:
    """The newest part of the conversation that fits, in a form that a model provider accepts as it is."""
    return json_answer(history.window(caller(request), parse_uid(session_id), **query.asked()))


@router.post("/{session_id}/usage", response=answers({200: schemas.SessionOut}))
@requires("write")
def add_usage(request: HttpRequest, session_id: str, data: schemas.Usage) -> HttpResponse:
    """Add the tokens and the cost of a model call to the session's totals, and to those of the model."""
    who, uid = caller(request), parse_uid(session_id)

    def work() -> Answer:
        used = {
            "input_tokens": data.input_tokens,
            "output_tokens": data.output_tokens,
            "cost_usd": data.cost_usd or 0.0,
        }
        session = sessions.add_usage(who, uid, used, data.model, who.asked_at)
        return made(shown(session, who), 200, uid)

    return answer_once(request, work, who.asked_at)


@router.get("/{session_id}/summary", response=answers({200: schemas.Summary}))
@requires("read")
def read_summary(request: HttpRequest, session_id: str) -> HttpResponse:
    """Counts and times."""
    return json_answer(sessions.summary(find(caller(request), parse_uid(session_id))))


@router.post("/{session_id}/clear", response=answers({200: schemas.SessionOut}))
@requires("write")
def clear(request: HttpRequest, session_id: str) -> HttpResponse:
    """Empty the window. The record stays."""
    who, uid = caller(request), parse_uid(session_id)
    return _changed(request, lambda: trimming.clear(who, uid, who.asked_at))


@router.post("/{session_id}/retain", response=answers({200: schemas.SessionOut}))
@requires("write")
def retain(request: HttpRequest, session_id: str, data: schemas.Retain) -> HttpResponse:
    """Keep the newest legal suffix of at most so many messages in the window. The record stays."""
    who, uid = caller(request), parse_uid(session_id)
    return _changed(request, lambda: trimming.retain(who, uid, data.max_messages, who.asked_at))


@router.post("/{session_id}/rewind", response=answers({200: schemas.SessionOut}))
@requires("write")
def rewind(request: HttpRequest, session_id: str, data: schemas.Rewind) -> HttpResponse:
    """Hide everything from a user message on. The record stays."""
    who, uid = caller(request), parse_uid(session_id)
    return _changed(request, lambda: trimming.rewind(who, uid, data.to_seq, who.asked_at))


@router.post("/{session_id}/fork", response=answers({201: schemas.SessionOut}))
@requires("write")
def fork(request: HttpRequest, session_id: str, data: schemas.Fork) -> HttpResponse:
    """Copy what is visible before a seq to a new session."""
    who, uid = caller(request), parse_uid(session_id)
    return _changed(request, lambda: trimming.fork(who, uid, data.before_seq, data.key, who.asked_at), 201)


@router.get("/{session_id}/events", response=answers({200: None}), openapi_extra=event_stream())
@requires("read")
def read_events(
    request: HttpRequest, session_id: str, query: Query[schemas.EventQuery]
) -> StreamingHttpResponse:
    """Server-sent events: each message as it lands; with `Last-Event-ID`, all that came after that seq."""
    session = find(caller(request), parse_uid(session_id))
    after = _last_event(request, session)
    events = stream(session, after, include_hidden=query.include_hidden)
    response = StreamingHttpResponse(events, content_type="text/event-stream")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Accel-Buffering"] = "no"
    return response


@messages_router.get("/recent", response=answers({200: schemas.Page[schemas.ListedMessageOut]}))
@requires("read")
def list_recent(request: HttpRequest, query: Query[schemas.RecentQuery]) -> HttpResponse:
    """The newest entries over all sessions of the agent."""
    return json_answer(log.recent(caller(request), **query.dict()))


@messages_router.get("/{message_id}", response=answers({200: schemas.OneMessageOut}))
@requires("read")
def read_message(request: HttpRequest, message_id: str) -> HttpResponse:
    """One entry, whole."""
    return json_answer(log.one(caller(request), message_id))


def _changed(request: HttpRequest, change: Any, status: int = 200) -> HttpResponse:
    who = caller(request)

    def work() -> Answer:
        session: Session = change()
        return made(shown(session, who), status, session.uid)

    return answer_once(request, work, who.asked_at)


def _last_event(request: HttpRequest, session: Session) -> int:
    given = request.headers.get("Last-Event-ID")
    if given is None:
        return session.last_seq
    if not given.isascii() or not given.isdigit() or len(given) > 18:
        raise invalid(["header", "Last-Event-ID"], "It must be the id of an event: a seq.", "int_parsing")
    # Nobody can have seen more than there is; waiting for such a seq would pass over what comes before it.
    return min(int(given), session.last_seq)
