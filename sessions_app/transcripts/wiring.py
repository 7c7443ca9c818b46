"""What the layers above give to the import: how a source makes a key, and where uses of skills go."""

from collections.abc import Callable, Sequence
from typing import Any

from sessions_app.access import Caller

KeyOfSource = Callable[[Caller, dict[str, Any]], tuple[str, dict[str, Any]] | None]
# Takes invocations of an agent and says how many of them were new; all or none, in its own transaction.
InvocationSink = Callable[[Caller, Sequence[dict[str, Any]]], int]

_key_of_source: list[KeyOfSource] = []
_sinks: list[InvocationSink] = []


def register_key_of_source(function: KeyOfSource) -> None:
    _key_of_source[:] = [function]


def register_invocation_sink(function: InvocationSink) -> None:
    _sinks[:] = [function]


def key_of_source(caller: Caller, source: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The key and the source as it is stored; None where nobody knows such sources."""
    return _key_of_source[0](caller, source) if _key_of_source else None


def invocation_sink() -> InvocationSink | None:
    return _sinks[0] if _sinks else None
