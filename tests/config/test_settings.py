"""Settings as a fresh process reads them."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from config.secret import secret_of
from tests.operations.daybook import ROOT, clean_environment

SECRET = "a-long-random-text-that-nobody-may-see"


def ask(data_dir: Path, expression: str = "'started'", **variables: str) -> subprocess.CompletedProcess[str]:
    code = f"from django.conf import settings; settings.DEBUG; print(({expression}))"
    variables = {
        "DAYBOOK_DATA_DIR": str(data_dir),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        **variables,
    }
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=clean_environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )


def refusal(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 1, result.stdout
    *_, last = result.stderr.strip().splitlines()
    return last.removeprefix("django.core.exceptions.ImproperlyConfigured: ")


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (
            {"DAYBOOK_PRODUCTION": "true", "DAYBOOK_ALLOWED_HOSTS": "a.example"},
            "DAYBOOK_SECRET_KEY must be set to a long random text when DAYBOOK_PRODUCTION is true.",
        ),
        (
            {"DAYBOOK_PRODUCTION": "true", "DAYBOOK_SECRET_KEY": SECRET},
            "DAYBOOK_ALLOWED_HOSTS must name the hosts that are served when DAYBOOK_PRODUCTION is true.",
        ),
        (
            {
                "DAYBOOK_PRODUCTION": "true",
                "DAYBOOK_SECRET_KEY": "short",
                "DAYBOOK_ALLOWED_HOSTS": "a.example",
            },
            "DAYBOOK_SECRET_KEY must have at least 32 characters; it has 5.",
        ),
        (
            {"DAYBOOK_EVENT_STREAMS": "60"},
            "DAYBOOK_EVENT_STREAMS must be at least 8 less than DAYBOOK_WEB_THREADS (64), or 0; it is 60.",
        ),
        ({"DAYBOOK_PORT": "80000"}, "DAYBOOK_PORT must be a whole number from 1 to 65535; it is '80000'."),
    ],
)
def test_it_does_not_start_with_settings_that_cannot_be_meant(
    tmp_path: Path, variables: dict[str, str], said: str
) -> None:
    result = ask(tmp_path, **variables)
    assert refusal(result) == said
    assert SECRET not in result.stdout + result.stderr


def command(data_dir: Path, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", name],
        cwd=ROOT,
        env=clean_environment(DAYBOOK_DATA_DIR=str(data_dir), **variables),
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_command_says_what_is_wrong_with_a_setting_and_nothing_else(tmp_path: Path) -> None:
    result = command(tmp_path, "up", DAYBOOK_PORT="x")
    assert result.returncode == 1
    assert result.stderr == (
        "Daybook cannot start: DAYBOOK_PORT must be a whole number from 1 to 65535; it is 'x'.\n"
    )


def test_a_database_that_does_not_answer_is_named_without_a_stack_trace(tmp_path: Path) -> None:
    nowhere = f"sqlite:///{tmp_path}/missing/folder/daybook.sqlite3"
    result = command(tmp_path, "prepare", DATABASE_URL=nowhere)
    assert result.returncode == 1
    assert result.stderr == (
        "CommandError: The database does not answer: unable to open database file (DATABASE_URL)\n"
    )


def test_an_address_with_a_password_is_not_repeated_when_it_is_refused(tmp_path: Path) -> None:
    result = ask(tmp_path, DATABASE_URL=f"postgres://daybook:{SECRET}@host:none/name")
    assert refusal(result) == (
        "DATABASE_URL must be postgres://user:password@host:port/name or sqlite:///path/to/file."
    )
    assert SECRET not in result.stdout + result.stderr


def test_production_starts_with_a_secret_and_hosts_and_logs_json(tmp_path: Path) -> None:
    result = ask(
        tmp_path,
        "settings.ALLOWED_HOSTS, settings.LOG_FORMAT, settings.DEBUG",
        DAYBOOK_PRODUCTION="true",
        DAYBOOK_SECRET_KEY=SECRET,
        DAYBOOK_ALLOWED_HOSTS="daybook.example, .internal",
    )
    assert result.stdout == "(['daybook.example', '.internal'], 'json', False)\n", result.stderr


def test_with_no_variable_set_it_is_sqlite_and_an_embedded_broker_in_the_data_directory(
    tmp_path: Path,
) -> None:
    result = ask(tmp_path, "settings.DATABASE.vendor, settings.DATABASE.name, settings.REDIS_URL")
    assert result.stdout == f"('sqlite', '{tmp_path}/daybook.sqlite3', 'unix://{tmp_path}/broker.sock')\n"


def test_behind_tls_cookies_are_secure_and_the_proxy_is_believed(tmp_path: Path) -> None:
    shown = "settings.SESSION_COOKIE_SECURE, settings.CSRF_COOKIE_SECURE, settings.SECURE_PROXY_SSL_HEADER"
    assert ask(tmp_path, shown).stdout == "(False, False, None)\n"
    assert (
        ask(tmp_path, shown, DAYBOOK_BEHIND_TLS="true").stdout
        == "(True, True, ('HTTP_X_FORWARDED_PROTO', 'https'))\n"
    )


def test_a_data_directory_keeps_one_secret_that_only_its_owner_can_read(tmp_path: Path) -> None:
    first = secret_of(tmp_path)
    assert len(first) >= 64
    assert secret_of(tmp_path) == first
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]
