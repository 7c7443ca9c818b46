"""Uses of skills that an import read: what fits is kept, and nothing of another program stops the rest."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sessions_app.access import Caller
from skills_app.incoming import microseconds
from skills_app.models import LABEL_LENGTH, State
from skills_app.schemas import LONGEST_SECONDS, MOST_LABELS, QUERY_LENGTH
from skills_app.tracking import Use, bring_in, import_key_of

HIGHEST_RANK = 1_000_000


def take(caller: Caller, found: Sequence[dict[str, Any]]) -> int:
    """Owns its transaction. How many were new."""
    return bring_in(caller, [_use(given) for given in found])


def _use(given: dict[str, Any]) -> Use:
    invoked_at = datetime.fromisoformat(given["invoked_at"])
    duration = microseconds(_seconds(given.get("duration_seconds")))
    skill = given["skill_name"][:LABEL_LENGTH]
    return Use(
        skill_name=skill,
        invoked_at=invoked_at,
        workflow_path=_label(given.get("workflow_path")),
        workflow_phase=_label(given.get("workflow_phase")),
        user_query=_text(given.get("user_query"))[:QUERY_LENGTH],
        alternatives=_labels(given.get("alternatives_considered")),
        selection_rank=_rank(given.get("selection_rank")),
        state=_state(given),
        finished_at=invoked_at + timedelta(microseconds=duration or 0),
        duration_us=duration,
        follow_up_actions=_labels(given.get("follow_up_actions")),
        error_type=_label(given.get("error_type")),
        import_key=import_key_of(skill, invoked_at, _text(given.get("session_id"))),
    )


def _state(given: dict[str, Any]) -> str:
    """It knows no failures: what was not completed and names no error was left."""
    if given.get("completed"):
        return State.COMPLETED
    return State.FAILED if _label(given.get("error_type")) else State.ABANDONED


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _label(value: Any) -> str:
    return _text(value)[:LABEL_LENGTH]


def _labels(values: Any) -> list[str]:
    given = values if isinstance(values, list) else []
    return [label for label in map(_label, given) if label][:MOST_LABELS]


def _rank(value: Any) -> int | None:
    is_rank = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= HIGHEST_RANK
    return value if is_rank else None


def _seconds(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= LONGEST_SECONDS else None
