"""Text that came from a summary or from memory, and stands in the record once more because an agent put it
there: it is known already and must not be learned a second time."""

import re
from collections.abc import Mapping
from typing import Any

from sessions_app.passages import width

# What an agent marks as such: `"metadata": {"recalled": true}`.
MARK = "recalled"
# Short lines are said by chance.
SHORTEST = 24
_LABEL = re.compile(r"^(?:[-*+>]\s+)*(?:[\w ,]{1,40}: )?")
_SPACE = re.compile(r"\s+")


class Recalled:
    """The lines of what was handed out, as far as they can be told from what somebody just happens to say."""

    def __init__(self, *texts: str) -> None:
        self._lines = {
            found for text in texts for line in text.splitlines() if width(found := folded(line)) >= SHORTEST
        }

    def __contains__(self, sentence: object) -> bool:
        return isinstance(sentence, str) and folded(sentence) in self._lines

    def without(self, text: str) -> str:
        """What is new of a text, line by line."""
        return "\n".join(line for line in text.splitlines() if line not in self)


def folded(line: str) -> str:
    return _SPACE.sub(" ", _LABEL.sub("", line.strip())).strip().rstrip(".…").casefold()


def is_marked(extra: Mapping[str, Any]) -> bool:
    metadata = extra.get("metadata") or {}
    return isinstance(metadata, dict) and bool(metadata.get(MARK))
