"""Hours are counted once each, from new rows alone, and the first page shows them."""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.console import charts
from sessions_app import activity
from sessions_app.models import HourlyActivity
from tests.conftest import Api

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
ENTRIES = (
    {"role": "user", "content": "one", "created_at": "2026-05-01T10:10:00Z"},
    {"kind": "error", "error": "two", "created_at": "2026-05-01T10:59:59Z"},
    {"role": "user", "content": "three", "created_at": "2026-05-01T11:00:00Z"},
)


def shown() -> list[tuple[int, int, int]]:
    return [(hour.hour.hour, hour.messages, hour.errors) for hour in activity.hours(LONG_AGO)]


def test_each_entry_is_counted_once_however_often_it_is_looked(api: Api) -> None:
    session = api.open()
    api.append(session, *ENTRIES)
    # Not counted yet, and shown all the same.
    assert shown() == [(10, 1, 1), (11, 1, 0)]
    for _ in range(3):
        activity.run(timezone.now())
        assert shown() == [(10, 1, 1), (11, 1, 0)]
    assert HourlyActivity.objects.count() == 2
    api.append(session, ENTRIES[0])
    activity.run(timezone.now())
    activity.run(timezone.now())
    assert shown() == [(10, 2, 1), (11, 1, 0)]


def test_batches_add_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "BATCH", 2)
    api.append(api.open(), *ENTRIES, *ENTRIES)
    activity.run(timezone.now())
    assert activity.run(timezone.now()) > 0
    monkeypatch.setattr(activity, "TAIL", 0)
    assert shown() == [(10, 2, 2), (11, 2, 0)]


def test_a_missing_worker_is_the_first_thing_on_the_first_page(db: None) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    text = client.get("/admin/").content.decode()
    assert 'role="alert"' in text
    assert text.index("Worker") < text.index("Open sessions")


@pytest.mark.parametrize(
    ("most", "top"), [(0, 4), (3, 4), (5, 5), (11, 20), (199, 200), (401, 500), (999, 1000), (1000, 1000)]
)
def test_an_axis_ends_at_a_round_number(most: float, top: float) -> None:
    assert charts.nice(most) == top


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0"), (950, "950"), (1200, "1.2 k"), (34_000, "34 k"), (5_600_000, "5.6 M")]
)
def test_numbers_are_short(number: float, text: str) -> None:
    assert charts.short(number) == text


def test_a_label_cannot_leave_its_picture() -> None:
    evil = '"><script>alert(1)</script>'
    chart = charts.bars([charts.Bar(evil, 3, 1)], evil)
    assert "<script" not in chart.svg
