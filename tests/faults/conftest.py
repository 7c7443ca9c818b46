from collections.abc import Iterator

import pytest
from pytest_django.plugin import DjangoDbBlocker

from .crew import Crew


@pytest.fixture(scope="session")
def whole_crew(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Crew]:
    with django_db_blocker.unblock():
        crew = Crew()
    yield crew
    crew.end()


@pytest.fixture
def crew(transactional_db: None, whole_crew: Crew) -> Crew:
    """With tables that other processes see: nothing of the test is in a transaction that is taken back."""
    return whole_crew
