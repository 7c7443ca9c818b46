"""What /metrics says: counts over all processes, by route and never by path."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import redis
from django.conf import LazySettings, settings
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from config import broker, telemetry
from tests.conftest import Api

COUNT = """
import sys
from prometheus_client import Counter
Counter("daybook_test", "Counted by a process of its own.", ["kind"]).labels("x").inc(float(sys.argv[1]))
"""


def samples(client: Client) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    text = client.get("/metrics").content.decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def count_in_another_process(folder: Path, amount: int) -> None:
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(folder)}
    subprocess.run([sys.executable, "-c", COUNT, str(amount)], env=environment, check=True)


def labels(**given: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(given.items()))


def test_requests_are_counted_by_route_and_never_by_path(api: Api, client: Client) -> None:
    session = api.open()
    before = samples(client)
    api.get(f"/sessions/{session}")
    after = samples(client)
    grown = [
        dict(key[1])
        for key, value in after.items()
        if key[0] == "daybook_http_requests_total" and value == before.get(key, 0) + 1
    ]
    [mine] = [found for found in grown if found["route"].startswith("/api/")]
    assert (mine["method"], mine["status"]) == ("GET", "200")
    assert "session_id" in mine["route"]
    assert session not in str(after)
    timed = ("daybook_http_request_seconds_count", labels(method="GET", route=mine["route"]))
    assert after[timed] == before.get(timed, 0) + 1


def test_an_unknown_address_and_an_unknown_method_make_no_new_series(client: Client) -> None:
    key = ("daybook_http_requests_total", labels(method="(other)", route="(no route)", status="404"))
    before = samples(client).get(key, 0)
    for path in ("/nowhere-1", "/nowhere-2"):
        client.generic("BREW", path)
    after = samples(client)
    assert after[key] == before + 2
    assert "nowhere" not in str(after)


def test_appended_messages_are_counted_by_kind(api: Api, client: Client) -> None:
    session = api.open()
    key = ("daybook_messages_appended_total", labels(kind="message"))
    before = samples(client).get(key, 0)
    said = {"kind": "message", "role": "user", "content": "One."}
    api.append(session, said, said)
    assert samples(client)[key] == before + 2


def test_the_queue_and_the_last_beat_are_asked_of_the_broker(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "queue_depths", lambda: {"daybook": 7, "taken": 2})
    monkeypatch.setattr(broker, "last_beat", lambda: datetime.now(UTC) - timedelta(seconds=3600))
    found = samples(client)
    assert found["daybook_broker_up", ()] == 1
    assert found["daybook_queue_depth", labels(queue="daybook")] == 7
    assert found["daybook_queue_depth", labels(queue="taken")] == 2
    assert 3600 <= found["daybook_last_beat_age_seconds", ()] < 3700


def test_without_a_broker_everything_else_is_still_told(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise redis.ConnectionError("away")

    monkeypatch.setattr(broker, "queue_depths", away)
    client.get("/healthz")
    found = samples(client)
    assert found["daybook_broker_up", ()] == 0
    assert ("daybook_http_requests_total", labels(method="GET", route="/healthz", status="200")) in found
    assert not [name for name, _ in found if name in {"daybook_queue_depth", "daybook_last_beat_age_seconds"}]


def test_processes_that_ended_stay_in_the_sum_and_leave_no_file_each(
    client: Client, settings: LazySettings, tmp_path: Path
) -> None:
    settings.METRICS_DIR = tmp_path
    key = ("daybook_test_total", labels(kind="x"))
    for amount, total in ((2, 2), (3, 5), (4, 9)):
        count_in_another_process(tmp_path, amount)
        assert samples(client)[key] == total
        assert samples(client)[key] == total
    assert [file.name for file in tmp_path.glob("*.db")] == ["counter_departed.db"]


def test_a_process_that_lives_keeps_its_file(client: Client, settings: LazySettings, tmp_path: Path) -> None:
    settings.METRICS_DIR = tmp_path
    count_in_another_process(tmp_path, 2)
    [written] = tmp_path.glob("*.db")
    living = written.rename(tmp_path / f"counter_{os.getpid()}.db")
    assert samples(client)["daybook_test_total", labels(kind="x")] == 2
    assert [file.name for file in tmp_path.glob("*.db")] == [living.name]


def test_the_metrics_library_writes_where_we_read() -> None:
    assert os.environ["PROMETHEUS_MULTIPROC_DIR"] == str(settings.METRICS_DIR)
    telemetry.observe_request("GET", "/healthz", 200, 0.001)
    assert list(settings.METRICS_DIR.glob(f"counter_{os.getpid()}.db"))
