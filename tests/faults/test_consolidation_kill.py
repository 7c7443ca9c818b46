"""A worker that is killed while a model thinks: nothing is lost, and nothing is condensed twice."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from sessions_app import consolidation_jobs
from sessions_app.models import Agent, Consolidation, ConsolidationJob, Session
from tests.conftest import Api
from tests.gateway.receiver import receiving
from tests.operations.daybook import until
from tests.sessions.conversations import assistant, user
from tests.sessions.model_server import notes

from .broker import Broker
from .worker import Worker

CONDENSE = "sessions_app.tasks.consolidate_due"


@pytest.mark.django_db(transaction=True)
def test_a_worker_killed_while_a_model_thinks_costs_a_minute_and_no_message(api: Api, tmp_path: Path) -> None:
    session = api.open()
    api.append(session, user("Remember the milk, please."), assistant("I will."), user("And the bread."))
    Agent.objects.update(consolidation_engine="llm")
    api.post(f"/sessions/{session}/consolidate")
    broker = Broker(tmp_path / "broker")
    with receiving() as model:
        model.will(model.hang, notes())
        address = f"http://127.0.0.1:{model.port}/v1"
        worker = Worker(
            tmp_path / "worker.log",
            broker.url,
            DAYBOOK_LLM_URL=address,
            DAYBOOK_LLM_MODEL="small",
            DAYBOOK_LLM_TIMEOUT_SECONDS="60",
        )
        try:
            worker.ask(CONDENSE)
            assert model.arrived.acquire(timeout=60)
            worker.kill()
            job = ConsolidationJob.objects.get()
            assert (job.running, job.attempts) == (True, 0)
            assert job.next_attempt_at - timezone.now() <= consolidation_jobs.CLAIM
            assert not Consolidation.objects.exists()

            # The claim of the killed worker runs out.
            ConsolidationJob.objects.update(next_attempt_at=timezone.now() - timedelta(seconds=1))
            worker.start()
            worker.ask(CONDENSE)
            until(lambda: not ConsolidationJob.objects.exists(), "the job to be done")
        finally:
            worker.end()
            broker.kill()
    [made] = Consolidation.objects.all()
    assert (made.from_seq, made.through_seq, made.engine) == (1, 2, "llm")
    assert Session.objects.get().consolidated_through == 2
    assert len(model.requests) == 2
