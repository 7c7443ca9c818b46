"""API keys: made once and shown once, checked with one indexed look-up."""

import hashlib
import secrets
import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

import orjson
from django.core.exceptions import ValidationError

from gateway_app.models import ApiKey
from gateway_app.reset_outlook import ResetOutlook
from sessions_app.access import SCOPES, Caller, Proof, implied
from sessions_app.commits import commit
from sessions_app.models import Agent
from sessions_app.objects import utc
from sessions_app.problems import NotFound, Unauthorized, invalid
from sessions_app.storage import storage

PREFIX = "dbk_"
SHOWN = 12
NOTE_USE_EVERY = timedelta(minutes=1)


class BadKeyRequest(ValueError):
    """What was asked for cannot be made; the message says why."""


class Found(NamedTuple):
    """What the one look-up brings."""

    id: int
    # None: an operator's key.
    owner: int | None
    agent_id: int | None
    agent: str
    timezone: str
    reset_policies: str
    redaction: str
    scopes: str
    expires_at: datetime | str | None
    revoked_at: datetime | str | None
    last_used_at: datetime | str | None
    # Changes with every change of the key or the agent; empty where nothing is remembered.
    version: str


# By hand because it stands before every request: the ORM takes ten times as long to write it as the database
# to answer. An operator's key has no agent of its own and takes the one that the request names.
LOOK_UP = """
SELECT held.id, held.agent_id, agent.id, agent.name, agent.timezone, agent.reset_policies, agent.redaction,
  CAST(held.scopes AS text), held.expires_at, held.revoked_at, held.last_used_at, {version}
FROM gateway_app_apikey held LEFT JOIN sessions_app_agent agent
  ON agent.id = COALESCE(held.agent_id, (SELECT id FROM sessions_app_agent WHERE name = %s))
WHERE held.digest = %s
"""

UNCHANGED = """EXISTS (
  SELECT FROM gateway_app_apikey held, sessions_app_agent agent
  WHERE held.id = %s AND agent.id = %s AND {version} = %s
)"""
MOST_REMEMBERED = 1024


def create_key(
    name: str, agent_name: str | None, scopes: Sequence[str], *, expires_at: datetime | None = None
) -> tuple[ApiKey, str]:
    """A new key and its secret, which nobody can read again. Without an agent it is an operator's key."""
    if unknown := set(scopes) - set(SCOPES):
        raise BadKeyRequest(f"Unknown scope {min(unknown)!r}; there are {', '.join(SCOPES)}.")
    if not scopes:
        raise BadKeyRequest("A key needs at least one scope.")
    secret = PREFIX + secrets.token_urlsafe(32)
    if wrong := _wrong(ApiKey(name=name), "name"):
        raise BadKeyRequest(f"{name!r} cannot be a key's name: {wrong}")

    def work() -> ApiKey:
        return ApiKey.objects.create(
            name=name,
            agent=None if agent_name is None else agent_named(agent_name),
            prefix=secret[:SHOWN],
            digest=digest(secret),
            scopes=sorted(set(scopes), key=SCOPES.index),
            expires_at=expires_at,
        )

    return commit(work), secret


def agent_named(name: str) -> Agent:
    """The agent of that name, made if there is none."""
    found = Agent.objects.filter(name=name).first()
    if found is not None:
        return found
    if wrong := _wrong(Agent(name=name), "name"):
        raise BadKeyRequest(f"{name!r} cannot be an agent's name: {wrong}")
    return Agent.objects.get_or_create(name=name)[0]


def _wrong(row: ApiKey | Agent, field: str) -> str:
    try:
        row.clean_fields(exclude={other.name for other in row._meta.fields} - {field})
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


def revoke(key: ApiKey, now: datetime) -> None:
    """From the next request on it opens nothing; the first time it was revoked stands."""
    commit(lambda: ApiKey.objects.filter(pk=key.pk, revoked_at__isnull=True).update(revoked_at=now))
    key.refresh_from_db(fields=["revoked_at"])


def digest(secret: str) -> str:
    """The secret is 256 random bits: a plain hash cannot be guessed backwards, and it can be looked up."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def identify(authorization: str, agent_header: str | None, now: datetime) -> Caller:
    """Who sends this request; raises what the sender should be told."""
    key_digest = _digest_in(authorization)
    found = _look_up(key_digest, agent_header)
    caller = _caller(found, agent_header, now)
    if found is not None and found.version:
        _remember(key_digest, agent_header, found)
    return caller


def recall(authorization: str, agent_header: str | None, now: datetime) -> Caller | None:
    """The same without a look-up, by what the last one brought. The statement that then acts for the caller
    checks the proof that nothing has changed since, so that a key is revoked at once everywhere."""
    found = _remembered.get((_digest_in(authorization), agent_header))
    return None if found is None else _caller(found, agent_header, now, _proof(found))


def _digest_in(authorization: str) -> str:
    scheme, _, secret = authorization.partition(" ")
    if scheme.lower() != "bearer" or not secret:
        raise Unauthorized("Send an API key: Authorization: Bearer <key>.")
    return digest(secret.strip())


def _look_up(key_digest: str, agent_header: str | None) -> Found | None:
    # A name with NUL is no agent's, and PostgreSQL would not even be asked for it.
    name = "" if agent_header is None or "\x00" in agent_header else agent_header
    back_end = storage()
    rows = back_end.rows(_with_version(LOOK_UP, back_end.versions("held", "agent")), (name, key_digest))
    return Found._make(rows[0]) if rows else None


def _caller(
    found: Found | None, agent_header: str | None, now: datetime, proof: Proof | None = None
) -> Caller:
    if found is None or found.revoked_at is not None or _expired(found, now):
        raise Unauthorized("The API key is not known, has expired or was revoked.")
    _note_use(found, now)
    agent_id = _agent(found, agent_header)
    resets = ResetOutlook(found.reset_policies, found.timezone, now)
    scopes = _scopes(found.scopes)
    return Caller(
        found.id, agent_id, found.agent, found.timezone, scopes, resets, proof, found.redaction, now
    )


_remembered: dict[tuple[str, str | None], Found] = {}


def _remember(key_digest: str, agent_header: str | None, found: Found) -> None:
    if len(_remembered) >= MOST_REMEMBERED:
        _remembered.clear()
    _remembered[key_digest, agent_header] = found


def _proof(found: Found) -> Proof:
    condition = _with_version(UNCHANGED, storage().versions("held", "agent"))
    return Proof(condition, (found.id, found.agent_id, found.version))


@lru_cache(maxsize=8)
def _with_version(statement: str, version: str) -> str:
    return statement.format(version=version)


@lru_cache(maxsize=256)
def _scopes(stored: str) -> frozenset[str]:
    return implied(orjson.loads(stored))


def _expired(found: Found, now: datetime) -> bool:
    return found.expires_at is not None and utc(found.expires_at) <= now


def _agent(found: Found, header: str | None) -> int:
    if found.owner is None and not header:
        raise invalid(
            ["header", "X-Daybook-Agent"], "An operator's key names the agent it acts for.", "missing"
        )
    if found.agent_id is None or (header is not None and header != found.agent):
        raise NotFound("There is no such agent.")
    return found.agent_id


_noted: dict[int, datetime] = {}
_noting = threading.Lock()


def _note_use(found: Found, now: datetime) -> None:
    """Once a minute at the most, so that reading stays reading."""
    stored = None if found.last_used_at is None else utc(found.last_used_at)
    # A last use in the future is a clock that was set back, and no reason to note nothing until then.
    if any(last is not None and abs(now - last) < NOTE_USE_EVERY for last in (_noted.get(found.id), stored)):
        return
    with _noting:
        _noted[found.id] = now
    commit(lambda: ApiKey.objects.filter(pk=found.id).update(last_used_at=now))
