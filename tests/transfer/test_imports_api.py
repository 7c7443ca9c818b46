"""Uploads: a row, a task, a report."""

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from sessions_app import imports
from sessions_app.models import Import, Message, Session
from tests.conftest import BASE, Api, said

from . import samples
from .conftest import write_lines


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What would go to the broker."""
    calls: list[Any] = []
    monkeypatch.setattr(imports, "send", calls.append)
    return calls


def upload(
    api: Api, raw: bytes, name: str = "telegram_42.jsonl", key: str | None = None, **fields: str
) -> Any:
    headers = {"Authorization": f"Bearer {api.secret}"} | ({"Idempotency-Key": key} if key else {})
    file = {"file": SimpleUploadedFile(name, raw)} if raw else {}
    client = Client(raise_request_exception=False)
    return client.post(f"{BASE}/imports", {**file, **fields}, headers=headers)


@pytest.fixture
def raw(tmp_path: Path) -> bytes:
    return write_lines(tmp_path / "x.jsonl", *samples.NANOBOT).read_bytes()


@pytest.mark.django_db(transaction=True)
def test_an_upload_is_imported_by_a_task_and_tells_how_it_went(
    admin: Api, raw: bytes, sent: list[Any]
) -> None:
    answer = upload(admin, raw)
    assert answer.status_code == 202, answer.content
    row = Import.objects.get()
    assert sent == [row.uid]
    shown = said(admin.get(f"/imports/{row.uid}"))
    assert (shown["state"], shown["size"], shown["report"]) == ("queued", len(raw), None)
    assert imports.run(row.uid, timezone.now())
    shown = said(admin.get(f"/imports/{row.uid}"))
    assert (shown["state"], shown["bytes_read"], shown["error"]) == ("done", len(raw), None)
    assert (shown["report"]["stored"], shown["report"]["files"][0]["format"]) == (4, "nanobot")
    assert Session.objects.get().key == "telegram:42"
    # Done is done, and the file is gone.
    assert not imports.run(row.uid, timezone.now())
    assert not imports.place_of(row).exists()
    assert said(admin.get("/imports"))["items"] == [shown]


def test_a_dry_run_by_upload(admin: Api, raw: bytes) -> None:
    row = Import.objects.get(uid=said(upload(admin, raw, dry_run="true"))["id"])
    imports.run(row.uid, timezone.now())
    assert said(admin.get(f"/imports/{row.uid}"))["report"]["stored"] == 4
    assert not Message.objects.exists()


def test_a_lost_import_is_taken_up_again(admin: Api, raw: bytes, sent: list[Any]) -> None:
    now = timezone.now()
    uid = Import.objects.get(uid=said(upload(admin, raw))["id"]).uid
    Import.objects.update(state="running", held_until=now)
    sent.clear()
    assert imports.resume(now + imports.HOLD) == 1
    assert sent == [uid]
    assert imports.run(uid, now + imports.HOLD)
    assert Import.objects.get().state == "done"


def test_what_no_format_fits_fails_with_a_reason(admin: Api) -> None:
    uid = Import.objects.get(uid=said(upload(admin, b"\x00\x01nothing"))["id"]).uid
    imports.run(uid, timezone.now())
    shown = said(admin.get(f"/imports/{uid}"))
    assert (shown["state"], shown["error"]) == ("failed", "it is neither JSON nor a database")


@pytest.mark.parametrize(
    ("raw", "fields", "status"),
    [
        (b"", {}, 422),
        (b"{}", {"format": "word"}, 422),
        (b"{}", {"dry_run": "perhaps"}, 422),
        (b"{}", {"other": "x"}, 422),
    ],
)
def test_a_wrong_form_is_refused(admin: Api, raw: bytes, fields: dict[str, str], status: int) -> None:
    assert upload(admin, raw, **fields).status_code == status
    assert not Import.objects.exists()


def test_a_file_over_the_limit_is_refused_before_it_is_read(admin: Api, raw: bytes, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 10
    assert upload(admin, raw).status_code == 413
    assert upload(admin, raw * 1000).status_code == 413
    assert admin.post("/imports", {"file": "x"}).status_code == 415


def test_only_an_admin_imports_and_only_its_agent_sees_it(
    api: Api, admin: Api, stranger: Api, raw: bytes
) -> None:
    assert upload(api, raw).status_code == 403
    uid = said(upload(admin, raw))["id"]
    assert stranger.get(f"/imports/{uid}").status_code == 404
    assert said(stranger.get("/imports"))["items"] == []


def test_a_repeated_upload_is_one_import(admin: Api, raw: bytes) -> None:
    first, second = upload(admin, raw, key="k"), upload(admin, raw, key="k")
    assert said(first)["id"] == said(second)["id"]
    assert second.headers["Idempotent-Replayed"] == "true"
    assert upload(admin, raw + b"\n", key="k").status_code == 422
    assert Import.objects.count() == 1
