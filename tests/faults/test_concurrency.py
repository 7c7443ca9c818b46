"""Many processes with many threads on one database."""

from collections import Counter
from itertools import pairwise
from typing import Any

from sessions_app.models import IdempotentAnswer, Message, Session
from tests.conftest import Api, said

from .crew import PROCESSES, Call, Crew
from .record import assert_consistent

THREADS = 6
HIDDEN = {"clear", "rewind", "retain"}


def append(session: str, *texts: str) -> Call:
    messages: list[dict[str, Any]] = [{"role": "user", "content": text} for text in texts]
    body = messages[0] if len(messages) == 1 else {"messages": messages}
    return ("POST", f"/sessions/{session}/messages", body, {})


def change(session: str, what: str, body: dict[str, Any] | None = None) -> Call:
    return ("POST", f"/sessions/{session}/{what}", body or {}, {})


def test_seqs_have_no_gaps_and_no_repeats(crew: Crew, api: Api) -> None:
    session = api.open()
    texts = [f"message {number}" for number in range(PROCESSES * THREADS * 10)]
    answers = crew.send_all(api.secret, THREADS, [append(session, text) for text in texts])

    assert {answer.status for answer in answers} == {201}
    assert sorted(answer.body["items"][0]["seq"] for answer in answers) == list(range(1, len(texts) + 1))
    assert assert_consistent(session).messages_count == len(texts)
    assert sorted(message["content"] for message in api.window(session)["messages"]) == sorted(texts)


def test_each_answer_counts_what_was_there_when_it_was_given(crew: Crew, api: Api) -> None:
    session = api.open()
    answers = crew.send_all(api.secret, THREADS, [append(session, "x")] * 60)
    for answer in answers:
        assert answer.body["session"]["counts"]["entries"] == answer.body["items"][-1]["seq"]


def test_what_one_thread_wrote_stays_in_its_order(crew: Crew, api: Api) -> None:
    session = api.open()
    plans = [
        [[append(session, f"{hand}.{thread}:{number}") for number in range(8)] for thread in range(THREADS)]
        for hand in range(PROCESSES)
    ]
    crew.send(api.secret, *plans)
    assert_consistent(session)
    written: dict[str, list[str]] = {}
    for message in api.window(session)["messages"]:
        writer, _, number = message["content"].partition(":")
        written.setdefault(writer, []).append(number)
    assert len(written) == PROCESSES * THREADS
    assert set(map(tuple, written.values())) == {tuple("01234567")}


def test_batches_stay_together(crew: Crew, api: Api) -> None:
    session = api.open()
    batches = [[f"{batch}:{place}" for place in range(7)] for batch in range(PROCESSES * THREADS * 3)]
    answers = crew.send_all(api.secret, THREADS, [append(session, *batch) for batch in batches])

    for answer in answers:
        seqs = [item["seq"] for item in answer.body["items"]]
        assert seqs == list(range(seqs[0], seqs[0] + 7))
    assert_consistent(session)
    texts = [message["content"] for message in api.window(session, "?max_messages=1000")["messages"]]
    assert sorted(texts[start : start + 7] for start in range(0, len(texts), 7)) == sorted(batches)


def test_a_new_key_gets_one_session_however_many_ask(crew: Crew, api: Api) -> None:
    calls: list[Call] = [("POST", "/sessions", {"key": "telegram:new"}, {})] * 200
    answers = crew.send_all(api.secret, 10, calls)

    assert Counter(answer.status for answer in answers) == {201: 1, 200: 199}
    assert Counter(answer.body["created"] for answer in answers) == {True: 1, False: 199}
    [session] = Session.objects.all()
    assert {answer.body["id"] for answer in answers} == {str(session.uid)}


def test_sessions_that_come_and_go_never_fail_a_request(crew: Crew, api: Api) -> None:
    plans = [
        [_opening_and_erasing(f"{hand}.{thread}") for thread in range(THREADS)] for hand in range(PROCESSES)
    ]
    found = crew.send(api.secret, *plans)
    statuses = Counter(answer.status for plan in found for thread in plan for answer in thread)
    # 409: the session that was being answered with was erased in the same instant.
    assert set(statuses) <= {200, 201, 204, 404, 409}, statuses
    assert not Session.objects.exists()
    assert not IdempotentAnswer.objects.exists(), "an answer outlived the session that it tells of"


def _opening_and_erasing(name: str) -> list[Call]:
    calls: list[Call] = []
    for number in range(10):
        headers = {"Idempotency-Key": f"{name}.{number}"} if number % 2 else {}
        calls += [("POST", "/sessions", {"key": "k"}, headers), ("DELETE", "/sessions/{last}", None, {})]
    return calls


def test_counters_are_right_after_a_brawl(crew: Crew, api: Api) -> None:
    session = api.open()
    api.append(session, {"role": "user", "content": "first"})
    kinds: list[dict[str, Any]] = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"kind": "tool_call", "tool": "ls", "result": "a"},
        {"kind": "error", "error": "no"},
        {"kind": "decision", "decision": "go"},
    ]
    calls: list[Call] = []
    for number in range(24):
        calls += [("POST", f"/sessions/{session}/messages", message, {}) for message in kinds]
        calls += [
            change(session, "usage", {"input_tokens": 3, "output_tokens": 2, "cost_usd": 0.25}),
            change(session, "rewind", {"to_seq": 1 + number}),
            change(session, "retain", {"max_messages": 5}),
            change(session, "clear"),
            change(session, "fork", {"key": f"fork:{number // 8}"}),
            ("PATCH", f"/sessions/{session}", {"metadata": {f"n{number}": number}}, {}),
        ]
    answers = crew.send_all(api.secret, THREADS, calls)

    # 422: there is no user message to rewind to; 409: the key of the fork is taken.
    assert {answer.status for answer in answers} <= {200, 201, 409, 422}
    row = assert_consistent(session)
    assert row.last_seq == 1 + 24 * 5
    assert (row.input_tokens, row.output_tokens, row.cost_usd) == (72, 48, 6.0)
    assert row.metadata == {f"n{number}": number for number in range(24)}
    assert set(Message.objects.filter(session=row).values_list("hidden_by", flat=True)) <= {"", *HIDDEN}
    forks = Session.objects.filter(key__startswith="fork:")
    assert sorted(fork.key for fork in forks) == ["fork:0", "fork:1", "fork:2"]
    for fork in forks:
        assert_consistent(str(fork.uid))


def test_forks_of_many_sessions_to_one_key_make_one(crew: Crew, api: Api) -> None:
    origins = [api.open(f"origin:{number}") for number in range(PROCESSES * THREADS)]
    answers = crew.send_all(api.secret, THREADS, [change(origin, "fork", {"key": "f"}) for origin in origins])
    assert Counter(answer.status for answer in answers) == {201: 1, 409: len(origins) - 1}
    assert Session.objects.filter(key="f").count() == 1


def test_what_is_erased_under_its_writers_is_gone_whole(crew: Crew, api: Api) -> None:
    session = api.open()
    writers = [[append(session, f"{number}") for number in range(15)] for _ in range(THREADS)]
    eraser: list[list[Call]] = [
        [append(session, "last")] * 5 + [("DELETE", f"/sessions/{session}", None, {})]
    ]
    found = crew.send(api.secret, writers, eraser, writers)

    assert found[1][0][-1].status == 204
    for thread in [*found[0], *found[2]]:
        statuses = [answer.status for answer in thread]
        assert set(statuses) <= {201, 404}
        assert [404, 201] not in [list(pair) for pair in pairwise(statuses)], "it came back"
    assert api.get(f"/sessions/{session}").status_code == 404
    assert not Message.objects.exists()


def test_one_idempotency_key_acts_once_over_all_processes(crew: Crew, api: Api) -> None:
    session = api.open()
    call: Call = (
        "POST",
        f"/sessions/{session}/messages",
        {"role": "user", "content": "x"},
        {"Idempotency-Key": "a"},
    )
    answers = crew.send_all(api.secret, THREADS, [call] * 60)

    assert {answer.status for answer in answers} == {201}
    assert Counter(answer.replayed for answer in answers) == {False: 1, True: 59}
    assert {str(answer.body) for answer in answers} == {str(answers[0].body)}
    assert assert_consistent(session).last_seq == 1


def test_sessions_of_one_database_do_not_mix(crew: Crew, api: Api, stranger: Api) -> None:
    ours = [api.open(f"k{number}") for number in range(6)]
    calls = [append(session, f"{session}") for session in ours for _ in range(15)]
    crew.send_all(api.secret, THREADS, calls)
    for session in ours:
        assert_consistent(session)
        assert {message["content"] for message in api.window(session)["messages"]} == {session}
        assert said(api.get(f"/sessions/{session}/summary"))["messages"] == 15
