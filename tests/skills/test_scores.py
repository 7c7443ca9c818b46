"""Scores and thresholds worked out by hand: queries are points in a plane, so that each likeness is known."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from django.conf import LazySettings

from sessions_app.embedding import Vectors, normalised
from skills_app import recommending, tasks, vectors
from skills_app import workflow_rules as rules
from skills_app.rollup_rules import Cell
from tests.conftest import Api, said

from .conftest import Clock, start, use

EAST, BETWEEN, NORTH, WEST = "1 0", "3 4", "0 1", "-1 0"


class Plane:
    """A query is a point; that of `3 4` lies 0.6 to the east."""

    model, dimensions = "plane", 2

    def embed(self, texts: Sequence[str]) -> Vectors:
        return normalised(np.array([[float(part) for part in text.split()] for text in texts], np.float32))


@pytest.fixture(params=["auto", "process"])
def plane(request: pytest.FixtureRequest, settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SKILL_SEARCH = request.param
    for module in (recommending, vectors):
        monkeypatch.setattr(module, "embedder", Plane)

    # Nothing waits for a vector by meaning.
    class Letters(Plane):
        model = "no letters"

    monkeypatch.setattr(recommending, "letters", Letters())


def scores(api: Api, **asked: Any) -> list[Any]:
    """What is recommended for the east: skill, score, likeness."""
    items = said(api.post("/skills/recommend", {"query": EAST, **asked}))["items"]
    return [(each["skill_name"], each["score"], each["similarity_score"]) for each in items]


@pytest.fixture
def uses(clock: Clock, plane: None, api: Api) -> None:
    for skill, query, phase, completed in (
        ("near", EAST, "run", True), ("near", EAST, "run", False), ("near", NORTH, "run", False),
        ("half", BETWEEN, "run", True), ("half", BETWEEN, "run", True),
        ("far", NORTH, "setup", True), ("back", WEST, "setup", True),
    ):  # fmt: skip
        use(api, skill, completed, user_query=query, workflow_phase=phase)
        clock.move(seconds=1)


def test_without_a_phase_the_score_is_the_likeness(uses: None, api: Api) -> None:
    assert scores(api) == [("near", 1.0, 1.0), ("half", 0.6, 0.6), ("far", 0.0, 0.0)]
    assert scores(api, min_similarity=-1)[3:] == [("back", -1.0, -1.0)]


def test_a_phase_counts_with_its_weight(uses: None, api: Api) -> None:
    # Smoothed in phase run: near (1 + 1) / (3 + 2), half (2 + 1) / (2 + 2), far was never used there.
    assert scores(api, workflow_phase="run") == [
        ("near", pytest.approx(1.0 * 0.7 + 0.4 * 0.3), 1.0),
        ("half", pytest.approx(0.6 * 0.7 + 0.75 * 0.3), 0.6),
        ("far", pytest.approx(0.0 * 0.7 + 0.5 * 0.3), 0.0),
    ]
    assert scores(api, workflow_phase="run", phase_weight=0.9) == [
        ("half", pytest.approx(0.6 * 0.1 + 0.75 * 0.9), 0.6),
        ("near", pytest.approx(1.0 * 0.1 + 0.4 * 0.9), 1.0),
        ("far", pytest.approx(0.0 * 0.1 + 0.5 * 0.9), 0.0),
    ]
    assert scores(api, workflow_phase="run", phase_weight=0) == scores(api)
    assert scores(api, workflow_phase="run", phase_weight=1, limit=2) == [
        ("half", 0.75, 0.6), ("far", 0.5, 0.0)
    ]  # fmt: skip


def test_min_similarity_is_of_the_likeness_not_of_the_score(uses: None, api: Api) -> None:
    asked: dict[str, Any] = {"workflow_phase": "run", "phase_weight": 1}
    assert [skill for skill, _, _ in scores(api, **asked, min_similarity=0.6)] == ["half", "near"]
    assert [skill for skill, _, _ in scores(api, **asked, min_similarity=0.61)] == ["near"]


def test_each_invocation_by_its_own_score_and_the_newest_of_equal_ones_first(uses: None, api: Api) -> None:
    every = said(api.post("/skills/recommend", {"query": EAST, "group": "invocation", "limit": 4}))["items"]
    assert [(each["skill_name"], each["state"], each["score"]) for each in every] == [
        ("near", "failed", 1.0), ("near", "completed", 1.0), ("half", "completed", 0.6),
        ("half", "completed", 0.6),
    ]  # fmt: skip
    assert every[2]["invoked_at"] > every[3]["invoked_at"]


def test_running_and_abandoned_uses_weigh_as_they_are(clock: Clock, plane: None, api: Api) -> None:
    start(api, "left", user_query=EAST, workflow_phase="run")
    assert scores(api, workflow_phase="run", phase_weight=1) == [("left", 0.5, 1.0)]
    clock.move(hours=25)
    tasks.abandon_late()
    (after,) = scores(api, workflow_phase="run", phase_weight=1)
    assert after == ("left", pytest.approx(1 / 3, abs=1e-5), 1.0)


@pytest.mark.parametrize(
    ("completed", "failed", "abandoned", "expected"),
    [
        (0, 2, 0, None),
        (0, 3, 0, "CRITICAL"),
        (9, 1, 1, None),
        (4, 1, 0, "MONITOR"),
        (4, 0, 1, "MONITOR"),
        (7, 2, 1, "MONITOR"),
        (69, 30, 1, "WARNING"),
        (1, 1, 0, None),
        (2, 1, 1, "WARNING"),
        (49, 50, 1, "CRITICAL"),
    ],
)
def test_a_phase_is_stuck_from_a_fifth_of_three_on(
    completed: int, failed: int, abandoned: int, expected: str | None
) -> None:
    cells = {("skill", "phase"): Cell(completed=completed, failed=failed, abandoned=abandoned)}
    assert [each["level"] for each in rules.bottlenecks(cells)] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("completed", "finished", "best"), [(7, 10, False), (14, 20, False), (71, 100, True)]
)
def test_the_best_of_a_phase_works_more_than_seventy_times_in_a_hundred(
    completed: int, finished: int, best: bool
) -> None:
    cells = {("skill", "phase"): Cell(completed=completed, failed=finished - completed)}
    assert bool(rules.recommendations(rules.effectiveness(cells))) is best


@pytest.mark.parametrize(
    ("rate", "low"),
    [
        (100, 90),
        (90, 90),
        (89.99, 70),
        (70, 70),
        (69.99, 50),
        (50, 50),
        (49.99, 30),
        (30, 30),
        (29.99, 0),
        (0, 0),
    ],
)
def test_the_heat_map_has_five_classes(rate: float, low: int) -> None:
    assert rules.bucket(rate) == low


def test_the_heat_map_tells_what_was_not_used_from_what_never_worked() -> None:
    cells = {("a", "run"): Cell(failed=1), ("b", "setup"): Cell(completed=1), ("c", ""): Cell(completed=1)}
    assert rules.heatmap(cells) == {
        "phases": ["run", "setup"], "skills": ["a", "b"], "cells": [[0.0, None], [None, 100.0]]
    }  # fmt: skip
