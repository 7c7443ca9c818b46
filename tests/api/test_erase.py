"""DELETE erases: nothing of the session is left in any table."""

from typing import Any

from django.apps import apps

from tests.conftest import Api, said

MARKER = "zyzzyva-in-the-cellar"


def mentions(text: str) -> list[str]:
    """The tables that hold the text in any column."""
    found = []
    for model in apps.get_models(include_auto_created=True):
        names = [field.attname for field in model._meta.concrete_fields]
        rows: Any = model._default_manager.values_list(*names)
        if any(text in str(value) for row in rows for value in row):
            found.append(model._meta.db_table)
    return found


def fill(api: Api, key: str) -> str:
    session = api.open(key, title=f"t {MARKER}", metadata={MARKER: MARKER})
    path = f"/sessions/{session}"
    for n, body in enumerate(
        (
            {"role": "user", "content": MARKER, "metadata": {"m": MARKER}},
            {"messages": [{"kind": "tool_call", "tool": MARKER, "result": MARKER}]},
        )
    ):
        response = api.post(f"{path}/messages", body, Idempotency_Key=f"{key}-{n}")
        assert response.status_code == 201, response.content
    assert api.post("/sessions", {"key": key}, Idempotency_Key=f"open-{key}").status_code == 200
    assert api.post(f"{path}/usage", {"input_tokens": 1}, Idempotency_Key=f"use-{key}").status_code == 200
    return session


def test_after_delete_no_row_mentions_the_session(api: Api) -> None:
    session = fill(api, f"k {MARKER}")
    assert {"sessions_app_session", "sessions_app_message", "sessions_app_idempotentanswer"} <= set(
        mentions(MARKER)
    )
    response = api.send("DELETE", f"/sessions/{session}")
    assert (response.status_code, response.content) == (204, b"")
    assert mentions(MARKER) == []
    assert mentions(session) == []
    for path in ("", "/messages", "/summary", "/history"):
        assert api.get(f"/sessions/{session}{path}").status_code == 404
    assert api.get(f"/messages/{session}.1").status_code == 404
    assert api.send("DELETE", f"/sessions/{session}").status_code == 404


def test_other_sessions_are_untouched_by_an_erase(api: Api, stranger: Api) -> None:
    gone, stays, theirs = fill(api, "gone"), fill(api, "stays"), fill(stranger, "gone")

    def read() -> list[Any]:
        return [
            said(who.get(path))
            for who, session in ((api, stays), (stranger, theirs))
            for path in (f"/sessions/{session}", f"/sessions/{session}/messages")
        ]

    before = read()
    assert api.send("DELETE", f"/sessions/{gone}").status_code == 204
    assert read() == before
    again = api.post(
        f"/sessions/{stays}/messages",
        {"role": "user", "content": MARKER, "metadata": {"m": MARKER}},
        Idempotency_Key="stays-0",
    )
    assert again.headers["Idempotent-Replayed"] == "true"


def test_a_key_is_free_again_and_a_repeat_is_new_work_after_an_erase(api: Api) -> None:
    session = said(api.post("/sessions", {"key": "k"}, Idempotency_Key="once"))["id"]
    assert api.send("DELETE", f"/sessions/{session}").status_code == 204
    response = api.post("/sessions", {"key": "k"}, Idempotency_Key="once")
    assert response.status_code == 201
    assert "Idempotent-Replayed" not in response.headers
    assert said(response)["id"] != session


def test_what_came_from_an_erased_session_lives_on(api: Api) -> None:
    session = api.open("parent")
    api.append(session, {"role": "user", "content": "hi"})
    child = said(api.post(f"/sessions/{session}/fork", {"key": "child"}))["id"]
    assert api.send("DELETE", f"/sessions/{session}").status_code == 204
    read = said(api.get(f"/sessions/{child}"))
    assert (read["forked_from_id"], read["counts"]["entries"]) == (None, 1)
