import pytest

from sessions_app.passages import LONGEST, passages, width


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One is here. Two is there.", ["One is here.", "Two is there."]),
        ("Remind me on the 1. July. Thanks.", ["Remind me on the 1. July.", "Thanks."]),
        (
            "Use a small one, e.g. the first. Dr. Who said so.",
            ["Use a small one, e.g. the first.", "Dr. Who said so."],
        ),
        ("It is version 3.12 of example.org.", ["It is version 3.12 of example.org."]),
        ("He said “no.” Then he left!", ["He said “no.”", "Then he left!"]),
        ("你好。今天怎么样\uff1f很好\uff01", ["你好。", "今天怎么样\uff1f", "很好\uff01"]),
        ("# Title\n\nThe text.", ["The text."]),
        (
            "> quoted\n\n---\n\n**bold** and *slanted* and 2 * 3 * 4",
            ["quoted", "bold and slanted and 2 * 3 * 4"],
        ),
        ("[Message Time: 2026-05-01T10:00:00+00:00]\nHello there\n[image: a.png]", ["Hello there"]),
        ("- fix login\n- [x] update docs\n3) ship it", ["fix login", "update docs", "ship it"]),
        ("To do:\n\n* fix login.\n* update docs;\n\nBye", ["To do: fix login; update docs;", "Bye"]),
        ("## Causes\n- money\n- ideas", ["Causes: money; ideas"]),
        ("- a long point\n  that goes on\n- another", ["a long point that goes on", "another"]),
        ("| a | b |\n|---|:--|\n| one | 1 |\n| two | 2 |", ["one, 1", "two, 2"]),
        (
            "This line was broken by a program that sends mails\nand it goes on here.",
            ["This line was broken by a program that sends mails and it goes on here."],
        ),
        ("Here it is:\n```python\na = 1\nb = 2\n```\nDone", ["Here it is: [code: python, 2 lines]", "Done"]),
        (
            "Look:\n```\nx\n```\n\n```sh\ny\n```\nSo it is",
            ["Look: [code: 1 line]; [code: sh, 1 line]", "So it is"],
        ),
        ("```python\nx\n```", []),
        (
            "It crashes:\n```\nTraceback (most recent call last):\n  File \"a.py\"\nKeyError: 'user'\n```",
            ["It crashes: [code: KeyError: 'user']"],
        ),
        ("...\n!!!\n12345\n👍", []),
        ("", []),
    ],
)
def test_a_message_as_passages(text: str, expected: list[str]) -> None:
    assert passages(text, 0) == expected


def test_few_words_stay_with_their_neighbours() -> None:
    assert passages("The second. Surprise me.", 60) == ["The second. Surprise me."]
    assert passages("你好。今天怎么样\uff1f", 60) == ["你好。今天怎么样\uff1f"]
    long = "A sentence that is long enough to stand alone in any list. Yes."
    assert passages(long, 40) == [long]
    assert passages(f"{long} {long}", 40) == [long, long]


def test_idle_talk_is_left_out_of_a_line_that_says_more() -> None:
    assert passages("Great. Book it.", 60, lambda sentence: sentence == "Great.") == ["Book it."]
    assert passages("Great.", 60, lambda sentence: sentence == "Great.") == ["Great."]


@pytest.mark.parametrize("text", ["word " * 200, "字" * 400, "x" * 1000, "多い word " * 90])
def test_no_passage_is_too_wide(text: str) -> None:
    [passage] = passages(text, 0)
    assert width(passage) <= LONGEST
    assert passage.endswith("…")


def test_a_long_list_takes_several_passages() -> None:
    found = passages(
        "Shopping:\n" + "\n".join(f"- {number} bags of flour and sugar" for number in range(30)), 0
    )
    assert found[0].startswith("Shopping: 0 bags of flour and sugar; 1 bags")
    assert all(width(passage) <= LONGEST for passage in found)
    assert sum(passage.count("bags") for passage in found) == 30
