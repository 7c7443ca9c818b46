import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_app.targets import BadTarget, Target, parse, written

IDS = st.text(min_size=1, max_size=40)
SLUGS = st.from_regex(r"[a-z0-9][a-z0-9._-]{0,20}", fullmatch=True).filter(
    lambda s: s not in ("origin", "local")
)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("origin", Target("origin")),
        ("ORIGIN", Target("origin")),
        ("Local", Target("local")),
        ("telegram", Target("telegram")),
        ("Telegram:AbC", Target("telegram", "AbC")),
        ("slack:C1:1700.5", Target("slack", "C1", "1700.5")),
        ("matrix:!room%3Aexample.org", Target("matrix", "!room:example.org")),
        ("matrix:!room%3aexample.org:$t%253A", Target("matrix", "!room:example.org", "$t%3A")),
        ("irc:100%", Target("irc", "100%")),
        ("irc:a%41", Target("irc", "a%41")),
        ("telegram:-100", Target("telegram", "-100")),
    ],
)
def test_a_target_is_read(text: str, target: Target) -> None:
    assert parse(text) == target


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "A target is origin"),
        (":1", "A target is origin"),
        ("tele gram:1", "A target is origin"),
        ("../etc", "A target is origin"),
        ("origin:1", "origin stands alone"),
        ("LOCAL:x", "local stands alone"),
        ("telegram:", "may not be empty"),
        ("telegram:1:", "may not be empty"),
        ("telegram::2", "may not be empty"),
        ("matrix:!room:example.org:t", "%3A"),
        ("telegram:" + "x" * 513, "at most 512 characters"),
    ],
)
def test_what_names_no_place_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadTarget, match=said.replace("%", "%")):
        parse(text)


@given(SLUGS, IDS, st.one_of(st.just(""), IDS))
def test_every_chat_and_thread_can_be_named(platform: str, chat_id: str, thread_id: str) -> None:
    target = Target(platform, chat_id, thread_id)
    assert parse(written(target)) == target


@given(st.text(max_size=60))
def test_any_text_is_a_target_or_refused(text: str) -> None:
    try:
        found = parse(text)
    except BadTarget:
        return
    assert found.platform == text.partition(":")[0].strip().lower()
