"""What the web processes count, and the page that adds it up over all of them.

Each process writes to files of its own in METRICS_DIR. A process that is gone must neither leave its files
behind for ever nor take its counts away (a counter that shrinks reads as a restart), so they are added to the
files of "the departed".
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import structlog
from django.conf import settings
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from config import broker
from sessions_app.telemetry import count_appended

__all__ = ["count_appended", "exposition", "observe_request"]

log = structlog.get_logger(__name__)

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_requests = Counter("daybook_http_requests", "Requests answered.", ["method", "route", "status"])
_seconds = Histogram(
    "daybook_http_request_seconds", "Time to answer a request.", ["method", "route"], buckets=_BUCKETS
)
_children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

_DEPARTED = "departed"


def observe_request(method: str, route: str, status: int, seconds: float) -> None:
    """The route is the pattern, never the path: every new value is a new series for ever."""
    key = (method, route, status)
    children = _children.get(key)
    if children is None:
        children = _children[key] = (_requests.labels(method, route, status), _seconds.labels(method, route))
    children[0].inc()
    children[1].observe(seconds)


def exposition() -> bytes:
    registry = CollectorRegistry()
    registry.register(_Background())
    with _alone(settings.METRICS_DIR):
        _gather_departed(settings.METRICS_DIR)
        MultiProcessCollector(registry, path=str(settings.METRICS_DIR))  # type: ignore[no-untyped-call]
        return generate_latest(registry)


class _Background(Collector):
    """Asked for at each scrape, because the broker knows and no process of ours does."""

    def collect(self) -> Iterable[Metric]:
        up = GaugeMetricFamily("daybook_broker_up", "Whether the broker answers.")
        try:
            depths, beat = broker.queue_depths(), broker.last_beat()
        except broker.Unavailable as error:
            log.warning("broker does not answer", error=str(error))
            up.add_metric([], 0)
            return [up]
        up.add_metric([], 1)
        return [up, _queue_depth(depths), *_beat_age(beat)]


def _queue_depth(depths: dict[str, int]) -> Metric:
    family = GaugeMetricFamily("daybook_queue_depth", "Tasks in a queue of the broker.", labels=["queue"])
    for queue, depth in depths.items():
        family.add_metric([queue], depth)
    return family


def _beat_age(beat: datetime | None) -> list[Metric]:
    if beat is None:
        return []
    age = (datetime.now(UTC) - beat).total_seconds()
    return [GaugeMetricFamily("daybook_last_beat_age_seconds", "Time since the scheduler's last beat.", age)]


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _gather_departed(folder: Path) -> None:
    for file in folder.glob("*.db"):
        kind, _, pid = file.stem.rpartition("_")
        if pid.isdigit() and not _is_alive(int(pid)):
            _add_file(file, folder / f"{kind}_{_DEPARTED}.db")


def _add_file(source: Path, target: Path) -> None:
    total = MmapedDict(str(target))  # type: ignore[no-untyped-call]
    for key, value, _, _ in MmapedDict.read_all_values_from_file(str(source)):  # type: ignore[no-untyped-call]
        total.write_value(key, total.read_value(key)[0] + value, 0.0)  # type: ignore[no-untyped-call]
    total.close()  # type: ignore[no-untyped-call]
    source.unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
