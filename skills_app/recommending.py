"""Which skill to use next: the queries that are most like the one at hand, and how it went with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from django.conf import settings
from django.db import connection

from sessions_app.access import Caller
from sessions_app.embedding import NoEmbeddings, Vectors, embedder
from sessions_app.objects import iso, uid_text
from skills_app import nearest, pgvector
from skills_app.invocations import COLUMNS, seconds
from skills_app.letters import letters
from skills_app.models import SkillInvocation, SkillRollup
from skills_app.rollup_rules import EVER, Cell
from skills_app.rollups import cell_of_row

MEANING, LETTERS = "meaning", "letters"
# Past queries that are told as a reason.
TOLD = 3
NOTES = {
    MEANING: "Compared by meaning.",
    LETTERS: "Compared by letters: there are no embeddings for this query. {why}",
}


class Found(Protocol):
    def best_by_skill(self) -> dict[str, float]: ...

    def closest(self, skill: str | None, limit: int) -> list[tuple[int, str, float]]: ...

    def forget(self, gone: Sequence[int]) -> None: ...


@dataclass(frozen=True)
class Question:
    query: str
    limit: int = 5
    session_pk: int | None = None
    min_similarity: float = 0.0
    workflow_phase: str = ""
    phase_weight: float = 0.3
    group: Literal["skill", "invocation"] = "skill"


class Hit(NamedTuple):
    score: float
    similarity: float
    pk: int
    skill: str
    method: str


def recommend(caller: Caller, asked: Question) -> dict[str, Any]:
    searches, method, note = _searches(caller, asked)
    track = _Record(caller, asked)
    while True:
        hits = _hits(searches, asked, track)
        told = {hit.skill: _like_it(searches, hit, asked) for hit in hits}
        wanted = {hit.pk: hit for hit in [*hits, *(near for some in told.values() for near in some)]}
        rows = _rows(caller, wanted)
        # What was erased, or got another vector since it was read: asked again without it.
        if not (gone := [hit for pk, hit in wanted.items() if pk not in rows]):
            break
        for found, method in searches:
            found.forget([hit.pk for hit in gone if hit.method == method])
    items = [_shown(hit, told[hit.skill], rows, track) for hit in hits]
    return {"items": items, "method": method, "note": note}


def boosted(similarity: float, boost: float, weight: float) -> float:
    return similarity * (1 - weight) + boost * weight


def smoothed_rate(cell: Cell | None) -> float:
    """Beta(1, 1): one success and one failure are imagined; 0.5 where it was never used."""
    return (cell.completed + 1) / (cell.finished + 2) if cell else 0.5


Searches = list[tuple[Found, str]]


def _searches(caller: Caller, asked: Question) -> tuple[Searches, str, str]:
    """By meaning, and by letters what has no vector of meaning yet; else by letters alone."""
    by_letters = (_found(caller, letters.model, letters.embed([asked.query])[0], asked), LETTERS)
    try:
        if not connection.in_atomic_block and settings.EMBEDDINGS == "openai":
            # Nobody waits for a server with a connection in hand.
            connection.close()
        maker = embedder()
        vector = maker.embed([asked.query])[0]
    except NoEmbeddings as error:
        return [by_letters], LETTERS, NOTES[LETTERS].format(why=error)
    by_meaning = (_found(caller, maker.model, vector, asked), MEANING)
    return [by_meaning, by_letters], MEANING, NOTES[MEANING]


def _found(caller: Caller, model: str, vector: Vectors, asked: Question) -> Found:
    by_database = pgvector.is_there() and settings.SKILL_SEARCH == "auto"
    search = pgvector.Found if by_database else nearest.Found
    return search(caller.agent_id, model, vector, asked.session_pk)


class _Record:
    """How skills did, ever and in the phase that was asked for; read once for the answer."""

    def __init__(self, caller: Caller, asked: Question) -> None:
        self.phase = asked.workflow_phase
        self.ever: dict[str, Cell] = {}
        self.in_phase: dict[str, Cell] = {}
        for row in SkillRollup.objects.filter(agent_id=caller.agent_id, day=EVER):
            cell = cell_of_row(row)
            self.ever.setdefault(row.skill_name, Cell()).add(cell)
            if self.phase and row.workflow_phase == self.phase:
                self.in_phase[row.skill_name] = cell

    def score(self, skill: str, similarity: float, weight: float) -> float:
        if not self.phase:
            return similarity
        return boosted(similarity, smoothed_rate(self.in_phase.get(skill)), weight)


def _hits(searches: Searches, asked: Question, track: _Record) -> list[Hit]:
    if asked.group == "invocation":
        # Boosts may turn the order round, so that each skill's closest are looked at.
        close = [
            (found, method, skill, asked.limit)
            for found, method in searches
            for skill, best in found.best_by_skill().items()
            if best >= asked.min_similarity
        ]
    else:
        close = [(found, method, skill, 1) for found, method, skill in _chosen_skills(searches, asked, track)]
    hits = [
        Hit(track.score(skill, similarity, asked.phase_weight), similarity, pk, skill, method)
        for found, method, skill, limit in close
        for pk, _, similarity in found.closest(skill, limit)
        if similarity >= asked.min_similarity
    ]
    return sorted(hits, key=_order)[: asked.limit]


def _order(hit: Hit) -> tuple[float, float, int]:
    return (-hit.score, -hit.similarity, -hit.pk)


def _chosen_skills(searches: Searches, asked: Question, track: _Record) -> list[tuple[Found, str, str]]:
    best: dict[str, tuple[float, float, int]] = {}
    for place, (found, _) in enumerate(searches):
        for skill, similarity in found.best_by_skill().items():
            if similarity >= asked.min_similarity:
                score = track.score(skill, similarity, asked.phase_weight)
                best[skill] = max(best.get(skill, (-9.0, -9.0, 0)), (score, similarity, -place))
    ranked = sorted(best, key=lambda skill: best[skill], reverse=True)[: asked.limit]
    # Those that are level with the last one may be newer: which comes first is decided with their numbers.
    border = best[ranked[-1]][:2] if ranked else None
    chosen = [skill for skill in best if skill in ranked or best[skill][:2] == border]
    return [(*searches[-best[skill][2]], skill) for skill in chosen]


def _like_it(searches: Searches, hit: Hit, asked: Question) -> list[Hit]:
    found = next(found for found, method in searches if method == hit.method)
    return [
        Hit(0, similarity, pk, skill, hit.method)
        for pk, skill, similarity in found.closest(hit.skill, TOLD)
        if similarity >= asked.min_similarity
    ]


def _rows(caller: Caller, hits: dict[int, Hit]) -> dict[int, Any]:
    """Those that are still there, with the vector by which they were found."""
    # By their numbers alone: with the agent beside them SQLite would rather read all of the agent's.
    found = SkillInvocation.objects.filter(pk__in=hits).values(*COLUMNS, "agent_id", "query_vector__model")
    return {
        row["pk"]: row
        for row in found
        if row["agent_id"] == caller.agent_id
        and (row["query_vector__model"] == letters.model) == (hits[row["pk"]].method == LETTERS)
    }


def _shown(hit: Hit, like_it: list[Hit], rows: dict[int, Any], track: _Record) -> dict[str, Any]:
    row = rows[hit.pk]
    return {
        "skill_name": hit.skill,
        "score": round(hit.score, 5),
        "similarity_score": hit.similarity,
        "invocation_id": uid_text(row["uid"]),
        "user_query": row["user_query"],
        "completed": row["state"] == "completed",
        "state": row["state"],
        "duration_seconds": seconds(row["duration_us"]),
        "session_id": uid_text(row["session__uid"]),
        "invoked_at": iso(row["invoked_at"]),
        "workflow_phase": row["workflow_phase"] or None,
        "matched_by": hit.method,
        "reasons": _reasons(hit, like_it, rows, track),
    }


def _reasons(hit: Hit, like_it: list[Hit], rows: dict[int, Any], track: _Record) -> dict[str, Any]:
    ever, in_phase = track.ever.get(hit.skill, Cell()), track.in_phase.get(hit.skill)
    first = 100 * ever.first_completed / ever.ranked_first if ever.ranked_first else None
    return {
        "similar_queries": [
            {
                "user_query": rows[near.pk]["user_query"],
                "similarity_score": near.similarity,
                "state": rows[near.pk]["state"],
            }
            for near in like_it
        ],
        "finished": ever.finished,
        "completed": ever.completed,
        "finished_in_phase": in_phase.finished if in_phase else 0,
        "completed_in_phase": in_phase.completed if in_phase else 0,
        "success_rate_when_first": first,
        "text": _sentence(hit, ever, in_phase, first, track.phase),
    }


def _sentence(hit: Hit, ever: Cell, in_phase: Cell | None, first: float | None, phase: str) -> str:
    parts = [f"Used for a query that is {hit.similarity:.0%} alike."]
    if ever.finished:
        parts.append(f"Worked {ever.completed} of {ever.finished} times.")
    else:
        parts.append("It has not been finished yet.")
    if phase:
        worked = f"{in_phase.completed} of {in_phase.finished} times" if in_phase else "not used yet"
        parts.append(f"In phase {phase}: {worked}.")
    if first is not None:
        parts.append(f"When it was recommended first it worked in {first:.0f} %.")
    return " ".join(parts)
