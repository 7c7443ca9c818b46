import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGE = re.compile(r"^([A-Za-z0-9_.-]+)==", re.MULTILINE)
LOCKS = ("requirements.lock", "requirements-dev.lock")


def packages(lock: str) -> list[str]:
    """Each with its version and hashes."""
    return re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_one_version_and_its_hashes(lock: str) -> None:
    for package in packages(lock):
        assert PACKAGE.match(package), package
        assert "--hash=sha256:" in package, package


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_place_to_download_from(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert "://" not in text
    assert "index" not in text.replace("--hash", "")


def test_what_the_task_queue_imports_without_asking_for_it_is_installed_to_run() -> None:
    # The development packages bring it along, so that only a fresh installation would miss it.
    names = {found[1] for package in packages("requirements.lock") if (found := PACKAGE.match(package))}
    assert {"celery", "kombu", "packaging"} <= names
