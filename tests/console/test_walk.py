"""Every address of the console, typed by somebody who may only look."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.core.management.color import no_style
from django.db import connection
from django.urls import NoReverseMatch, URLPattern, URLResolver, reverse

from gateway_app.models import Delivery, Lease, ResetPolicy
from sessions_app.models import Agent, OperatorJob, Session
from tests.conftest import Api

from .conftest import Member

# Of one's own account, not of anybody's data.
OWN = {"logout", "password_change", "login"}
NOT_COMPARED = {"session", "permission", "contenttype"}
# What forms of the console send, all at once.
TYPED = {
    "action": "erase_selected", "_selected_action": "1", "select_across": "1", "index": "0", "post": "yes",
    "sure": "erase", "do": "erase", "most": "0", "lease": "work", "name": "mine", "_save": "Save",
    "mode": "none", "agent": "1", "content": "overwritten", "version": "1", "enabled": "on",
}  # fmt: skip
CHOICES: dict[str, tuple[Any, ...]] = {
    "action": ("reset", "reopen", "condense", "reflect", "retain", "end-lease", "erase"),
    "form": ("markdown",), "kind": ("error",), "object_id": (1,), "pk": (1,), "app_label": ("sessions_app",),
}  # fmt: skip


def addresses(patterns: list[Any]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from addresses(pattern.url_patterns)
        elif isinstance(pattern, URLPattern) and pattern.name and pattern.name not in OWN:
            yield from reversed_with(pattern)


def reversed_with(pattern: URLPattern) -> Iterator[str]:
    names = list(pattern.pattern.converters) or list(pattern.pattern.regex.groupindex)
    try:
        for value in CHOICES.get(names[-1], (1,)) if names else (None,):
            given = {name: CHOICES.get(name, (1,))[0] for name in names}
            yield reverse(f"admin:{pattern.name}", kwargs={**given, names[-1]: value} if names else {})
    except NoReverseMatch:
        return


def everything() -> dict[str, list[dict[str, Any]]]:
    models = [model for model in apps.get_models() if model._meta.model_name not in NOT_COMPARED]
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in models}


@pytest.fixture
def numbered_from_one(db: None) -> None:
    """The addresses name the first row of each table. On SQLite it has that number after each rollback."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), list(apps.get_models())):
            cursor.execute(statement)


@pytest.fixture
def stored(numbered_from_one: None, api: Api, admin: Api) -> None:
    uid = api.open("k")
    api.append(uid, {"role": "user", "content": "hello"}, {"kind": "error", "error": "x"})
    api.send("PUT", f"/sessions/{uid}/leases/work", {"ttl_seconds": 600})
    admin.send("PUT", "/reset-policies", {"mode": "idle", "idle_minutes": 60})
    admin.send("PUT", "/memory", {"content": "as it was", "version": 0})
    api.post("/reflections")
    agent = Agent.objects.get(name="main")
    Delivery.objects.create(agent=agent, target="local", platform="local", state="dead", content="x")
    OperatorJob.objects.create(action="reset", rows=[1], total=1)


def test_who_only_looks_changes_nothing_by_typing_any_address(member: Member, stored: None) -> None:
    viewer = member("viewer")
    viewer.get("/admin/")
    before = everything()
    assert all((Session.objects.exists(), Lease.objects.exists(), ResetPolicy.objects.exists()))
    found = sorted(set(addresses(site.get_urls())))
    assert len(found) > 100
    for address in found:
        for send in (viewer.post, viewer.put, viewer.delete, viewer.patch):
            answer: Any = send(address, TYPED) if send == viewer.post else send(address)
            assert answer.status_code < 500, address
    after = everything()
    # To read is to be allowed to take along; that is noted.
    said = [row["change_message"] for row in after.pop("admin.LogEntry")]
    assert set(said) == {"Exported as markdown."}
    del before["admin.LogEntry"]
    assert after == before
