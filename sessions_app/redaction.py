"""Redaction as an agent is set: on export and display by default, in storage and in the window if wanted."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import orjson

from sessions_app.access import Caller
from sessions_app.commits import commit
from sessions_app.entries import Entry, is_plain
from sessions_app.models import Agent
from sessions_app.problems import invalid
from sessions_app.redaction_rules import (
    MOST_PATTERNS,
    BadPattern,
    Rule,
    compiled,
    redacted,
    redacted_value,
    rules,
)
from sessions_app.tokens import estimate_message

PLACES = ("export", "display", "storage", "window")
DEFAULTS: dict[str, Any] = {
    "builtin": True,
    "email": False,
    "phone": False,
    "patterns": [],
    "export": True,
    "display": True,
    "storage": False,
    "window": False,
}


@lru_cache(maxsize=256)
def _rules(stored: str) -> tuple[Rule, ...]:
    found = settings_of(stored)
    return rules(builtin=found["builtin"], email=found["email"], phone=found["phone"], own=found["patterns"])


@lru_cache(maxsize=256)
def _places(stored: str) -> frozenset[str]:
    found = settings_of(stored)
    return frozenset(name for name in PLACES if found[name])


def settings_of(stored: str) -> dict[str, Any]:
    return DEFAULTS | (orjson.loads(stored) if stored else {})


class Redactor:
    """What one agent does not want to be read; `stored` is its setting as it lies in its row."""

    def __init__(self, stored: str) -> None:
        self._rules = _rules(stored)

    def text(self, text: str) -> str:
        return redacted(text, self._rules)

    def value(self, value: Any) -> Any:
        return redacted_value(value, self._rules)


def redactor_for(stored: str, where: str) -> Redactor | None:
    """None where this agent shows things as they are."""
    return Redactor(stored) if where in _places(stored) else None


def displayed(agent: Agent) -> Callable[[str], str]:
    """What operators get to see of a text of this agent."""
    redactor = redactor_for(agent.redaction, "display")
    return str if redactor is None else redactor.text


def of_agent(agent_id: int, where: str) -> Redactor | None:
    """For pages and snippets that know an agent by its number."""
    stored = Agent.objects.values_list("redaction", flat=True).get(pk=agent_id)
    return redactor_for(stored, where)


def for_storage(stored: str, entry: Entry) -> Entry:
    """On the way into the record. Most agents have nothing set, and pay nothing."""
    if not stored or "storage" not in _places(stored):
        return entry
    redactor = Redactor(stored)
    body = redactor.value(orjson.loads(entry.body))
    extra = redactor.value(orjson.loads(entry.extra)) if entry.extra else {}
    is_message = entry.kind == "message"
    return entry._replace(
        body=orjson.dumps(body).decode(),
        extra=orjson.dumps(extra).decode() if extra else None,
        plain=is_message and is_plain(body, extra),
        tokens=estimate_message(body, extra.get("media", ())) if is_message else 0,
    )


def for_window(stored: str, answer: dict[str, Any]) -> dict[str, Any]:
    if not stored or "window" not in _places(stored):
        return answer
    redactor = Redactor(stored)
    read: dict[str, Any] = orjson.loads(orjson.dumps(answer))
    return read | {
        name: redactor.value(read[name]) for name in ("messages", "summary", "system") if name in read
    }


def shown(stored: str) -> dict[str, Any]:
    return settings_of(stored)


def change(caller: Caller, given: Mapping[str, Any]) -> dict[str, Any]:
    """The setting whole: what is left out has its default again."""
    settings = checked(given)
    stored = orjson.dumps(settings).decode()
    commit(lambda: Agent.objects.filter(pk=caller.agent_id).update(redaction=stored))
    return settings


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    settings = DEFAULTS | dict(given)
    if len(settings["patterns"]) > MOST_PATTERNS:
        raise invalid(["body", "patterns"], f"There may be at most {MOST_PATTERNS}.", "too_long")
    for index, own in enumerate(settings["patterns"]):
        try:
            compiled(own["pattern"])
        except BadPattern as error:
            raise invalid(["body", "patterns", index, "pattern"], str(error), "pattern") from None
    return settings
