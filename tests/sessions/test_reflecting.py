"""The report, line by line, over entries that are written down here."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sessions_app.hedging import hedge
from sessions_app.reflecting import Reviewed, gathered
from sessions_app.reflection_report import linked, markdown, stats
from sessions_app.topics import leading, words

AT = datetime(2026, 5, 1, 10, tzinfo=UTC)


def entries(*given: dict[str, Any]) -> list[Reviewed]:
    """Newest first, a minute apart, the newest at ten."""
    return [
        Reviewed(
            f"s.{number}",
            "s",
            **{"kind": "message", "role": "", "created_at": AT - timedelta(minutes=number), **one},
        )
        for number, one in enumerate(given)
    ]


def said(role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "text": text, **more}


def test_a_report_on_nothing_says_so() -> None:
    found = stats(gathered([]))
    assert markdown(found) == "No conversation history to reflect on yet."
    assert found["insights"] == []


def test_a_healthy_conversation() -> None:
    found = stats(gathered(entries(said("assistant", "24 °C."), said("user", "How warm is it?"))))
    assert (
        markdown(found)
        == """\
## Self-Reflection Report

Reviewed 2 recent entries: 1 user messages, 1 responses, 0 errors.

### Low-Confidence Responses
None found — all responses above threshold.

### Errors
No errors recorded.

### Recurring Topics
No strong patterns detected.

### Insights
- Conversations look healthy. Keep up the good work."""
    )


TROUBLED = entries(
    said("assistant", "Lisbon,\n# perhaps", confidence=0.49),
    {"kind": "error", "text": "timeout after 10 s"},
    said("user", "Lisbon, please! The Lisbon weather"),
    {"kind": "error", "text": "timeout after 25 s"},
    said("assistant", "Exactly half.", confidence=0.5),
    said("user", '"Lisbon" (weather) the weather'),
    {"kind": "decision", "text": "Celsius"},
)


def test_a_troubled_one() -> None:
    found = stats(gathered(TROUBLED))
    assert (
        markdown(found)
        == """\
## Self-Reflection Report

Reviewed 7 recent entries: 2 user messages, 2 responses, 2 errors.

### Low-Confidence Responses (1)
- [2026-05-01T10:00:00] confidence=49%: Lisbon, # perhaps

### Errors (2)
- [2026-05-01T09:59:00] timeout after 10 s
- [2026-05-01T09:57:00] timeout after 25 s

### Recurring Topics
- "lisbon" (3 mentions)
- "weather" (3 mentions)

### Repeated Errors
- 2 times: timeout after 10 s

### Insights
- Consider studying topics where confidence was low.
- Review error patterns for recurring infrastructure issues.
- User frequently asks about "lisbon" — consider deepening knowledge here."""
    )
    places = """\
### Messages
- "lisbon": [1](/m/s.2) [2](/m/s.5)
- "weather": [1](/m/s.2) [2](/m/s.5)
- timeout after 10 s: [1](/m/s.1) [2](/m/s.3)

[2026-05-01T10:00:00]: /m/s.0
[2026-05-01T09:59:00]: /m/s.1
[2026-05-01T09:57:00]: /m/s.3"""
    assert linked(found, "/m/{}") == f"{markdown(found)}\n\n{places}"


def test_every_finding_names_its_messages() -> None:
    found = stats(gathered(TROUBLED))
    assert [item["message_id"] for item in found["low_confidence_items"]] == ["s.0"]
    assert [item["message_id"] for item in found["error_items"]] == ["s.1", "s.3"]
    assert found["repeated_errors"] == [
        {
            "shape": "timeout after <n> s",
            "count": 2,
            "example": "timeout after 10 s",
            "message_ids": ["s.1", "s.3"],
        }
    ]
    assert found["topics"][0] == {"word": "lisbon", "mentions": 3, "message_ids": ["s.2", "s.5"]}


def test_errors_repeat_by_what_was_raised_wherever_it_was() -> None:
    stack = 'Traceback (most recent call last):\n  File "/{}.py", line {}\nKeyError: {}'
    raised = [
        {"kind": "error", "text": stack.format(name, line, line)} for name, line in (("a", 3), ("b", 77))
    ]
    [found] = stats(gathered(entries(*raised)))["repeated_errors"]
    assert (found["shape"], found["count"], found["example"]) == ("keyerror: <n>", 2, "KeyError: 3")


def test_five_are_shown_and_all_are_counted() -> None:
    found = stats(gathered(entries(*[{"kind": "error", "text": f"e{'x' * 200}"} for _ in range(7)])))
    assert (found["errors"], len(found["error_items"])) == (7, 5)
    assert found["error_items"][0]["text"] == "e" + "x" * 119
    assert "### Errors (7)\n- [2026-05-01T10:00:00] e" in markdown(found)


def test_tools_that_fail_and_tools_that_are_slow() -> None:
    found = stats(
        gathered(
            entries(
                {"kind": "tool_call", "tool": "shell", "result": {"exit_code": 1}, "seconds": 1.0},
                {"kind": "tool_call", "tool": "shell", "result": "Error: no", "seconds": 12.0},
                {"kind": "tool_call", "tool": "shell", "result": "ok", "seconds": 2.0},
                # A minute after the call that it answers.
                said("tool", "24 °C", answers="a", result="24 °C"),
                said("assistant", "", calls=(("a", "weather"), ("b", "weather"))),
            )
        )
    )
    assert found["tools"] == [
        {
            "tool": "shell",
            "calls": 3,
            "failures": 2,
            "average_seconds": 5.0,
            "slowest_seconds": 12.0,
            "failed_message_ids": ["s.0", "s.1"],
            "slow_message_ids": ["s.1"],
        },
        {
            "tool": "weather",
            "calls": 2,
            "failures": 0,
            "average_seconds": 60.0,
            "slowest_seconds": 60.0,
            "failed_message_ids": [],
            "slow_message_ids": ["s.3"],
        },
    ]
    text = markdown(found)
    assert "### Failing Tools\n- shell: 2 of 3 calls failed\n" in text
    assert "### Slow Tools\n- shell: 12.0 s at worst, 5.0 s on average\n- weather: 60.0 s at worst" in text
    assert "- The tool shell fails more often than it works." in text


def test_compared_with_before() -> None:
    found = stats(gathered(TROUBLED), gathered(entries({"kind": "error", "text": "x"}, said("user", "a"))))
    assert (
        "### Compared With Before\n- Entries: 7 (+5)\n- User messages: 2 (+1)\n- Errors: 2 (+1)"
        in markdown(found)
    )


@pytest.mark.parametrize(
    ("text", "confidence", "hedged"),
    [("I'm not sure, it might be 24.", None, 1), ("I\u2019m not sure.", 0.9, 0), ("It is 24.", None, 0)],
)
def test_hedging_counts_where_no_confidence_was_given(
    text: str, confidence: float | None, hedged: int
) -> None:
    found = stats(gathered(entries(said("assistant", text, confidence=confidence))))
    assert found["hedged"] == hedged
    assert ("### Hedged Responses (1)\n- [2026-05-01T10:00:00] “i'm not sure”: " in markdown(found)) is bool(
        hedged
    )
    assert hedge("Perhaps later") == "perhaps"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The weather, the WEATHER!", ["weather", "weather"]),
        ("don't know what this would be", []),
        ("cat cats 1234 12345", ["cats"]),
        ("well-known user_name", ["well-known", "user", "name"]),
        ("погода мир", ["погода"]),
        ("北京的天气", ["北京", "天气"]),
        ("ホテルを予約", ["ホテル", "予約"]),
        ("서울 날씨", ["서울", "날씨"]),
        ("दिल्ली में मौसम", ["दिल्ली", "मौसम"]),
        ("see https://example.org/cats or ask cats@example.org", []),
        ("kannst du bitte die Rechnung schicken", ["rechnung", "schicken"]),
        ("necesito las facturas para mañana", ["necesito", "facturas", "mañana"]),
        ("мне нужно расписание", ["расписание"]),
        (
            "帮我做数据分析",
            ["做数", "数据", "据分", "分析", "做数据", "数据分", "据分析", "做数据分", "数据分析"],
        ),
        ("", []),
    ],
)
def test_words_of_any_script(text: str, expected: list[str]) -> None:
    assert list(words(text)) == expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["数据分析报告", "请看数据分析", "数据分析和数据"], [("数据", 4), ("数据分析", 3)]),
        # Six signs are counted by fours, which are one word all the same.
        (["人工智能系统"] * 3, [("人工智能", 3), ("系统", 3)]),
        (["北京天气", "天气北京", "北京的天气"], [("北京", 3), ("天气", 3)]),
        (["cats and dogs", "cats", "dogs cats dogs"], [("cats", 3), ("dogs", 3)]),
    ],
)
def test_no_topic_is_a_part_of_another(texts: list[str], expected: list[tuple[str, int]]) -> None:
    assert leading(Counter(word for text in texts for word in words(text)), 3, 5) == expected


def test_findings_of_one_second_lead_each_to_its_own_message() -> None:
    [one, other] = entries({"kind": "error", "text": "a"}, {"kind": "error", "text": "b", "created_at": AT})
    lines = linked(stats(gathered([one, other])), "/m/{}").splitlines()
    assert "- [2026-05-01T10:00:00] a" in lines
    assert "- [2026-05-01T10:00:00] b ([message](/m/s.1))" in lines
    assert "[2026-05-01T10:00:00]: /m/s.0" in lines
