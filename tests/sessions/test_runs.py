from datetime import timedelta

from django.utils import timezone

from sessions_app import runs
from sessions_app.models import Agent, Run
from tests.conftest import Api, said


def test_a_run_that_was_killed_does_not_look_as_if_it_still_went_on(api: Api) -> None:
    agent, now = Agent.objects.get(name="main"), timezone.now()
    for minutes in (1, 60):
        then = now - timedelta(minutes=minutes)
        Run.objects.create(agent=agent, name="consolidate", total=9, done=3, started_at=then, updated_at=then)
    assert runs.settle(now) == 1
    [fresh, old] = said(api.get("/runs"))["items"]
    assert (fresh["state"], fresh["finished_at"]) == ("running", None)
    assert (old["state"], old["done"], old["finished_at"]) == ("stopped", 3, old["updated_at"])
    assert old["last_error"] == runs.KILLED
