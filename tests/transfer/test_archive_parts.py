"""What is made of sessions comes back with them: memory, summaries, reports, uses of skills, rules."""

from pathlib import Path
from typing import Any

from django.core.management import call_command

from gateway_app.admin.acting import acting_for
from gateway_app.keys import agent_named
from sessions_app.access import Caller
from sessions_app.models import Consolidation, MemoryRevision, Reflection, RetentionRule, Session
from sessions_app.transcripts.importing import import_path
from skills_app.models import QueryVector, SkillInvocation
from skills_app.recounting import recount
from tests.conftest import Api, said

from .conftest import NOW

HELD: tuple[Any, ...] = (MemoryRevision, Consolidation, Reflection, RetentionRule, SkillInvocation)


def rows(agent: str) -> list[list[dict[str, Any]]]:
    skip = {"id", "agent_id", "session_id", "memory_id"}
    return [
        list(
            model.objects.filter(agent__name=agent)
            .order_by("created_at" if model is not SkillInvocation else "uid", "pk")
            .values(*[field.attname for field in model._meta.concrete_fields if field.attname not in skip])
        )
        for model in HELD
    ]


def fill(api: Api, admin: Api) -> None:
    session = api.open("k")
    for text in ("one", "two"):
        api.append(session, {"role": "user", "content": text}, {"role": "assistant", "content": "ok"})
    assert api.post(f"/sessions/{session}/consolidate?wait=true").status_code == 200
    for body in ({"session_id": session}, {}):
        assert api.post("/reflections", body).status_code == 201
    for version in (0, 1):
        assert admin.send("PUT", "/memory", {"content": f"v{version}", "version": version}).status_code == 200
    made = MemoryRevision.objects.order_by("version").last()
    Consolidation.objects.update(memory=made)
    assert admin.send("PUT", "/retention-rules", {"days": 30, "platform": "telegram"}).status_code == 200
    done = {"skill_name": "lint", "session_id": session, "user_query": "lint it", "workflow_phase": "p"}
    uid = said(api.post("/skills/invocations", done))["id"]
    api.post(f"/skills/invocations/{uid}/complete", {"completed": True, "follow_up_actions": ["push"]})
    assert (
        api.post("/skills/invocations", {"skill_name": "fmt", "user_query": "no session"}).status_code == 201
    )


def test_an_archive_brings_back_what_was_made_of_sessions(
    api: Api, admin: Api, caller: Caller, tmp_path: Path
) -> None:
    fill(api, admin)
    path = tmp_path / "archive.jsonl"
    call_command("export_transcripts", "daybook", str(path), verbosity=0)
    before = rows("main")
    assert [len(found) for found in before] == [2, 1, 2, 1, 2]
    metrics = said(api.get("/skills/metrics"))
    other = acting_for(agent_named("other"), NOW)
    for _ in range(2):
        assert import_path(other, "auto", path, NOW).shown()["skipped"] == 0
        assert [len(found) for found in rows("other")] == [2, 1, 2, 1, 2]
    assert rows("main") == before
    Session.objects.filter(agent__name="other").delete()
    for model in HELD:
        model.objects.filter(agent__name="other").delete()
    SkillInvocation.objects.all().delete()
    for model in (Session, *HELD):
        model.objects.all().delete()
    call_command("recompute_skills", repair=True, verbosity=0)
    for _ in range(2):
        assert import_path(caller, "auto", path, NOW).shown()["skipped"] == 0
        assert rows("main") == before
    assert Consolidation.objects.get().memory == MemoryRevision.objects.get(version=2)
    assert said(api.get("/skills/metrics")) == metrics
    assert recount(caller.agent_id) == []
    assert QueryVector.objects.count() == 2
