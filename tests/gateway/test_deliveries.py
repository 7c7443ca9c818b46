"""The outbox over HTTP: what is refused at once, what is listed, what a dead one can become."""

from typing import Any
from unittest.mock import ANY

import pytest

from gateway_app import outbox
from gateway_app.models import Delivery, DeliveryState
from tests.conftest import Api, said

from .conftest import Clock, Resolve
from .outgoing import connect, queue, read, round_of_deliveries
from .receiver import Receiver, answer

URL = "https://hooks.example.org/in"


def test_a_delivery_is_accepted_as_a_row_that_tells_everything(clock: Clock, api: Api) -> None:
    connect("telegram", URL)
    response = api.post("/deliveries", {"target": "Telegram:AbC:7", "content": "Hello"})
    assert response.status_code == 202
    assert said(response) == {
        "id": ANY,
        "target": "Telegram:AbC:7",
        "platform": "telegram",
        "chat_id": "AbC",
        "thread_id": "7",
        "session_id": None,
        "state": "queued",
        "attempts": 0,
        "last_error": None,
        "next_attempt_at": "2026-05-01T12:00:00+00:00",
        "created_at": "2026-05-01T12:00:00+00:00",
        "delivered_at": None,
    }
    assert read(api, said(response)["id"]) == said(response)


@pytest.mark.parametrize(
    ("target", "place"),
    [
        ("telegram", ("telegram", "home", "5")),
        ("TELEGRAM", ("telegram", "home", "5")),
        ("telegram:9", ("telegram", "9", None)),
        ("local", ("local", None, None)),
        ("origin", ("telegram", "42", None)),
        ("Origin", ("telegram", "42", None)),
    ],
)
def test_a_target_becomes_a_chat(api: Api, resolve: Resolve, target: str, place: tuple[Any, ...]) -> None:
    connect("telegram", URL, home_chat_id="home", home_thread_id="5")
    session = resolve()["session"]["id"]
    shown = read(api, queue(api, target, session_id=session))
    assert (shown["platform"], shown["chat_id"], shown["thread_id"]) == place
    assert shown["session_id"] == session


def test_a_reply_to_a_thread_goes_to_the_thread(api: Api, resolve: Resolve) -> None:
    connect("telegram", URL, home_chat_id="home")
    session = resolve(chat_type="thread", chat_id="room", thread_id="t1")["session"]["id"]
    shown = read(api, queue(api, "origin", session_id=session))
    assert (shown["chat_id"], shown["thread_id"]) == ("room", "t1")


def test_a_session_without_a_source_has_its_origin_at_this_machine(api: Api) -> None:
    session = api.open("a key of its own")
    assert read(api, queue(api, "origin", session_id=session))["platform"] == "local"


@pytest.mark.parametrize(
    ("body", "loc", "told"),
    [
        ({"target": "slack:1"}, "target", "The platform slack is not connected."),
        ({"target": "off:1"}, "target", "The platform off is not connected."),
        ({"target": "mute:1"}, "target", "The platform mute is not connected."),
        ({"target": "telegram"}, "target", "The platform telegram has no home channel; name a chat."),
        ({"target": "origin"}, "target", "The target origin needs a session_id."),
        ({"target": "local:x"}, "target", "local stands alone, without a chat id."),
        ({"target": "telegram:1", "content": " \n"}, "content", "There is nothing to deliver."),
        (
            {"target": "telegram:1", "content": "é" * 524_289},
            "content",
            "It may be at most 1048576 bytes.",
        ),
    ],
)
def test_what_cannot_arrive_is_refused_while_somebody_listens(
    api: Api, body: dict[str, str], loc: str, told: str
) -> None:
    connect("telegram", URL)
    connect("off", URL, enabled=False)
    connect("mute", "")
    response = api.post("/deliveries", {"content": "Hello", **body})
    assert response.status_code == 422
    [error] = said(response)["errors"]
    assert (error["loc"], error["msg"]) == (["body", loc], told)
    assert not Delivery.objects.exists()


def test_an_origin_that_is_not_connected_is_not_sent_elsewhere(api: Api, resolve: Resolve) -> None:
    connect("slack", URL, home_chat_id="home")
    session = resolve()["session"]["id"]
    response = api.post("/deliveries", {"target": "origin", "content": "x", "session_id": session})
    assert said(response)["errors"][0]["msg"] == "The platform telegram is not connected."


def test_another_agents_connection_and_session_do_not_exist(api: Api, stranger: Api) -> None:
    connect("telegram", URL, home_chat_id="home")
    assert stranger.post("/deliveries", {"target": "telegram", "content": "x"}).status_code == 422
    body = {"target": "local", "content": "x", "session_id": api.open()}
    assert stranger.post("/deliveries", body).status_code == 404


def test_a_delivery_is_no_activity_of_the_user(clock: Clock, api: Api) -> None:
    session = api.open()
    before = said(api.get(f"/sessions/{session}"))
    clock.move(hours=1)
    queue(api, "local", session_id=session)
    assert said(api.get(f"/sessions/{session}")) == before


def test_they_are_listed_newest_first_page_by_page(clock: Clock, api: Api, stranger: Api) -> None:
    made = []
    for number in range(5):
        made.append(queue(api, "local", f"{number}"))
        if number % 2:
            clock.move(seconds=1)
    queue(stranger, "local")
    found, cursor = [], ""
    while True:
        page = said(api.get(f"/deliveries?limit=2{cursor}"))
        found += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert sorted(found) == sorted(made)
    times = [read(api, delivery_id)["created_at"] for delivery_id in found]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("cursor", ["x", "WzFd", "WyIyMDI2LTA1LTAxVDEyOjAwOjAwWiIsNV0", "W10"])
def test_a_cursor_that_was_not_given_out_is_refused(api: Api, cursor: str) -> None:
    assert api.get(f"/deliveries?cursor={cursor}").status_code == 422


def test_the_list_can_be_narrowed(api: Api) -> None:
    connect("telegram", URL)
    session = api.open()
    sent, filed = queue(api, "telegram:1"), queue(api, "local", session_id=session)
    Delivery.objects.filter(uid=sent).update(state=DeliveryState.DEAD, next_attempt_at=None)

    def ids(query: str) -> list[str]:
        return [item["id"] for item in said(api.get(f"/deliveries?{query}"))["items"]]

    assert ids("state=dead") == ids("platform=telegram") == [sent]
    assert ids("state=queued") == ids("platform=local") == ids(f"session={session}") == [filed]
    assert api.get("/deliveries?state=lost").status_code == 422
    assert api.get("/deliveries?session=nobody").status_code == 404


@pytest.mark.parametrize("delivery_id", ["x", "0190b5a4-0000-7000-8000-000000000000", "%00"])
def test_one_that_is_not_there_is_not_found(api: Api, delivery_id: str) -> None:
    assert api.get(f"/deliveries/{delivery_id}").status_code == 404


def test_a_dead_one_is_sent_again_on_request(clock: Clock, api: Api, admin: Api, receiver: Receiver) -> None:
    connect("telegram", receiver.url)
    delivery_id = queue(api, "telegram:1")
    receiver.will(answer(404))
    round_of_deliveries()
    assert read(api, delivery_id)["state"] == "dead"
    clock.move(hours=1)

    assert api.post(f"/deliveries/{delivery_id}/retry").status_code == 403
    response = admin.post(f"/deliveries/{delivery_id}/retry")
    assert response.status_code == 200
    shown = said(response)
    assert (shown["state"], shown["attempts"], shown["last_error"]) == (
        "queued",
        0,
        "The webhook answered 404.",
    )

    assert round_of_deliveries() == 1
    shown = read(api, delivery_id)
    assert (shown["state"], shown["attempts"], shown["last_error"]) == ("delivered", 1, None)
    assert [request.headers["webhook-id"] for request in receiver.requests] == [delivery_id] * 2


def test_only_a_dead_one_is_sent_again(admin: Api) -> None:
    delivery_id = queue(admin, "local")
    response = admin.post(f"/deliveries/{delivery_id}/retry")
    assert response.status_code == 409
    assert said(response)["detail"] == "Only a dead delivery is sent again; this one is queued."


def test_what_an_operator_gives_up_is_dead_and_is_not_sent(clock: Clock, api: Api) -> None:
    delivery_id = queue(api, "local")
    assert outbox.give_up(Delivery.objects.all()) == 1
    assert round_of_deliveries() == 0
    shown = read(api, delivery_id)
    assert (shown["state"], shown["last_error"], shown["next_attempt_at"]) == (
        "dead",
        "An operator gave it up.",
        None,
    )
    assert outbox.give_up(Delivery.objects.all()) == 0


def test_the_deliveries_of_an_erased_session_are_erased(api: Api) -> None:
    session = api.open()
    delivery_id = queue(api, "local", session_id=session)
    assert api.send("DELETE", f"/sessions/{session}").status_code == 204
    assert api.get(f"/deliveries/{delivery_id}").status_code == 404


def test_a_repeated_request_queues_once(api: Api) -> None:
    body = {"target": "local", "content": "x", "session_id": api.open()}
    first, again = (api.post("/deliveries", body, Idempotency_Key="once") for _ in range(2))
    assert (again.status_code, again.content) == (202, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Delivery.objects.count() == 1


def test_a_repeated_retry_queues_once(clock: Clock, admin: Api) -> None:
    delivery_id = queue(admin, "local")
    outbox.give_up(Delivery.objects.all())
    first = admin.post(f"/deliveries/{delivery_id}/retry", Idempotency_Key="once")
    round_of_deliveries()
    again = admin.post(f"/deliveries/{delivery_id}/retry", Idempotency_Key="once")
    assert (again.status_code, again.content) == (200, first.content)
    assert read(admin, delivery_id)["state"] == "delivered"
