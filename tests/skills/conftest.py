from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from skills_app import nearest
from skills_app.recounting import recount
from tests.conftest import Api, said

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)

Use = Callable[..., str]


class Clock:
    def __init__(self, travelling: time_machine.Traveller) -> None:
        self._travelling = travelling

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)

    def move(self, **amount: float) -> None:
        self._travelling.shift(timedelta(**amount))


@pytest.fixture
def clock() -> Iterator[Clock]:
    """Stands still at noon of a Friday until it is moved."""
    with time_machine.travel(NOON, tick=False) as travelling:
        yield Clock(travelling)


@pytest.fixture(autouse=True)
def empty_shelves() -> None:
    """Each test begins like a process that has just started: tables are emptied, numbers begin anew."""
    nearest.shelves.clear()


def start(api: Api, skill: str = "lint", **fields: Any) -> str:
    response = api.post("/skills/invocations", {"skill_name": skill, **fields})
    assert response.status_code == 201, response.content
    uid: str = said(response)["id"]
    return uid


def finish(api: Api, uid: str, completed: bool = True, **fields: Any) -> dict[str, Any]:
    response = api.post(f"/skills/invocations/{uid}/complete", {"completed": completed, **fields})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = said(response)
    return answer


def use(api: Api, skill: str = "lint", completed: bool = True, **fields: Any) -> dict[str, Any]:
    """Started and finished. Fields of the end are told apart by their names."""
    of_the_end = ("follow_up_actions", "error_type", "duration_seconds")
    ending = {name: fields.pop(name) for name in of_the_end if name in fields}
    return finish(api, start(api, skill, **fields), completed, **ending)


def assert_counts_are_right() -> None:
    from sessions_app.models import Agent

    for agent in Agent.objects.all():
        assert recount(agent.pk) == []
