"""How a model's notes go into the long-term memory: pure. What people wrote is never touched."""

from collections.abc import Iterable, Sequence

from sessions_app.recalled import folded

HEADING = "## Learned"


def noted(document: str, remember: Sequence[str], forget: Sequence[str], longest: int) -> str:
    """Adds to our section what is nowhere in the document; takes lines out of that section only."""
    before, section = _parted(document)
    gone = {folded(line) for line in forget}
    kept = [line for line in section if not line.startswith("- ") or folded(line) not in gone]
    known = {folded(line) for line in [*before, *kept]}
    for line in _one_line(remember):
        if folded(line) not in known:
            known.add(folded(line))
            kept.append(f"- {line}")
    return _written(before, kept, longest)


def _parted(document: str) -> tuple[list[str], list[str]]:
    """What people wrote, and the lines below our heading. A heading behind ours begins theirs again."""
    before: list[str] = []
    section: list[str] = []
    ours = False
    for line in document.splitlines():
        if line.startswith("#"):
            ours = line.strip() == HEADING
            if ours:
                continue
        (section if ours else before).append(line)
    return before, [line for line in section if line.strip()]


def _one_line(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        if text := " ".join(line.split()).lstrip("-*# ").strip():
            yield text


def _written(before: Sequence[str], section: Sequence[str], longest: int) -> str:
    text = "\n".join(before).strip()
    learned = list(section)
    while True:
        parts = [text] if text else []
        if learned:
            parts.append("\n".join([HEADING, *learned]))
        document = "\n\n".join(parts)
        if len(document.encode()) <= longest or not learned:
            return document
        # The oldest makes room: it is in the revisions.
        learned.pop(0)
