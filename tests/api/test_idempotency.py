from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from gateway_app.models import Delivery
from sessions_app.models import IdempotentAnswer, Message, Session
from sessions_app.tasks import forget_idempotent_answers
from tests.conftest import Api, said

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HELLO = {"role": "user", "content": "hello"}


def send(api: Api, path: str, body: Any, key: str = "once") -> Any:
    return api.post(path, body, Idempotency_Key=key)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/sessions", {"key": "new"}, 201),
        ("/sessions/{id}/messages", HELLO, 201),
        ("/sessions/{id}/messages", {"messages": [HELLO, HELLO]}, 201),
        ("/sessions/{id}/usage", {"input_tokens": 5}, 200),
        ("/sessions/{id}/clear", {}, 200),
        ("/sessions/{id}/retain", {"max_messages": 1}, 200),
        ("/sessions/{id}/rewind", {"to_seq": 1}, 200),
        ("/sessions/{id}/fork", {}, 201),
        ("/sessions/{id}/reset", {}, 201),
        ("/sessions/{id}/reopen", {}, 200),
        ("/resolve", {"source": {"platform": "telegram", "chat_id": "1"}}, 201),
        ("/resolve", {"source": {"platform": "telegram", "chat_id": "1"}, "force_new": True}, 201),
        ("/deliveries", {"target": "local", "content": "hello"}, 202),
    ],
)
def test_a_repeat_gets_the_first_answer_and_stores_nothing(
    api: Api, path: str, body: dict[str, Any], status: int
) -> None:
    session = api.open()
    api.append(session, HELLO)
    path = path.format(id=session)
    first = send(api, path, body)
    assert first.status_code == status
    assert "Idempotent-Replayed" not in first.headers
    before = [list(model.objects.order_by("pk").values()) for model in (Session, Message, Delivery)]
    again = send(api, path, body)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["Idempotent-Replayed"] == "true"
    after = [list(model.objects.order_by("pk").values()) for model in (Session, Message, Delivery)]
    assert after == before


def test_the_same_key_with_another_body_is_refused(api: Api) -> None:
    send(api, "/sessions", {"key": "a"})
    answer = send(api, "/sessions", {"key": "b"})
    assert answer.status_code == 422
    assert said(answer)["errors"] == [
        {
            "loc": ["header", "Idempotency-Key"],
            "msg": "This key came with another body before.",
            "type": "idempotency_key_reused",
        }
    ]
    assert Session.objects.count() == 1


def test_the_same_key_elsewhere_is_another_request(api: Api, admin: Api, stranger: Api) -> None:
    session, other = api.open("a"), api.open("b")
    for key, place in ((api, session), (api, other), (admin, session)):
        answer = send(key, f"/sessions/{place}/messages", HELLO)
        assert answer.status_code == 201
        assert "Idempotent-Replayed" not in answer.headers
    assert send(stranger, f"/sessions/{session}/messages", HELLO).status_code == 404
    assert Message.objects.count() == 3


def test_an_operator_who_repeats_it_for_another_agent_is_not_answered_with_the_first(
    make_api: Callable[..., Api],
) -> None:
    make_api("main"), make_api("other")
    operator = make_api(None, "write")
    for agent in ("main", "other"):
        answer = operator.post("/sessions", {"key": "a"}, Idempotency_Key="k", X_Daybook_Agent=agent)
        assert (answer.status_code, said(answer)["agent"]) == (201, agent)


def test_a_refusal_is_not_kept(api: Api) -> None:
    assert send(api, "/sessions", {"key": ""}).status_code == 422
    assert not IdempotentAnswer.objects.exists()
    assert send(api, "/sessions", {"key": "a"}).status_code == 201


def test_an_answer_is_forgotten_after_a_day(api: Api) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        session = api.open()
        path = f"/sessions/{session}/messages"
        send(api, path, HELLO)
        clock.shift(timedelta(hours=24))
        assert send(api, path, HELLO).headers["Idempotent-Replayed"] == "true"
        assert forget_idempotent_answers() == 0
        clock.shift(timedelta(seconds=1))
        assert said(send(api, path, HELLO))["items"][0]["seq"] == 2
        clock.shift(timedelta(hours=24, seconds=1))
        assert forget_idempotent_answers() == 1
    assert not IdempotentAnswer.objects.exists()


def test_an_erased_session_takes_its_answers_along(api: Api) -> None:
    session = said(send(api, "/sessions", {"key": "a", "title": "secret"}))["id"]
    api.send("DELETE", f"/sessions/{session}")
    assert not IdempotentAnswer.objects.exists()


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb", "a\x7fb"])
def test_a_key_that_cannot_be_one_is_refused(api: Api, key: str) -> None:
    assert send(api, "/sessions", {"key": "a"}, key).status_code == 422
    assert not Session.objects.exists()
