"""Texts as vectors of their meaning: one small interface, two ways to make them.

`wordllama` works in the process, from weights inside its wheel. `openai` asks any server that speaks OpenAI's
`/embeddings`; what it answers takes long and may fail, so it is asked by tasks and where a question needs it.
"""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from django.conf import settings
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

# What a text is about stands at its beginning; a megabyte of a tool's output must not fill the memory.
MOST_CHARACTERS = 2000
BATCH = 64


class NoEmbeddings(Exception):
    """There is no vector to be had: switched off, or the server that makes them does not answer."""


class Embedder(Protocol):
    # Stored with each vector: those of different models cannot be compared.
    model: str
    dimensions: int

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, of length 1; all zeros where there is nothing to go by."""


@cache
def embedder() -> Embedder:
    """That of the settings; loaded when it is first needed, which takes a second."""
    if settings.EMBEDDINGS == "off":
        raise NoEmbeddings("Embeddings are switched off (DAYBOOK_EMBEDDINGS).")
    return OpenAiEmbedder() if settings.EMBEDDINGS == "openai" else WordLlamaEmbedder()


class WordLlamaEmbedder:
    dimensions = 256
    model = "wordllama-l2-supercat-256"

    def __init__(self) -> None:
        # Else its tokenizer starts threads of its own, which do not survive a worker's fork.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        # Half a second to import, which a process that never embeds should not pay.
        import wordllama

        self._model: Any = wordllama.WordLlama.load(
            cache_dir=Path(wordllama.__file__).parent, dim=self.dimensions, disable_download=True
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        # A batch is as wide as its longest text, so those of like length go together.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        found = self._model.embed([texts[place][:MOST_CHARACTERS] for place in order], batch_size=BATCH)
        vectors = np.empty_like(found)
        vectors[order] = found
        return normalised(vectors)


class OpenAiEmbedder:
    def __init__(self) -> None:
        # Slow to import, and only wanted here.
        import openai

        self.model = settings.EMBEDDING_MODEL
        self.dimensions = settings.EMBEDDING_DIMENSIONS
        self._failure = openai.OpenAIError
        self._client = openai.OpenAI(
            base_url=settings.EMBEDDING_URL,
            api_key=settings.EMBEDDING_KEY or "none",
            timeout=settings.EMBEDDING_TIMEOUT_SECONDS,
            max_retries=2,
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        found = np.zeros((len(texts), self.dimensions), np.float32)
        # An empty text is refused there.
        asked = [place for place, text in enumerate(texts) if text.strip()]
        for start in range(0, len(asked), BATCH):
            places = asked[start : start + BATCH]
            found[places] = self._ask([texts[place][:MOST_CHARACTERS] for place in places])
        return normalised(found)

    def _ask(self, texts: Sequence[str]) -> Vectors:
        try:
            answer = self._client.embeddings.create(
                model=self.model, input=list(texts), encoding_format="float"
            )
        except self._failure as error:
            raise NoEmbeddings(f"The embedding server does not answer: {error}") from error
        rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        if len(rows) != len(texts) or any(len(row) != self.dimensions for row in rows):
            raise NoEmbeddings(
                f"The embedding server did not answer {len(texts)} vectors of {self.dimensions} numbers."
            )
        return np.asarray(rows, np.float32)


def normalised(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return found


def packed(vector: Vectors) -> bytes:
    """As it is stored: little-endian numbers of four bytes."""
    return vector.astype("<f4").tobytes()


def unpacked(rows: Sequence[bytes], dimensions: int) -> Vectors:
    return np.frombuffer(b"".join(rows), "<f4").reshape(len(rows), dimensions).astype(np.float32, copy=False)
