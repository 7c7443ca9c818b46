"""Which skill to use next: the queries that are most like the one at hand, and how it went with them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
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

MEANING, LETTERS = "meaning", "letters"
# Past queries that are told as a reason.
TOLD = 3
# What of the counts is told, and weighs.
TRACKED = ("completed", "failed", "abandoned", "ranked_first", "first_completed")
NOTES = {
    MEANING: "Compared by meaning.",
    LETTERS: "Compared by letters: there are no embeddings for this query. {why}",
}


class Found(Protocol):
    def best_by_skill(self) -> dict[str, float]: ...

    def closest(self, skill: str, limit: int) -> list[tuple[int, float]]: ...

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
    track = _Record(caller.agent_id, asked)
    while True:
        near = _near(searches, asked, track)
        hits = _best(near, asked)
        told = {(hit.skill, hit.method): near[hit.skill, hit.method][:TOLD] for hit in hits}
        wanted = {hit.pk: hit for hit in [*hits, *chain(*told.values())]}
        rows = _rows(caller, wanted)
        # What was erased, or got another vector since it was read: asked again without it.
        if not (gone := [hit for pk, hit in wanted.items() if pk not in rows]):
            break
        for found, of_method in searches:
            found.forget([hit.pk for hit in gone if hit.method == of_method])
    ever = track.ever({hit.skill for hit in hits})
    items = [_shown(hit, told[hit.skill, hit.method], rows, ever[hit.skill], track) for hit in hits]
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
    """How skills did in the phase that was asked for, and ever."""

    def __init__(self, agent_id: int, asked: Question) -> None:
        self.phase, self._weight = asked.workflow_phase, asked.phase_weight
        self._rollups = SkillRollup.objects.filter(agent_id=agent_id, day=EVER)
        self.in_phase = self._cells(workflow_phase=self.phase) if self.phase else {}

    def ever(self, skills: Collection[str]) -> dict[str, Cell]:
        return {skill: Cell() for skill in skills} | self._cells(skill_name__in=skills)

    def _cells(self, **chosen: Any) -> dict[str, Cell]:
        cells: dict[str, Cell] = {}
        for skill, *sums in self._rollups.filter(**chosen).values_list("skill_name", *TRACKED):
            cells.setdefault(skill, Cell()).add(Cell(**dict(zip(TRACKED, sums, strict=True))))
        return cells

    def score(self, skill: str, similarity: float) -> float:
        if not self.phase:
            return similarity
        return boosted(similarity, smoothed_rate(self.in_phase.get(skill)), self._weight)


# The hits of a skill by one method, the most alike first.
Near = dict[tuple[str, str], list[Hit]]


def _near(searches: Searches, asked: Question, track: _Record) -> Near:
    if asked.group == "invocation":
        # Boosts may turn the order round, so that each skill's closest are looked at.
        close = [
            (found, method, skill)
            for found, method in searches
            for skill, best in found.best_by_skill().items()
            if best >= asked.min_similarity
        ]
    else:
        close = _chosen_skills(searches, asked, track)
    most = max(TOLD, asked.limit if asked.group == "invocation" else 1)
    return {
        (skill, method): [
            Hit(track.score(skill, similarity), similarity, pk, skill, method)
            for pk, similarity in found.closest(skill, most)
            if similarity >= asked.min_similarity
        ]
        for found, method, skill in close
    }


def _best(near: Near, asked: Question) -> list[Hit]:
    each = asked.limit if asked.group == "invocation" else 1
    return sorted(chain(*(hits[:each] for hits in near.values())), key=_order)[: asked.limit]


def _order(hit: Hit) -> tuple[float, float, int]:
    return (-hit.score, -hit.similarity, -hit.pk)


def _chosen_skills(searches: Searches, asked: Question, track: _Record) -> list[tuple[Found, str, str]]:
    best: dict[str, tuple[float, float, int]] = {}
    for place, (found, _) in enumerate(searches):
        for skill, similarity in found.best_by_skill().items():
            if similarity >= asked.min_similarity:
                score = track.score(skill, similarity)
                best[skill] = max(best.get(skill, (-9.0, -9.0, 0)), (score, similarity, -place))
    ranked = sorted(best, key=lambda skill: best[skill], reverse=True)[: asked.limit]
    # Those that are level with the last one may be newer: which comes first is decided with their numbers.
    border = best[ranked[-1]][:2] if ranked else None
    chosen = [skill for skill in best if skill in ranked or best[skill][:2] == border]
    return [(*searches[-best[skill][2]], skill) for skill in chosen]


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


def _shown(hit: Hit, like_it: list[Hit], rows: dict[int, Any], ever: Cell, track: _Record) -> dict[str, Any]:
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
        "reasons": _reasons(hit, like_it, rows, ever, track),
    }


def _reasons(
    hit: Hit, like_it: list[Hit], rows: dict[int, Any], ever: Cell, track: _Record
) -> dict[str, Any]:
    in_phase = track.in_phase.get(hit.skill)
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
