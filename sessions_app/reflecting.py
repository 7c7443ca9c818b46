"""The report's figures: one pass over entries, newest first. Pure, and small however many there are."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from sessions_app.error_shapes import essence, looks_failed, shape
from sessions_app.hedging import hedge
from sessions_app.topics import leading, words

LOW = 0.5
SHOWN = 5
CHARACTERS = 120
MENTIONS = 3
REPEATS = 2
SLOW_SECONDS = 10.0
# Ids that a finding names: enough to look at, however often it came.
LINKS = 10
# Words that are counted at once. Beyond it those that came once make room.
MOST_WORDS = 50_000
MOST_CALLS = 50_000


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One entry of the record, as the report sees it."""

    message_id: str
    session_id: str
    kind: str
    role: str
    created_at: datetime
    text: str = ""
    confidence: float | None = None
    tool: str = ""
    result: Any = None
    seconds: float | None = None
    # Ids and tools of the calls that an assistant made; the call that a result answers.
    calls: tuple[tuple[str, str], ...] = ()
    answers: str = ""
    recalled: bool = False


@dataclass(slots=True)
class ToolUse:
    calls: int = 0
    failures: int = 0
    timed: int = 0
    total_seconds: float = 0.0
    slowest_seconds: float = 0.0
    failed_ids: list[str] = field(default_factory=list)
    slow_ids: list[str] = field(default_factory=list)

    def shown(self, tool: str) -> dict[str, Any]:
        average = round(self.total_seconds / self.timed, 3) if self.timed else None
        return {
            "tool": tool,
            "calls": self.calls,
            "failures": self.failures,
            "average_seconds": average,
            "slowest_seconds": round(self.slowest_seconds, 3) if self.timed else None,
            "failed_message_ids": self.failed_ids,
            "slow_message_ids": self.slow_ids,
        }


@dataclass(slots=True)
class _Shape:
    count: int = 0
    example: str = ""
    message_ids: list[str] = field(default_factory=list)


class Figures:
    """Gathers what the report says."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.sessions: set[str] = set()
        self.by_day: dict[str, Counter[str]] = defaultdict(Counter)
        self.first: datetime | None = None
        self.last: datetime | None = None
        self.low: list[dict[str, Any]] = []
        self.hedged: list[dict[str, Any]] = []
        self.errors: list[dict[str, Any]] = []
        self._shapes: dict[str, _Shape] = {}
        self._topics: Counter[str] = Counter()
        self._topic_ids: dict[str, list[str]] = {}
        self._tools: dict[str, ToolUse] = defaultdict(ToolUse)
        # Newest first: a result is met before its call.
        self._results: dict[tuple[str, str], Reviewed] = {}
        self._results_order: deque[tuple[str, str]] = deque()

    def add(self, entry: Reviewed) -> None:
        self.counts["entries"] += 1
        self.sessions.add(entry.session_id)
        self.by_day[entry.created_at.date().isoformat()]["entries"] += 1
        self.last = self.last or entry.created_at
        self.first = entry.created_at
        if entry.kind == "message":
            self._message(entry)
        elif entry.kind == "error":
            self._error(entry)
        elif entry.kind == "tool_call":
            self.counts["tool_calls"] += 1
            self._used(entry.tool, entry, entry.seconds)
        else:
            self.counts["decisions"] += 1

    def shapes(self) -> list[dict[str, Any]]:
        found = sorted(self._shapes.items(), key=lambda item: (-item[1].count, item[0]))
        return [{"shape": name, **asdict(one)} for name, one in found if one.count >= REPEATS][:SHOWN]

    def topics(self) -> list[dict[str, Any]]:
        return [
            {"word": word, "mentions": count, "message_ids": self._topic_ids[word]}
            for word, count in leading(self._topics, MENTIONS, SHOWN)
        ]

    def tools(self) -> list[dict[str, Any]]:
        found = sorted(self._tools.items(), key=lambda item: (-item[1].failures, -item[1].calls, item[0]))
        return [use.shown(tool) for tool, use in found[:20]]

    def _message(self, entry: Reviewed) -> None:
        self.counts["messages"] += 1
        if entry.role == "user":
            self.counts["user_messages"] += 1
            if not entry.recalled:
                self._count_words(entry)
        elif entry.role == "assistant":
            self.counts["responses"] += 1
            self._response(entry)
        elif entry.role == "tool":
            self._keep_result(entry)

    def _response(self, entry: Reviewed) -> None:
        for call_id, tool in entry.calls:
            self._called(call_id, tool, entry)
        if entry.confidence is not None:
            if entry.confidence < LOW:
                self._note("low_confidence", self.low, entry, confidence=entry.confidence)
        elif not entry.recalled and (phrase := hedge(entry.text)) is not None:
            self._note("hedged", self.hedged, entry, phrase=phrase)

    def _error(self, entry: Reviewed) -> None:
        self.by_day[entry.created_at.date().isoformat()]["errors"] += 1
        self._note("errors", self.errors, entry)
        found = self._shapes.setdefault(shape(entry.text), _Shape())
        found.count += 1
        found.example = found.example or _cut(essence(entry.text))
        _link(found.message_ids, entry)

    def _note(self, name: str, into: list[dict[str, Any]], entry: Reviewed, **more: Any) -> None:
        """All are counted, the newest are shown."""
        self.counts[name] += 1
        if len(into) < SHOWN:
            into.append(
                {
                    "message_id": entry.message_id,
                    "session_id": entry.session_id,
                    "created_at": entry.created_at.isoformat(),
                    "text": _cut(entry.text),
                    **more,
                }
            )

    def _count_words(self, entry: Reviewed) -> None:
        for word, times in Counter(words(entry.text)).items():
            self._topics[word] += times
            _link(self._topic_ids.setdefault(word, []), entry)
        if len(self._topics) > MOST_WORDS:
            for word in [word for word, count in self._topics.items() if count == 1]:
                del self._topics[word], self._topic_ids[word]

    def _keep_result(self, entry: Reviewed) -> None:
        key = (entry.session_id, entry.answers)
        self._results[key] = entry
        self._results_order.append(key)
        if len(self._results_order) > MOST_CALLS:
            self._results.pop(self._results_order.popleft(), None)

    def _called(self, call_id: str, tool: str, entry: Reviewed) -> None:
        self.counts["tool_calls"] += 1
        result = self._results.pop((entry.session_id, call_id), None)
        if result is None:
            self._tools[tool].calls += 1
            return
        seconds = result.seconds
        if seconds is None:
            seconds = max(0.0, (result.created_at - entry.created_at).total_seconds())
        self._used(tool, result, seconds)

    def _used(self, tool: str, entry: Reviewed, seconds: float | None) -> None:
        use = self._tools[tool]
        use.calls += 1
        if looks_failed(entry.result):
            use.failures += 1
            self.counts["tool_failures"] += 1
            _link(use.failed_ids, entry)
        if seconds is not None:
            use.timed += 1
            use.total_seconds += seconds
            use.slowest_seconds = max(use.slowest_seconds, seconds)
            if seconds >= SLOW_SECONDS:
                _link(use.slow_ids, entry)


def gathered(entries: Iterable[Reviewed]) -> Figures:
    figures = Figures()
    for entry in entries:
        figures.add(entry)
    return figures


def _cut(text: str) -> str:
    """On one line: a finding is a line of the report, whatever it tells of."""
    return " ".join(text[: CHARACTERS * 4].split())[:CHARACTERS]


def _link(ids: list[str], entry: Reviewed) -> None:
    if len(ids) < LINKS and (not ids or ids[-1] != entry.message_id):
        ids.append(entry.message_id)
