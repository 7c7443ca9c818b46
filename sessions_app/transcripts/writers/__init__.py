"""The writers, by the name of their format."""

from typing import Any

from sessions_app.transcripts.writers import anthropic, hermes, markdown, nanobot, openai

WRITERS: dict[str, Any] = {
    "nanobot": nanobot,
    "hermes": hermes,
    "openai": openai,
    "anthropic": anthropic,
    "markdown": markdown,
}
