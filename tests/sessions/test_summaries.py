"""What the extractive engine keeps of conversations as people have them.

`talks/` has them as text, and beside each the summary that a person found good: whoever changes the engine
reads the difference.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sessions_app import extracting
from sessions_app.engines import Digest, Material
from sessions_app.engines.extractive import ExtractiveEngine
from sessions_app.extracting import choose
from sessions_app.points import Point
from sessions_app.sentences import Sentence, Spoken, sentences
from sessions_app.tokens import estimate

TALKS = Path(__file__).parent / "talks"
Said = tuple[str, str, str]


def spoken(*entries: Said) -> list[Spoken]:
    """(who, what, more): user, assistant, tool (its name), error (where), decision (why)."""
    return [
        Spoken(seq, who, "", text, detail=more)
        if who in ("error", "decision")
        else Spoken(seq, "message", who, text, more)
        for seq, (who, text, more) in enumerate(entries, 1)
    ]


def talk(name: str) -> list[Spoken]:
    entries = (TALKS / f"{name}.txt").read_text().removeprefix("== ").split("\n== ")
    parted = (entry.partition("\n") for entry in entries)
    heads = [(head.partition(" | "), text.strip()) for head, _, text in parted]
    return spoken(*((who, text, more) for (who, _, more), text in heads))


def condensed(conversation: Sequence[Spoken], earlier: Sequence[Point] = ()) -> Digest:
    tokens = sum(4 + estimate(one.text) for one in conversation)
    return ExtractiveEngine().condense(Material(lambda: conversation, tokens, len(conversation), earlier))


@pytest.mark.parametrize("name", ["chinese", "german", "import_fails", "new_in_town", "script_crashes"])
def test_a_conversation_and_what_is_kept_of_it(name: str) -> None:
    assert condensed(talk(name)).summary == (TALKS / f"{name}.summary.md").read_text().strip()


def test_the_same_conversation_gives_the_same_summary() -> None:
    assert condensed(talk("import_fails")) == condensed(talk("import_fails"))


def test_points_stand_in_the_order_in_which_they_were_said() -> None:
    text = "We use version 3 for now. Please never deploy on a Friday, whatever they say!\nMy name is Ada."
    digest = condensed(spoken(("user", text, ""), ("assistant", "I deployed it on Thursday at 10:00.", "")))
    places = [text.find(point.text[:20]) for point in digest.points if point.seq == 1]
    assert places == sorted(places)
    assert [point.seq for point in digest.points] == sorted(point.seq for point in digest.points)


def test_what_was_open_before_is_settled_by_what_follows() -> None:
    first = condensed(
        spoken(("user", "Please remember the milk. Is the shop on Main Street open on Sunday?", ""))
    )
    [point] = first.points
    assert point.label == "User, open question"
    second = condensed(spoken(("assistant", "It is open from 9:00 to 13:00 on Sunday.", "")), first.points)
    assert [one.label for one in second.points] == ["User", "Assistant"]


def test_what_an_assistant_asked_last_is_open_and_its_politeness_is_not() -> None:
    def labels(last: str) -> list[str]:
        asked = spoken(("user", "Please book the room for Friday.", ""), ("assistant", last, ""))
        return [point.label for point in condensed(asked).points]

    assert labels("For how many people shall I book the room on Friday?") == [
        "User",
        "Assistant, open question",
    ]
    assert labels("I booked room 204 for Friday. Is there anything else I can do for you?") == [
        "User",
        "Assistant",
    ]


def test_a_failed_call_that_is_an_error_too_is_told_once() -> None:
    failing = spoken(
        ("tool", '{"error": "timeout after 10 s"}', "search"),
        ("error", "timeout after 10 s", "search, first try"),
        ("tool", '{"error": "timeout after 12 s"}', "search"),
        ("error", "timeout after 12 s", "search, second try"),
        ("tool", "Error: no such file", "files"),
    )
    assert condensed(failing).summary.splitlines() == [
        "- Error: timeout after 10 s (search, first try) (2 times)",
        "- Tool files: Error: no such file",
    ]


def test_facts_of_one_form_are_no_repetition() -> None:
    born = {"Ada": "3 May", "Bob": "4 June", "Cleo": "30 August"}
    told = [("user", f"Please remember that {name} was born on {day}.", "") for name, day in born.items()]
    again = ("user", "Please do remember: Bob was born on 4 June.", "")
    kept = [point.text for point in condensed(spoken(*told, again)).points]
    assert [name for name in born for text in kept if name in text] == ["Ada", "Bob", "Cleo"]


def test_a_longer_conversation_than_is_kept_at_once_loses_what_weighs_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extracting, "MOST_KEPT", 20)
    light = [Sentence(seq, "Assistant", f"light {seq}", 0.8) for seq in range(2, 200)]
    heavy = Sentence(1, "User", "heavy", 3.0)
    points = choose([heavy, *light], 100, None)
    assert points[0].text == "heavy"
    # Of equal weight the newest are kept.
    assert all(point.seq > 150 for point in points[1:])


def test_an_answer_is_worth_more_than_the_same_words_unasked() -> None:
    def weight(*entries: Said) -> float:
        return list(sentences(spoken(*entries)))[-1].weight

    answer = ("assistant", "The garden opens at nine in the morning.", "")
    unasked = weight(("user", "I went for a walk around the lake yesterday.", ""), answer)
    asked = weight(("user", "When does the garden open?", ""), answer)
    assert round(asked - unasked, 4) == 0.4
    fixed = ("assistant", "The server works again.", "")
    told = weight(("user", "I went for a walk around the lake yesterday.", ""), fixed)
    mended = weight(("error", "502 from the server", ""), fixed)
    assert round(mended - told, 4) == 0.4


def test_no_summary_needs_meanings() -> None:
    points = choose(sentences(talk("import_fails")), 300, None)
    assert [point.label for point in points].count("Decided") == 1
    vectors = extracting.meanings(["one", "another"], None)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
