"""A person's data: all of it out, all of it gone, and nothing of anybody else."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.utils import timezone

from gateway_app import personal_data, reflection_schedule
from gateway_app.models import Delivery, Identity, Person, PersonErasure
from sessions_app.models import Agent, Message, SearchPage, SearchVector, Session
from sessions_app.search.postings import read_page
from skills_app.models import QueryVector, SkillInvocation
from skills_app.recounting import recount
from tests.conftest import Api, said
from tests.search.corpus import feed, searched
from tests.search.test_semantic import embed

from .test_export import streamed

MARK = "zyzzyva-of-ada"
ALL = """SELECT coalesce(string_agg(row::text, chr(10)), '') FROM "{table}" row"""


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr(personal_data, "send", calls.append)
    return calls


def resolve(api: Api, **source: Any) -> str:
    answer = said(api.post("/resolve", {"source": {"platform": "telegram", **source}}))
    uid: str = answer["session"]["id"]
    return uid


def speak(api: Api, uid: str, text: str, **fields: Any) -> None:
    body = {"role": "user", "content": text, **fields}
    assert api.post(f"/sessions/{uid}/messages", body, Idempotency_Key=text[:200]).status_code == 201


@pytest.fixture
def rooms(api: Api, admin: Api, stranger: Api) -> dict[str, str]:
    """Ada writes directly, in a group with Bob, and by mail; Bob and another agent's Ada must stay."""
    ada = Person.objects.create(agent=Agent.objects.get(name="main"), name=f"Ada {MARK}")
    for platform, user in (("telegram", "42"), ("mail", MARK)):
        Identity.objects.create(agent=ada.agent, person=ada, platform=platform, user_id=user)
    alone = resolve(api, chat_id="42", user_id="42", user_name=MARK)
    speak(api, alone, f"direct {MARK}")
    mail = resolve(api, platform="mail", chat_id="m", chat_type="group", user_id=MARK)
    speak(api, mail, f"mail {MARK}", metadata={"sender": {"id": MARK}})
    group = resolve(api, chat_id="g", chat_type="group", user_id="42", user_name=MARK)
    speak(api, group, f"in the group {MARK}", metadata={"user_id": "42"})
    speak(api, group, "Bob was here", metadata={"user_id": "7"})
    speak(api, group, f"by name {MARK}", name=MARK)
    Session.objects.filter(uid=group).update(summary=f"They spoke of {MARK}", consolidated_through=1)
    theirs = resolve(stranger, chat_id="42", user_id="42", user_name="Other Ada")
    speak(stranger, theirs, "another agent's")
    admin.send("PUT", "/platforms/telegram", {"webhook_url": "https://hooks.example/"})
    assert api.post("/deliveries", {"target": "telegram:42", "content": f"ping {MARK}"}).status_code == 202
    return {"alone": alone, "mail": mail, "group": group, "theirs": theirs}


def erase(admin: Api) -> dict[str, Any]:
    answer = admin.send("DELETE", "/people/telegram/42")
    assert answer.status_code == 202, answer.content
    personal_data.run(PersonErasure.objects.get(finished_at=None).uid, timezone.now())
    shown: dict[str, Any] = said(admin.get(f"/erasures/{said(answer)['id']}"))
    return shown


@pytest.fixture
def worked_on(api: Api, admin: Api, rooms: dict[str, str]) -> dict[str, str]:
    """Everything that is made of what was said: index, vectors, summaries, a successor, reports, skills."""
    api.append(rooms["alone"], {"kind": "error", "error": f"broken for {MARK}"})
    for name in ("alone", "group"):
        uid = rooms[name]
        api.append(
            uid, {"role": "user", "content": "What now?"}, {"role": "assistant", "content": "Nothing."}
        )
        assert api.post(f"/sessions/{uid}/consolidate?wait=true").status_code == 200
        assert api.post("/reflections", {"session_id": uid}).status_code == 201
        query = {"skill_name": "lint", "session_id": uid, "user_query": f"in the group {MARK}"}
        assert api.post("/skills/invocations", query).status_code == 201
    theirs = {"skill_name": "lint", "session_id": rooms["group"], "user_query": "Bob was here"}
    assert api.post("/skills/invocations", theirs).status_code == 201
    for period in ({}, {"since": "24h"}):
        assert api.post("/reflections", period).status_code == 201
    tomorrow = timezone.now() + timedelta(days=1)
    Agent.objects.filter(name="main").update(reflection_target="telegram:7", next_reflection_at=tomorrow)
    assert reflection_schedule.run(lambda: tomorrow) == 1
    assert api.post(f"/sessions/{rooms['group']}/reset").status_code == 201
    feed()
    embed()
    return rooms


def indexed(text: str) -> list[bytes]:
    pages = SearchPage.objects.values_list("data", flat=True)
    found = [term for data in pages for term in read_page(bytes(data)).terms]
    return [term for term in found if text.encode() in term or term == b"g" + text[:3].encode()]


def mentions(text: str) -> list[str]:
    found = []
    for model in apps.get_models(include_auto_created=True):
        names = [field.attname for field in model._meta.concrete_fields]
        rows: Any = model._default_manager.values_list(*names)
        if any(text in str(value) for row in rows for value in row):
            found.append(model._meta.db_table)
    return found


def test_export_has_what_is_theirs_and_nothing_else(admin: Api, rooms: dict[str, str]) -> None:
    lines = [orjson.loads(line) for line in streamed(admin.get("/people/telegram/42/export")).splitlines()]
    assert lines[0]["person"] == [f"mail:{MARK}", "telegram:42"]
    said_by_ada = [line["message"]["content"] for line in lines if "message" in line]
    assert said_by_ada == [f"direct {MARK}", f"mail {MARK}", f"in the group {MARK}", f"by name {MARK}"]
    assert [line["delivery"]["content"] for line in lines if "delivery" in line] == [f"ping {MARK}"]


def test_erased_everywhere_and_only_there(api: Api, admin: Api, rooms: dict[str, str]) -> None:
    shown = erase(admin)
    assert (shown["state"], shown["sessions"], shown["messages"]) == ("done", 1, 4)
    assert mentions(MARK) == []
    assert api.get(f"/sessions/{rooms['alone']}").status_code == 404
    left = Message.objects.filter(session__uid=rooms["group"], hidden_by="").values_list("body", flat=True)
    assert [orjson.loads(body)["content"] for body in left] == ["Bob was here"]
    assert Message.objects.filter(session__uid=rooms["theirs"]).count() == 1
    assert not Person.objects.exists()
    row = PersonErasure.objects.get()
    assert (row.platform, row.user_id) == ("", "")


def test_what_was_made_of_it_is_gone_too(api: Api, admin: Api, worked_on: dict[str, str]) -> None:
    group = Session.objects.get(uid=worked_on["group"])
    holding = {
        "sessions_app_session", "sessions_app_message", "sessions_app_consolidation",
        "sessions_app_reflection", "gateway_app_delivery", "skills_app_skillinvocation",
    }  # fmt: skip
    assert holding <= set(mentions(MARK))
    assert MARK in Session.objects.get(previous=group).carried
    assert {b"wzyzzyva", b"gzyz"} <= set(indexed("zyzzyva"))
    assert SearchVector.objects.filter(session=group).count() == 5
    erase(admin)
    feed()
    embed()
    assert mentions(MARK) == []
    assert indexed("zyzzyva") == []
    said_by_others = Message.objects.filter(session=group, hidden_by="").values_list("pk", flat=True)
    with_vectors = SearchVector.objects.filter(session=group).values_list("message", flat=True)
    assert sorted(with_vectors) == sorted(said_by_others)
    assert [item["content"] for item in searched(api, "Bob")["items"]] == ["Bob was here"]
    kept = SkillInvocation.objects.filter(session=group).values_list("user_query", flat=True)
    assert sorted(kept) == ["", "Bob was here"]
    assert QueryVector.objects.count() == 1
    for agent in Agent.objects.all():
        assert recount(agent.pk) == []
    assert Delivery.objects.count() == 0
    group.refresh_from_db()
    assert (group.summary, group.consolidated_through) == ("", 0)


def test_a_stranger_erases_and_reads_nothing_of_ours(stranger: Api, rooms: dict[str, str]) -> None:
    lines = streamed(stranger.get("/people/mail/" + MARK + "/export")).splitlines()
    assert len(lines) == 1
    stranger.send("DELETE", f"/people/mail/{MARK}")
    personal_data.run(PersonErasure.objects.get().uid, timezone.now())
    assert "sessions_app_message" in mentions(MARK)
    assert Person.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_no_file_of_the_database_holds_it(admin: Api, worked_on: dict[str, str]) -> None:
    assert _holders()
    assert indexed("zyzzyva")
    erase(admin)
    assert _holders() == []
    # The index followed the commit, without a task.
    assert indexed("zyzzyva") == []


def _holders() -> list[str]:
    if connection.vendor == "sqlite":
        return [path.name for path in _files() if MARK.encode() in path.read_bytes()]
    return ["dump"] if MARK in _dump() else []


def _files() -> list[Path]:
    name = Path(connection.settings_dict["NAME"])
    return [*name.parent.glob(f"{name.name}*"), *(path for path in Path(settings.DATA_DIR).rglob("*.md"))]


def _dump() -> str:
    """As pg_dump writes it: every table copied out."""
    told = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(ALL.format(table=table))
            told.append(cursor.fetchone()[0])
    return "\n".join(told)
