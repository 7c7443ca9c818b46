"""The outbox over HTTP."""

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from gateway_app import deliveries_schemas as schemas
from gateway_app import outbox
from sessions_app.access import caller, requires
from sessions_app.documents import answers
from sessions_app.http import answer_once, json_answer, made
from sessions_app.idempotency import Answer
from sessions_app.schemas import Page
from sessions_app.sessions import find, parse_uid

router = Router(tags=["deliveries"])


@router.post("", response=answers({202: schemas.DeliveryOut}))
@requires("write")
def queue_delivery(request: HttpRequest, data: schemas.DeliveryIn) -> HttpResponse:
    """Put a message into the outbox; a place that cannot be reached is refused at once."""
    who, now = caller(request), timezone.now()

    def work() -> Answer:
        session = None if data.session_id is None else find(who, parse_uid(data.session_id))
        delivery = outbox.queue(who, data.target, data.content, session, now)
        body = outbox.one(who, str(delivery.uid))
        return made(body, 202, None if session is None else session.uid)

    return answer_once(request, work, now)


@router.get("", response=answers({200: Page[schemas.DeliveryOut]}))
@requires("read")
def list_deliveries(request: HttpRequest, query: Query[schemas.DeliveryQuery]) -> HttpResponse:
    """Newest first."""
    return json_answer(outbox.listed(caller(request), **query.dict()))


@router.get("/{delivery_id}", response=answers({200: schemas.DeliveryOut}))
@requires("read")
def read_delivery(request: HttpRequest, delivery_id: str) -> HttpResponse:
    """One delivery: its state, its attempts and what went wrong."""
    return json_answer(outbox.one(caller(request), delivery_id))


@router.post("/{delivery_id}/retry", response=answers({200: schemas.DeliveryOut}))
@requires("admin")
def retry_delivery(request: HttpRequest, delivery_id: str) -> HttpResponse:
    """Queue a dead delivery again, with all of its attempts."""
    who, now = caller(request), timezone.now()
    return answer_once(request, lambda: made(outbox.retry_one(who, delivery_id, now), 200), now)
