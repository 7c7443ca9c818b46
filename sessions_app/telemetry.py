"""What the sessions count for /metrics."""

from prometheus_client import Counter

_appended = Counter("daybook_messages_appended", "Messages stored, by kind.", ["kind"])
_by_kind: dict[str, Counter] = {}


def count_appended(kind: str, n: int = 1) -> None:
    counter = _by_kind.get(kind)
    if counter is None:
        counter = _by_kind[kind] = _appended.labels(kind)
    counter.inc(n)
