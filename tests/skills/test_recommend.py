"""Recommendation: by meaning, by letters, in the database and in the process, always with its reasons."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import LazySettings
from django.db import connection, transaction

from sessions_app import embedding
from skills_app import nearest, pgvector, tasks
from skills_app.models import QueryVector
from tests.conftest import Api, said

from .conftest import Clock, start, use

PAST = [
    ("db-doctor", "the database query times out", "run", True),
    ("db-doctor", "slow SQL statements in production", "run", False),
    ("formatter", "tidy up the code style", "setup", True),
    ("deployer", "roll out the new version to the servers", "run", True),
    ("deployer", "deploy the release", "setup", False),
    ("tester", "write unit tests for the parser", "run", True),
]


@pytest.fixture
def past(clock: Clock, api: Api) -> None:
    for skill, query, phase, completed in PAST:
        use(api, skill, completed, user_query=query, workflow_phase=phase)
        clock.move(seconds=1)
    start(api, "silent")


def ask(api: Api, query: str = "my database statements are slow", **fields: Any) -> dict[str, Any]:
    response = api.post("/skills/recommend", {"query": query, **fields})
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = said(response)
    return answer


@pytest.fixture(params=["auto", "process"])
def each_way(request: pytest.FixtureRequest, settings: LazySettings) -> None:
    settings.SKILL_SEARCH = request.param


def test_the_closest_past_query_leads_and_tells_why(past: None, each_way: None, api: Api) -> None:
    answer = ask(api)
    assert (answer["method"], answer["note"]) == ("meaning", "Compared by meaning.")
    first = answer["items"][0]
    assert (first["skill_name"], first["matched_by"]) == ("db-doctor", "meaning")
    assert first["user_query"] == "slow SQL statements in production"
    assert (first["completed"], first["state"], first["workflow_phase"]) == (False, "failed", "run")
    assert first["score"] == first["similarity_score"]
    reasons = first["reasons"]
    assert [each["user_query"] for each in reasons["similar_queries"]] == [PAST[1][1], PAST[0][1]]
    assert (reasons["finished"], reasons["completed"]) == (2, 1)
    assert "Worked 1 of 2 times." in reasons["text"]
    assert [each["skill_name"] for each in answer["items"]].count("db-doctor") == 1
    assert "silent" not in {each["skill_name"] for each in answer["items"]}


def test_a_phase_moves_the_score_by_its_smoothed_rate(past: None, each_way: None, api: Api) -> None:
    plain = {each["skill_name"]: each["similarity_score"] for each in ask(api, min_similarity=-1)["items"]}
    boosts = {"db-doctor": 2 / 4, "deployer": 2 / 3, "tester": 2 / 3, "formatter": 0.5}
    items = ask(api, min_similarity=-1, workflow_phase="run", phase_weight=0.4)["items"]
    for each in items:
        similarity = plain[each["skill_name"]]
        assert each["similarity_score"] == similarity
        assert each["score"] == pytest.approx(similarity * 0.6 + boosts[each["skill_name"]] * 0.4, abs=1e-5)
    assert [each["score"] for each in items] == sorted((each["score"] for each in items), reverse=True)
    default = ask(api, min_similarity=-1, workflow_phase="run")["items"][0]
    similarity = plain[default["skill_name"]]
    assert default["score"] == pytest.approx(similarity * 0.7 + boosts[default["skill_name"]] * 0.3, abs=1e-5)
    assert "In phase run: 1 of 2 times." in default["reasons"]["text"]


def test_limits_sessions_and_groups(past: None, each_way: None, api: Api) -> None:
    assert len(ask(api, limit=2, min_similarity=-1)["items"]) == 2
    assert ask(api, min_similarity=1)["items"] == []
    every = ask(api, group="invocation", limit=100, min_similarity=-1)["items"]
    assert sorted(each["user_query"] for each in every) == sorted(query for _, query, _, _ in PAST)
    session = api.open()
    assert ask(api, session_id=session)["items"] == []
    use(api, "formatter", user_query="slow database", session_id=session)
    (found,) = ask(api, session_id=session)["items"]
    assert (found["skill_name"], found["session_id"]) == ("formatter", session)


def test_a_new_invocation_is_found_at_once_and_an_erased_one_never(
    each_way: None, api: Api, stranger: Api
) -> None:
    assert ask(api)["items"] == []
    session = api.open()
    start(api, "fresh", user_query="my database statements are slow", session_id=session)
    start(api, "other", user_query="bake a cake")
    assert ask(api)["items"][0]["similarity_score"] == pytest.approx(1, abs=1e-4)
    assert ask(stranger)["items"] == []
    api.send("DELETE", f"/sessions/{session}")
    assert "fresh" not in {each["skill_name"] for each in ask(api, min_similarity=-1)["items"]}


def test_both_ways_give_the_same_answers(past: None, api: Api, settings: LazySettings) -> None:
    for number in range(60):
        start(
            api, f"s{number % 7}", user_query=f"{['fix', 'test', 'deploy'][number % 3]} module {number % 11}"
        )
    questions = [
        {"query": query, "limit": limit, "group": group, **phase}
        for query in ("fix module 3", "deploy everything", "数据库")
        for limit in (3, 50)
        for group in ("skill", "invocation")
        for phase in ({}, {"workflow_phase": "run"})
    ]
    answers = {}
    for way in ("auto", "process"):
        settings.SKILL_SEARCH = way
        answers[way] = [ask(api, **question)["items"] for question in questions]  # type: ignore[arg-type]
    assert [[each["invocation_id"] for each in some] for some in answers["auto"]] == [
        [each["invocation_id"] for each in some] for some in answers["process"]
    ]
    for one, other in zip(answers["auto"], answers["process"], strict=True):
        assert [each["score"] for each in one] == pytest.approx([each["score"] for each in other], abs=2e-5)


def test_the_tests_on_postgresql_have_pgvector(past: None, api: Api) -> None:
    assert pgvector.is_there() is (connection.vendor == "postgresql")


@pytest.mark.only_on("postgres")
@pytest.mark.django_db
def test_a_server_without_pgvector_is_searched_in_the_process(api: Api, clock: Clock) -> None:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("DROP EXTENSION vector CASCADE")
            cursor.execute("CREATE ROLE plain")
            cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO plain")
            cursor.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO plain")
            cursor.execute("SET LOCAL ROLE plain")
            assert pgvector.prepare() is False
            start(api, "fresh", user_query="slow database")
            assert ask(api)["items"][0]["skill_name"] == "fresh"
            cursor.execute("RESET ROLE")
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            # Installed later: what is stored waits for its vector and gets it by the task.
            assert pgvector.prepare() is True
            assert tasks.embed_queries() == 1
            assert ask(api)["items"][0]["matched_by"] == "meaning"
            transaction.set_rollback(True)
    finally:
        pgvector.look_again()


@contextmanager
def embeddings(settings: LazySettings, kind: str) -> Iterator[None]:
    """For a while; the one in the process, which takes a second to load, is kept for afterwards."""
    usual, loaded = settings.EMBEDDINGS, embedding.embedder()
    settings.EMBEDDINGS = kind
    embedding.embedder.cache_clear()
    try:
        yield
    finally:
        settings.EMBEDDINGS = usual
        embedding.embedder.cache_clear()
        with patch.object(embedding, "WordLlamaEmbedder", lambda: loaded):
            embedding.embedder()


@pytest.mark.parametrize("query", ["die Datenbank ist langsam", "数据库很慢", "the databse is slwo"])
def test_without_embeddings_letters_are_compared_and_it_says_so(
    each_way: None, api: Api, settings: LazySettings, query: str
) -> None:
    with embeddings(settings, "off"):
        start(api, "db-doctor", user_query="Datenbank langsam 数据库慢 database slow")
        start(api, "baker", user_query="einen Kuchen backen 烤蛋糕 bake a cake")
        answer = ask(api, query)
        assert answer["method"] == "letters"
        assert "DAYBOOK_EMBEDDINGS" in answer["note"]
        assert answer["items"][0]["skill_name"] == "db-doctor"
        assert answer["items"][0]["matched_by"] == "letters"
    # Switched on again, vectors of meaning are made by the task.
    assert tasks.embed_queries() == 2
    assert set(QueryVector.objects.values_list("model", flat=True)) == {embedding.embedder().model}
    assert {each["matched_by"] for each in ask(api, query, min_similarity=-1)["items"]} == {"meaning"}


class Server:
    """Makes vectors of three words' presence, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.down = False
        ours = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
                ours.asked.append(texts)
                vectors = [[float(word in text) + 0.01 for word in ("cat", "dog", "bird")] for text in texts]
                rows = [
                    {"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(vectors)
                ]
                raw = json.dumps({"object": "list", "model": "m", "data": rows, "usage": {}}).encode()
                self.send_response(400 if ours.down else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def test_a_server_is_asked_by_the_task_and_letters_serve_until_then(
    each_way: None, api: Api, settings: LazySettings
) -> None:
    server = Server()
    settings.EMBEDDING_URL, settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS = server.url, "m", 3
    try:
        with embeddings(settings, "openai"):
            start(api, "vet", user_query="the dog is ill")
            start(api, "zoo", user_query="a bird flew away")
            assert server.asked == []
            found = ask(api, "dog is ill")["items"][0]
            assert (found["skill_name"], found["matched_by"]) == ("vet", "letters")
            assert tasks.embed_queries() == 2
            found = ask(api, "my dog")["items"][0]
            assert (found["skill_name"], found["matched_by"]) == ("vet", "meaning")
            assert found["similarity_score"] == pytest.approx(1, abs=1e-4)
            server.down = True
            answer = ask(api, "my dog")
            assert (answer["method"], answer["items"]) == ("letters", [])
            start(api, "new", user_query="my dog")
            assert tasks.embed_queries() == 0
            assert ask(api, "my dog")["items"][0]["skill_name"] == "new"
    finally:
        server.end()


def test_only_the_newest_are_held_in_memory(
    api: Api, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SKILL_SEARCH = "process"
    monkeypatch.setattr(nearest, "MOST", 4)
    for number in range(8):
        start(api, f"s{number}", user_query="the same words")
    found = ask(api, "the same words", limit=100)["items"]
    assert [each["skill_name"] for each in found] == ["s7", "s6", "s5", "s4"]


def test_which_rank_was_taken_is_learnt(past: None, each_way: None, api: Api) -> None:
    use(api, "db-doctor", True, selection_rank=1, user_query="slow")
    use(api, "db-doctor", False, selection_rank=1)
    use(api, "db-doctor", True, selection_rank=3)
    (found,) = [each for each in ask(api)["items"] if each["skill_name"] == "db-doctor"]
    assert found["reasons"]["success_rate_when_first"] == 50.0
    assert said(api.get("/skills/metrics/db-doctor"))["recommendation_success_rate"] == 50.0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": ""}, "query"),
        ({"query": "x", "limit": 0}, "limit"),
        ({"query": "x", "limit": 101}, "limit"),
        ({"query": "x", "min_similarity": 1.1}, "min_similarity"),
        ({"query": "x", "phase_weight": -0.1}, "phase_weight"),
        ({"query": "x", "group": "day"}, "group"),
    ],
)
def test_a_wrong_question_is_named(api: Api, body: Any, field: str) -> None:
    response = api.post("/skills/recommend", body)
    assert response.status_code == 422
    assert ["body", field] in [error["loc"][:2] for error in said(response)["errors"]]


@pytest.mark.parametrize("query", [" ", "?!", "🎯", "x" * 60_000])
def test_a_question_without_words_is_answered(past: None, each_way: None, api: Api, query: str) -> None:
    ask(api, query)
