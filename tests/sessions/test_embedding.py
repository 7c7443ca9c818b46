"""Vectors of meaning: made in the process, or by a server that speaks OpenAI's protocol."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import numpy as np
import pytest
from django.conf import LazySettings

from sessions_app import embedding
from sessions_app.embedding import NoEmbeddings, OpenAiEmbedder, WordLlamaEmbedder, packed, unpacked


@pytest.fixture(scope="module")
def wordllama() -> WordLlamaEmbedder:
    return WordLlamaEmbedder()


def test_texts_of_like_meaning_lie_closer_than_others(wordllama: WordLlamaEmbedder) -> None:
    asked, near, far = wordllama.embed(
        [
            "Which database did we choose?",
            "We decided to store everything in PostgreSQL.",
            "The cat sleeps on the warm sofa.",
        ]
    )
    assert asked @ near > asked @ far + 0.1


def test_each_vector_has_length_one_and_nothing_gives_zeros(wordllama: WordLlamaEmbedder) -> None:
    found = wordllama.embed(["a few words", "", "数据库", "x" * 100_000])
    assert found.shape == (4, 256)
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 0, 1, 1])
    assert wordllama.embed([]).shape == (0, 256)


def test_a_text_has_the_same_vector_in_any_company(wordllama: WordLlamaEmbedder) -> None:
    texts = [f"{'word ' * length}number {length}" for length in (40, 3, 300, 1)]
    together = wordllama.embed(texts)
    alone = [wordllama.embed([text])[0] for text in texts]
    assert np.allclose(together, alone, atol=1e-6)


def test_vectors_survive_storage(wordllama: WordLlamaEmbedder) -> None:
    found = wordllama.embed(["one", "two"])
    assert np.array_equal(unpacked([packed(row) for row in found], 256), found)


def test_switched_off_it_says_so(settings: LazySettings, fresh_embedder: None) -> None:
    settings.EMBEDDINGS = "off"
    with pytest.raises(NoEmbeddings, match="DAYBOOK_EMBEDDINGS"):
        embedding.embedder()


@pytest.fixture
def fresh_embedder() -> Iterator[None]:
    embedding.embedder.cache_clear()
    yield
    embedding.embedder.cache_clear()


class Server:
    """A server that makes a vector of a text's length and its number of spaces."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.status = 200
        self.width = 2
        ours = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                ours.asked.append(body)
                ours.keys.append(self.headers["Authorization"])
                rows = [
                    {
                        "object": "embedding",
                        "index": place,
                        "embedding": [len(text), text.count(" ")][: ours.width],
                    }
                    for place, text in enumerate(body["input"])
                ]
                # Any order may come.
                answer = {"object": "list", "model": body["model"], "data": rows[::-1], "usage": {}}
                raw = json.dumps(answer if ours.status == 200 else {"error": {"message": "no"}}).encode()
                self.send_response(ours.status)
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


@pytest.fixture
def server(settings: LazySettings) -> Iterator[Server]:
    server = Server()
    settings.EMBEDDING_URL = server.url
    settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS = "lengths", 2
    settings.EMBEDDING_KEY = "secret-of-the-server"
    yield server
    server.end()


def test_a_server_is_asked_in_batches_and_its_answers_stand_in_order(server: Server) -> None:
    texts = ["three words here", "", *("x" * length for length in range(1, 100))]
    found = OpenAiEmbedder().embed(texts)
    assert [len(asked["input"]) for asked in server.asked] == [64, 36]
    assert server.asked[0]["model"] == "lengths"
    assert server.keys[0] == "Bearer secret-of-the-server"
    assert found[0] == pytest.approx(np.array([16, 2]) / np.hypot(16, 2))
    assert found[1].tolist() == [0, 0]
    assert found[2:].tolist() == [[1, 0]] * 99


@pytest.mark.parametrize(("status", "width"), [(400, 2), (401, 2), (200, 1)])
def test_a_server_that_answers_wrongly_gives_no_vectors(server: Server, status: int, width: int) -> None:
    server.status, server.width = status, width
    with pytest.raises(NoEmbeddings):
        OpenAiEmbedder().embed(["text"])


def test_a_server_that_is_not_there_gives_no_vectors(server: Server) -> None:
    server.end()
    with pytest.raises(NoEmbeddings, match="does not answer"):
        OpenAiEmbedder().embed(["text"])
