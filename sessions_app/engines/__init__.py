"""Two ways to condense a conversation, behind one small interface."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sessions_app.points import Point
from sessions_app.sentences import Spoken

EXTRACTIVE, LLM = "extractive", "llm"


class EngineFailed(Exception):
    """It gave nothing that could be used. `again_after` is how long it asks to be left alone, in seconds."""

    def __init__(self, message: str, again_after: float | None = None) -> None:
        super().__init__(message)
        self.again_after = again_after


@dataclass(frozen=True, slots=True)
class Material:
    """What is to be condensed. `summary` and `memory` are what is known already: never taken for new."""

    # Called when it is needed, and read once: a session may be longer than the memory of this machine.
    spoken: Callable[[], Iterable[Spoken]]
    tokens: int
    through_seq: int
    earlier: Sequence[Point] = ()
    summary: str = ""
    memory: str = ""


@dataclass(frozen=True, slots=True)
class Digest:
    summary: str
    points: Sequence[Point]
    engine: str
    model: str = ""
    # For the agent's long-term memory: lines to add, and lines that are true no longer.
    remember: Sequence[str] = field(default=())
    forget: Sequence[str] = field(default=())


class Engine(Protocol):
    name: str

    def condense(self, material: Material) -> Digest:
        """Touches no database; raises EngineFailed."""


def engine(name: str) -> Engine:
    # Each is loaded when it is first asked for: one brings numpy along, the other a client for HTTP.
    if name == LLM:
        from sessions_app.engines.llm import LlmEngine

        return LlmEngine()
    from sessions_app.engines.extractive import ExtractiveEngine

    return ExtractiveEngine()
