"""The containers, as far as they can be checked without starting them."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.operations.daybook import ROOT

COMPOSE = (ROOT / "compose.yml").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]
OURS = ["migrate", "web", "worker", "beat"]
SECRETS = {"DAYBOOK_SECRET_KEY", "POSTGRES_PASSWORD"}
# Read by compose itself or by an image that is not ours.
OF_COMPOSE = {"DAYBOOK_PUBLISH", "POSTGRES_PASSWORD"}


def known_settings() -> set[str]:
    return set(
        re.findall(
            r'"((?:DAYBOOK_|DATABASE_URL|REDIS_URL)[A-Z_]*)"', (ROOT / "config/settings.py").read_text()
        )
    )


def test_it_runs_six_services() -> None:
    assert sorted(SERVICES) == ["beat", "migrate", "postgres", "redis", "web", "worker"]


def test_secrets_and_hosts_must_be_given_and_have_no_default() -> None:
    asked = dict(re.findall(r"\$\{(\w+)(:[?-])", COMPOSE))
    assert {name for name, how in asked.items() if how == ":?"} == SECRETS | {"DAYBOOK_ALLOWED_HOSTS"}
    assert not re.search(rf"\$\{{({'|'.join(SECRETS)})(:-|\}})", COMPOSE)


def test_every_variable_is_a_setting() -> None:
    named = set(re.findall(r"\$\{(\w+)", COMPOSE)) | set(SERVICES["web"]["environment"])
    assert named - OF_COMPOSE <= known_settings()
    in_image = set(re.findall(r"\b(DAYBOOK_\w+)=", DOCKERFILE))
    assert in_image <= known_settings()


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "migrate"])
def test_a_service_that_stays_has_a_health_check_and_starts_again(name: str) -> None:
    assert SERVICES[name]["healthcheck"]["test"]
    assert SERVICES[name]["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", OURS)
def test_our_containers_can_write_nowhere_but_where_they_must(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "/tmp" in service["tmpfs"]  # noqa: S108 - inside a container


@pytest.mark.parametrize("name", OURS)
def test_files_of_the_data_directory_are_shared_and_kept(name: str) -> None:
    mounts = dict(mount.split(":") for mount in SERVICES[name]["volumes"])
    assert mounts == {"uploads": "/var/lib/daybook/uploads", "deliveries": "/var/lib/daybook/deliveries"}
    assert set(mounts) <= set(yaml.safe_load(COMPOSE)["volumes"])
    # A volume takes over the owner of the folder that the image has there.
    assert all(folder in DOCKERFILE for folder in mounts.values())


@pytest.mark.parametrize("name", ["web", "worker", "beat"])
def test_nothing_starts_before_the_tables_are_there(name: str) -> None:
    assert SERVICES[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


@pytest.mark.parametrize("name", ["postgres", "redis"])
def test_data_lie_in_a_named_volume(name: str) -> None:
    [mount] = SERVICES[name]["volumes"]
    assert mount.split(":")[0] in yaml.safe_load(COMPOSE)["volumes"]
    assert "ports" not in SERVICES[name]


@pytest.mark.parametrize("name", OURS)
def test_commands_name_what_exists(name: str) -> None:
    python, *rest = SERVICES[name]["command"]
    assert python == "python"
    if rest[0] == "-m":
        assert importlib.util.find_spec(rest[1]) is not None
    else:
        assert (ROOT / rest[0]).is_file()
        assert (ROOT / f"config/management/commands/{rest[1]}.py").is_file()


def test_the_image_runs_as_a_user_without_rights() -> None:
    last_stage = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (\w+)$", last_stage, re.MULTILINE) == ["daybook"]
    assert "--uid 10001" in last_stage


def test_whatever_the_image_copies_exists_and_is_sent_to_the_builder() -> None:
    copied = re.findall(r"^COPY (?!--from)(\S+) ", DOCKERFILE, re.MULTILINE)
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert set(copied) == sent
    assert all((ROOT / Path(name)).exists() for name in copied)
