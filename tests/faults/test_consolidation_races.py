"""One consolidation of a range, one version of a memory, whoever works on it and however many do."""

from collections import Counter

from sessions_app.models import Consolidation, ConsolidationJob, MemoryRevision, Message, Session
from tests.conftest import Api
from tests.sessions.conversations import assistant, user

from .crew import PROCESSES, Call, Crew

THREADS = 4


def test_many_at_once_condense_every_range_once_while_others_append(crew: Crew, api: Api) -> None:
    session = api.open()
    api.append(session, *[user("Please remember the number 42."), assistant("I will.")] * 10)
    condense: Call = ("POST", f"/sessions/{session}/consolidate?wait=true", {}, {})
    add: Call = ("POST", f"/sessions/{session}/messages", {"role": "user", "content": "And the 43?"}, {})
    answers = crew.send_all(api.secret, THREADS, [condense, add] * (PROCESSES * THREADS * 2))

    assert Counter(answer.status for answer in answers) == {200: len(answers) // 2, 201: len(answers) // 2}
    row = Session.objects.get()
    made = list(Consolidation.objects.order_by("from_seq"))
    told = [
        answer.body["consolidation"]["id"]
        for answer in answers
        if answer.status == 200 and answer.body["consolidation"]
    ]
    assert sorted(told) == sorted(str(one.uid) for one in made)
    # No range is left out and none is condensed twice.
    assert made[0].from_seq == 1
    assert [one.from_seq for one in made[1:]] == [one.through_seq + 1 for one in made[:-1]]
    assert (row.consolidated_through, row.summary) == (made[-1].through_seq, made[-1].summary)
    left = Message.objects.filter(seq__gt=row.consolidated_through).values_list("tokens", flat=True)
    assert row.unconsolidated_tokens == sum(left)


def test_asked_by_many_it_waits_once(crew: Crew, api: Api) -> None:
    session = api.open()
    api.append(session, user("one"), assistant("two"), user("three"))
    ask: Call = ("POST", f"/sessions/{session}/consolidate", {}, {})
    answers = crew.send_all(api.secret, THREADS, [ask] * 24)
    assert {answer.status for answer in answers} == {202}
    assert ConsolidationJob.objects.count() == 1


def test_of_many_writers_of_one_memory_one_is_first(crew: Crew, admin: Api) -> None:
    writes: list[Call] = [
        ("PUT", "/memory", {"content": f"by {number}", "version": 0}, {}) for number in range(24)
    ]
    answers = crew.send_all(admin.secret, THREADS, writes)
    assert Counter(answer.status for answer in answers) == {200: 1, 409: 23}
    [winner] = [answer.body["content"] for answer in answers if answer.status == 200]
    assert list(MemoryRevision.objects.values_list("version", "content")) == [(1, winner)]
