"""The estimate by hand: a token is 4 ASCII letters or spaces, 2 digits or signs, 3 bytes of anything else;
a message costs 4 more."""

import pytest

from sessions_app.tokens import estimate, estimate_message
from tests.sessions.conversations import JSON


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("four", 1),
        ("fives", 2),
        ("x" * 4000, 1000),
        ("你好", 2),
        ("你好 hello", 2 + 2),
        ("é", 1),
        ("naïve", 1 + 1),
        ("12345678", 4),
        ("{}", 1),
        ("x = 1;", 3),
        ("🙂", 2),
        ("привет", 4),
    ],
)
def test_a_text(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        ({"role": "user", "content": ""}, 4),
        ({"role": "user", "content": None}, 4),
        ({"role": "user", "content": "abcdefgh"}, 4 + 2),
        ({"role": "assistant", "content": "abcd", "reasoning_content": "abcdefgh"}, 4 + 1 + 2),
        # {"type":"text","text":"hi"} is 14 letters and 13 signs.
        ({"role": "user", "content": [{"type": "text", "text": "hi"}]}, 4 + 10),
        ({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x" * 9000}}]}, 4 + 1000),
        # [{"id":"a","function":{"name":"f"}}] is 16 letters and 20 signs.
        ({"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]}, 4 + 14),
    ],
)
def test_a_message(message: JSON, tokens: int) -> None:
    assert estimate_message(message) == tokens


def test_media_cost_what_their_lines_do() -> None:
    user = {"role": "user", "content": "abcd"}
    assert estimate_message(user, ["/a/b.png", "/c.png"]) == 4 + 1 + (4 + 3) + (4 + 2)
    assert estimate_message({**user, "role": "assistant"}, ["/a/b.png"]) == 4 + 1


# By hand: a token for each common word, sign and Chinese character, one or two more for rare and long words.
@pytest.mark.parametrize(
    ("text", "fewest", "most"),
    [
        ("The quick brown fox jumps over the lazy dog.", 9, 12),
        ("Please remind me to call the dentist tomorrow at nine.", 10, 14),
        ('{"path": "/var/log/syslog", "lines": 50}', 10, 16),
        ("今天天气怎么样?", 5, 9),
        ("Wie wäre es mit einem Spaziergang im Grünen?", 10, 15),
    ],
)
def test_the_estimate_is_near_a_count_by_hand(text: str, fewest: int, most: int) -> None:
    assert fewest <= estimate(text) <= most
