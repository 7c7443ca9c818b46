"""What a first start needs besides tables: somebody who can log in and a key an agent can use."""

import secrets
from dataclasses import dataclass

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

from gateway_app.keys import create_key
from gateway_app.models import ApiKey

OPERATOR = "operator"
FIRST_AGENT = "main"
FIRST_SCOPES = ["read", "write", "admin"]


@dataclass(frozen=True)
class FirstSecrets:
    """Known once, when they are made: only their hashes are stored."""

    password: str | None
    key: str | None


class NoDatabase(Exception):
    """The message says what was tried and what came of it."""


def migrate() -> int:
    try:
        executor = MigrationExecutor(connection)
    except OperationalError as error:
        raise NoDatabase(f"The database does not answer: {str(error).strip()} (DATABASE_URL)") from None
    missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    if missing:
        call_command("migrate", interactive=False, verbosity=0)
    return missing


def make_first_secrets() -> FirstSecrets:
    return FirstSecrets(password=_first_operator(), key=_first_key())


def _first_operator() -> str | None:
    users = get_user_model().objects
    if users.filter(is_superuser=True).exists():
        return None
    password = secrets.token_urlsafe(12)
    users.create_superuser(username=OPERATOR, password=password)
    return password


def _first_key() -> str | None:
    if ApiKey.objects.exists():
        return None
    _, key = create_key("first key", FIRST_AGENT, FIRST_SCOPES)
    return key


def lines_about(first: FirstSecrets) -> list[str]:
    lines = []
    if first.password:
        lines.append(f"operator    {OPERATOR}, password {first.password}")
    if first.key:
        lines.append(f"API key     {first.key} (agent {FIRST_AGENT}: {', '.join(FIRST_SCOPES)})")
    return [*lines, "These are shown only this once: keep them."] if lines else []
