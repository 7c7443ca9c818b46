"""A person's traces outside of their sessions: each is there before, and none after."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.utils import timezone

from config.console.acting import note
from gateway_app import personal_data
from gateway_app.models import Delivery, Identity, Person, PersonErasure, Platform
from sessions_app import memory
from sessions_app.access import Caller
from sessions_app.models import (
    Agent,
    Consolidation,
    Import,
    ImportedSession,
    ImportState,
    MemoryRevision,
    Message,
    Session,
)
from tests.conftest import Api

from .conftest import Import as BringIn
from .conftest import write_lines
from .test_export import streamed
from .test_personal_data import mentions, resolve, speak

ID = "zyzzyva77"
NAME = "Ada Quuxworth"


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr(personal_data, "send", calls.append)
    return calls


def erase(admin: Api) -> None:
    assert admin.send("DELETE", f"/people/telegram/{ID}").status_code == 202
    personal_data.run(PersonErasure.objects.get(finished_at=None).uid, timezone.now())


def test_a_direct_chat_under_a_key_of_its_own_is_theirs(
    api: Api, admin: Api, bring_in: BringIn, tmp_path: Path
) -> None:
    line = {"role": "user", "content": "by nanobot", "timestamp": "2026-05-01T10:00:00"}
    bring_in(write_lines(tmp_path / f"telegram_{ID}.jsonl", line), "nanobot")
    speak(api, api.open(f"telegram:{ID}:sub"), "somebody else's topic")
    speak(api, api.open(f"slack:{ID}"), "on another platform")
    lines = [orjson.loads(line) for line in streamed(admin.get(f"/people/telegram/{ID}/export")).splitlines()]
    assert [line["message"]["content"] for line in lines if "message" in line] == ["by nanobot"]
    erase(admin)
    assert sorted(Session.objects.values_list("key", flat=True)) == [f"slack:{ID}", f"telegram:{ID}:sub"]


def test_nothing_of_a_hermes_room_names_whoever_began_it(
    admin: Api, bring_in: BringIn, tmp_path: Path
) -> None:
    origin = {
        "platform": "telegram",
        "chat_id": "-100",
        "chat_type": "group",
        "user_id": ID,
        "user_name": NAME,
    }
    row = {"id": "s1", "source": "telegram", "user_id": ID, "title": NAME, "origin_json": origin}
    said = {"role": "user", "content": "what anybody said", "timestamp": 1777629600}
    bring_in(write_lines(tmp_path / "all.jsonl", {**row, "messages": [said]}), "hermes")
    assert {"sessions_app_session", "sessions_app_importedsession"} <= set(mentions(ID))
    erase(admin)
    assert mentions(ID) == mentions(NAME) == []
    assert Message.objects.filter(hidden_by="").count() == 1


def test_logs_files_answers_and_home_channels_forget_them(api: Api, admin: Api) -> None:
    alone = resolve(api, chat_id=ID, user_id=ID, user_name=NAME)
    agent = Agent.objects.get(name="main")
    person = Person.objects.create(agent=agent, name=NAME)
    Identity.objects.create(agent=agent, person=person, platform="telegram", user_id=ID)
    note(get_user_model().objects.create(username="op"), Session.objects.get(uid=alone), "looked")
    hook = {"webhook_url": "https://hooks.example/", "home_channel": {"chat_id": ID, "name": NAME}}
    assert admin.send("PUT", "/platforms/telegram", hook).status_code == 200
    Agent.objects.update(reflection_target=f"telegram:{ID}")
    sent = {"target": f"telegram:{ID}", "content": "ping"}
    assert api.post("/deliveries", sent, Idempotency_Key="1").status_code == 202
    name = f"sessions/telegram_{ID}.jsonl"
    Import.objects.create(
        agent=agent, file_name=name, size=1, state=ImportState.DONE, report={"files": [{"file": name}]}
    )
    holding = {
        "django_admin_log", "gateway_app_platform", "gateway_app_identity", "gateway_app_delivery",
        "sessions_app_agent", "sessions_app_idempotentanswer", "sessions_app_import", "sessions_app_session",
    }  # fmt: skip
    assert holding <= set(mentions(ID))
    erase(admin)
    assert mentions(ID) == mentions(NAME) == []
    assert LogEntry.objects.get().object_repr == "[erased]"
    assert Platform.objects.get().webhook_url == "https://hooks.example/"
    assert Import.objects.get().file_name == "[erased].jsonl"


def test_what_a_model_noted_from_their_sessions_goes_from_every_version(
    api: Api, admin: Api, caller: Caller
) -> None:
    now = timezone.now()
    alone, other = resolve(api, chat_id=ID, user_id=ID), resolve(api, chat_id="7", user_id="7")
    memory.write(caller, "By the operator: be kind.", 0, "op", now)
    notes = ((other, "Bob likes tea"), (alone, f"{NAME} lives in Lisbon"), (other, "Bob has a dog"))
    for number, (uid, text) in enumerate(notes, 1):
        made = memory.note(caller.agent_id, [text], [], now)
        session = Session.objects.get(uid=uid)
        Consolidation.objects.create(
            agent_id=caller.agent_id, session=session, memory=made, from_seq=number,
            through_seq=10_000, entries=1, tokens_before=1, tokens_after=1, summary="s", trigger="asked",
            engine="llm",
        )  # fmt: skip
    assert NAME in memory.text_of(caller.agent_id)
    erase(admin)
    assert mentions(NAME) == []
    assert memory.text_of(caller.agent_id) == (
        "By the operator: be kind.\n\n## Learned\n- Bob likes tea\n- Bob has a dog"
    )
    # Who has read the version before cannot write it back.
    assert admin.send("PUT", "/memory", {"content": "old", "version": 4}).status_code == 409
    assert MemoryRevision.objects.count() == 5


def test_deliveries_to_any_spelling_of_an_account_go(api: Api, admin: Api) -> None:
    agent = Agent.objects.get(name="main")
    for chat in ("4917000@s.whatsapp.net", "+4917000", "4917001"):
        Delivery.objects.create(
            agent=agent, target=f"whatsapp:{chat}", platform="whatsapp", chat_id=chat, content="x",
            state="queued", next_attempt_at=timezone.now() + timedelta(hours=1),
        )  # fmt: skip
    admin.send("DELETE", "/people/whatsapp/4917000")
    personal_data.run(PersonErasure.objects.get().uid, timezone.now())
    assert list(Delivery.objects.values_list("chat_id", flat=True)) == ["4917001"]


def test_another_agents_traces_stay(admin: Api, stranger: Api) -> None:
    resolve(stranger, chat_id=ID, user_id=ID)
    stranger.post("/resolve", {"source": {"platform": "telegram", "chat_id": ID}}, Idempotency_Key="1")
    before = mentions(ID)
    erase(admin)
    assert mentions(ID) == before
    assert not ImportedSession.objects.exists()
