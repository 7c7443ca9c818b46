"""The readers, by the name of their format."""

from collections.abc import Callable

from sessions_app.transcripts.formats import claude_code, codex, hermes, nanobot, openai, session_buddy, timmy
from sessions_app.transcripts.records import File, Records

AUTO, DAYBOOK = "auto", "daybook"
READERS: dict[str, Callable[[File], Records]] = {
    reader.NAME: reader.read for reader in (nanobot, hermes, timmy, session_buddy, claude_code, codex, openai)
}
FORMATS = (*READERS, DAYBOOK, AUTO)
