"""Who asks, and what a route lets them do. Who they are is found out above, by the gateway."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import wraps
from typing import Any, NamedTuple, Protocol, TypeVar
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils.timezone import now

from sessions_app.problems import Forbidden

SCOPES = ("read", "write", "admin")
View = TypeVar("View", bound=Callable[..., Any])


class Resets(Protocol):
    """What the gateway knows of the end of a session, at the time of the request."""

    def next_at(self, session: Mapping[str, Any]) -> datetime | None:
        """When a policy ends it if nothing more is done in it; never, where it has ended already."""

    def blocked_by(self, sessions: Sequence[int]) -> Mapping[int, list[str]]:
        """The names of the live leases of those sessions that have any."""


class NoResets:
    def next_at(self, session: Mapping[str, Any]) -> datetime | None:
        return None

    def blocked_by(self, sessions: Sequence[int]) -> Mapping[int, list[str]]:
        return {}


class Proof(NamedTuple):
    """That what is remembered of a caller still holds: a condition for the statement that acts on it."""

    condition: str
    parameters: tuple[Any, ...]


class Outdated(Exception):
    """A statement with a proof found nothing: perhaps only because the caller has changed since."""


@dataclass(frozen=True, slots=True)
class Caller:
    """One API key, acting for one agent. Every read and write starts from `agent_id`.

    With a `proof` the caller was remembered and not looked up: only what passes the proof on may act for it.
    """

    key_id: int
    agent_id: int
    agent: str
    timezone: str
    scopes: frozenset[str]
    resets: Resets = field(default_factory=NoResets)
    proof: Proof | None = None
    # What its agent makes unreadable, and where, as it is stored; `redaction.py` reads it.
    redaction: str = ""
    # When the request came: what is stored and what is worked out of it rest on one look at the clock.
    asked_at: datetime = field(default_factory=now)

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)


def implied(scopes: list[str]) -> frozenset[str]:
    """admin implies write, write implies read."""
    highest = max((SCOPES.index(scope) for scope in scopes), default=-1)
    return frozenset(SCOPES[: highest + 1])


def requires(scope: str) -> Callable[[View], View]:
    """Declare what a route needs; a test demands such a declaration of every route."""

    def declare(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            check(caller(request), scope)
            return view(request, *args, **kwargs)

        checked.__dict__["required_scope"] = scope
        return checked  # type: ignore[return-value]

    return declare


def check(caller: Caller, scope: str) -> None:
    if scope not in caller.scopes:
        raise Forbidden(
            f"This needs the scope {scope}; the key has {', '.join(sorted(caller.scopes)) or 'none'}."
        )


def caller(request: HttpRequest) -> Caller:
    found = getattr(request, "auth", None)
    if not isinstance(found, Caller):
        raise Forbidden("No API key was checked for this request.")
    return found
