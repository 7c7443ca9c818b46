"""Every route of the assembled API, found by walking over it: none is open to whoever has no right to it."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.apps import apps
from django.test import Client

from config.api import api as assembled
from gateway_app.keys import create_key, digest, revoke
from gateway_app.models import ApiKey, PersonErasure
from sessions_app.models import Agent, Consolidation, Import, RetentionRule, Session
from tests.conftest import Api, said

PAST = datetime(2020, 1, 1, tzinfo=UTC)
MARK = "only-ours"


def routes() -> Iterator[tuple[str, str, Any]]:
    for router in assembled._get_bound_routers():
        for path, view in router.path_operations.items():
            for operation in view.operations:
                full = "/" + "/".join(part.strip("/") for part in (router.prefix, path) if part.strip("/"))
                for method in operation.methods:
                    yield method, re.sub(r"{\w+:", "{", full), operation.view_func


ROUTES = [pytest.param(method, path, view, id=f"{method} {path}") for method, path, view in routes()]


@pytest.fixture
def ours(api: Api, admin: Api) -> dict[str, str]:
    """A real object of ours for each parameter that a path can have. A new parameter needs one here."""
    session = api.open(MARK, title=MARK, metadata={"note": MARK})
    api.append(session, {"role": "user", "content": MARK})
    api.send("PUT", f"/sessions/{session}/leases/{MARK}", {"ttl_seconds": 60})
    admin.send("PUT", f"/platforms/{MARK}", {"webhook_url": f"https://{MARK}.example/"})
    policy = said(admin.send("PUT", "/reset-policies", {"platform": MARK, "mode": "none"}))
    agent = Agent.objects.get(name="main")
    delivery = said(api.post("/deliveries", {"target": f"{MARK}:1", "content": MARK}))
    invocation = said(api.post("/skills/invocations", {"skill_name": MARK, "user_query": MARK}))
    admin.send("PUT", "/memory", {"content": MARK, "version": 0})
    reflection = said(api.post("/reflections"))
    consolidation = _consolidation_of(session)
    return {
        "consolidation_id": consolidation,
        "reflection_id": reflection["id"],
        # Every agent counts its own from one: that of another is not found because it has none.
        "version": "1",
        "session_id": session,
        "invocation_id": invocation["id"],
        "message_id": f"{session}.1",
        "name": MARK,
        "platform": MARK,
        "policy_id": str(policy["id"]),
        "delivery_id": delivery["id"],
        "import_id": str(Import.objects.create(agent=agent, format="auto", file_name=MARK, size=1).uid),
        "rule_id": str(RetentionRule.objects.create(agent=agent, platform=MARK, days=1).pk),
        "erasure_id": str(PersonErasure.objects.create(agent=agent, platform=MARK, user_id=MARK).uid),
        "user_id": MARK,
    }


def _consolidation_of(session_id: str) -> str:
    session = Session.objects.get(uid=session_id)
    made = Consolidation.objects.create(
        agent=session.agent, session=session, from_seq=1, through_seq=1, trigger="asked", engine="extractive",
        entries=1, tokens_before=1, tokens_after=1, summary=MARK,
    )  # fmt: skip
    Session.objects.filter(pk=session.pk).update(consolidated_through=1, summary=MARK)
    return str(made.uid)


def address(path: str, ours: dict[str, str]) -> str:
    missing = set(re.findall(r"{(\w+)}", path)) - ours.keys()
    assert not missing, f"the walk has no object of ours for {sorted(missing)} in {path}"
    return path.format(**ours)


def everything() -> dict[str, list[dict[str, Any]]]:
    """All rows but the time a key was last used."""
    tables = [apps.get_app_config(app).get_models() for app in ("sessions_app", "gateway_app", "skills_app")]
    found = {
        model.__name__: list(model._default_manager.order_by("pk").values())
        for some in tables
        for model in some
    }
    for key in found["ApiKey"]:
        del key["last_used_at"]
    return found


def body(method: str) -> dict[str, Any] | None:
    return None if method in ("GET", "DELETE") else {}


@pytest.mark.parametrize(("method", "path", "view"), ROUTES)
def test_a_route_declares_its_scope(method: str, path: str, view: Any) -> None:
    assert getattr(view, "required_scope", None) in ("read", "write", "admin"), (
        f"{method} {path} declares none"
    )
    if method != "GET" and path != "/skills/recommend":
        assert view.required_scope != "read", f"{method} {path} writes"


@pytest.mark.parametrize(("method", "path", "view"), ROUTES)
def test_a_route_is_closed_to_whoever_has_no_key(
    ours: dict[str, str], api: Api, method: str, path: str, view: Any
) -> None:
    _, expired = create_key("expired", "main", ["admin"], expires_at=PAST)
    _, revoked = create_key("revoked", "main", ["admin"])
    revoke(ApiKey.objects.get(digest=digest(revoked)), PAST)
    before = everything()
    for secret in ("", "dbk_wrong", expired, revoked):
        answer = Api(secret, None).send(method, address(path, ours), body(method))
        assert answer.status_code == 401
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert MARK not in answer.content.decode()
    assert everything() == before


@pytest.mark.parametrize(("method", "path", "view"), ROUTES)
def test_a_route_is_closed_to_weaker_keys(
    ours: dict[str, str], *, api: Api, reader: Api, method: str, path: str, view: Any
) -> None:
    weaker = {"read": [], "write": [reader], "admin": [reader, api]}[view.required_scope]
    before = everything()
    for key in weaker:
        answer = key.send(method, address(path, ours), body(method))
        # A body that is checked before the view is reached tells nothing of what is stored.
        assert answer.status_code in ((403,) if method in ("GET", "DELETE") else (403, 422))
        assert MARK not in answer.content.decode()
    assert everything() == before


# Whoever puts a platform names it and makes their own; a test of platforms looks at what that does to ours.
NAMED_BY_THE_CALLER = {
    ("PUT", "/platforms/{platform}"),
    # A person is no object of ours: everybody may ask for theirs of that name, and gets nothing of ours.
    ("GET", "/people/{platform}/{user_id}/export"),
    ("DELETE", "/people/{platform}/{user_id}"),
}
WITH_OBJECTS = [
    route
    for route in ROUTES
    if "{" in str(route.values[1]) and tuple(route.values[:2]) not in NAMED_BY_THE_CALLER
]


@pytest.mark.parametrize(("method", "path", "view"), WITH_OBJECTS)
def test_what_is_ours_does_not_exist_for_a_stranger(
    ours: dict[str, str], stranger: Api, method: str, path: str, view: Any
) -> None:
    bodies: dict[str, Any] = {
        "messages": {"role": "user", "content": "x"},
        "retain": {"max_messages": 1},
        "rewind": {"to_seq": 1},
        "{name}": {"ttl_seconds": 60},
        "complete": {"completed": True},
    }
    before = everything()
    given = None if method in ("GET", "DELETE") else bodies.get(path.rsplit("/", 1)[1], {})
    answer = stranger.send(method, address(path, ours), given)
    assert answer.status_code == 404, answer.content
    assert MARK not in answer.content.decode()
    assert everything() == before


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/api/v1/openapi.json", "/api/v1/docs"])
def test_what_anybody_may_read_tells_nothing_of_agents(ours: dict[str, str], api: Api, path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 200
    text = answer.content.decode()
    for secret in (MARK, ours["session_id"], api.secret, api.secret[:12]):
        assert secret not in text
