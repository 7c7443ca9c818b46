"""Session keys against a rule written a second time: what tells two sources apart, as tuples."""

import re
from dataclasses import replace
from urllib.parse import unquote
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway_app.schemas import SourceIn
from gateway_app.sources import BadSource, Source, describe, session_key

WHATSAPP = re.compile(r"\+*([^+:@][^:@]*?)((?<=[0-9])\.[0-9]+)?(?=[:@]|\Z)")
PERSON = UUID("01890000-0000-7000-8000-000000000001")

hostile_ids = st.one_of(
    st.none(),
    st.text(alphabet=":%=tu@+1Aé \n", max_size=6),
    st.sampled_from(
        [
            "t=1",
            "u=1",
            "1:t=1",
            "%3A",
            ":",
            "%",
            "=",
            "+1",
            "1@s.whatsapp.net",
            "1:12@g.us",
            "1.0:3@lid",
            "1.",
            "1",
        ]
    ),
)
sources = st.builds(
    Source,
    platform=st.sampled_from(["telegram", "whatsapp", "local"]),
    chat_type=st.sampled_from(["dm", "group", "channel", "thread"]),
    chat_id=hostile_ids,
    user_id=hostile_ids,
    thread_id=hostile_ids,
    chat_name=hostile_ids,
)
dms = sources.map(lambda source: replace(source, chat_type="dm"))
scopes = st.tuples(st.sampled_from(["chat", "owner"]), st.sampled_from(["chat", "user"]))


def account(platform: str, identifier: str | None) -> str | None:
    if not identifier:
        return None
    if platform == "whatsapp" and (found := WHATSAPP.match(identifier)):
        return found[1]
    return identifier


def apart(source: Source, dm_scope: str, group_scope: str) -> tuple[str | None, ...]:
    chat, user = account(source.platform, source.chat_id), account(source.platform, source.user_id)
    thread = source.thread_id or None
    if source.chat_type == "dm" and dm_scope == "owner":
        return (source.platform, "dm", None, None, None)
    if source.chat_type == "dm":
        speaker = user if chat is None else None
    elif group_scope == "user" and thread is None and source.chat_type != "thread":
        speaker = user
    else:
        speaker = None
    return (source.platform, source.chat_type, chat, thread, speaker)


@settings(max_examples=3000, deadline=None)
@given(sources, sources, scopes)
def test_two_sources_share_a_key_only_if_the_rules_say_so(
    one: Source, two: Source, scope: tuple[str, str]
) -> None:
    same = session_key("main", one, *scope) == session_key("main", two, *scope)
    assert same == (apart(one, *scope) == apart(two, *scope))


@settings(max_examples=2000, deadline=None)
@given(sources, scopes)
def test_a_key_reads_back_to_what_it_was_made_of(source: Source, scope: tuple[str, str]) -> None:
    head, agent, platform, chat_type, *rest = session_key("main", source, *scope).split(":")
    assert (head, agent) == ("agent", "main")
    labelled = dict(part.split("=") for part in rest if "=" in part)
    plain = [unquote(part) for part in rest if "=" not in part]
    read = (
        platform,
        chat_type,
        plain[0] if plain else None,
        unquote(labelled["t"]) if "t" in labelled else None,
        unquote(labelled["u"]) if "u" in labelled else None,
    )
    assert read == apart(source, *scope)


@settings(deadline=None)
@given(dms)
def test_the_dms_of_a_linked_person_share_a_key_that_no_platform_can_have(source: Source) -> None:
    assert session_key("main", source, person=PERSON) == f"agent:main:@{PERSON}:dm"
    assert "@" not in session_key("main", source).split(":")[2]


@settings(deadline=None)
@given(st.integers(min_value=-(2**63), max_value=2**63))
def test_a_number_and_its_decimal_text_are_one_id(number: int) -> None:
    as_number = SourceIn.model_validate({"platform": "telegram", "chat_id": number})
    assert as_number.source() == Source("telegram", chat_id=str(number))


@pytest.mark.parametrize(
    ("source", "dm_scope", "group_scope", "key"),
    [
        (Source("telegram", "12"), "chat", "chat", "agent:main:telegram:dm:12"),
        (Source("telegram", "12", thread_id="7"), "chat", "chat", "agent:main:telegram:dm:12:t=7"),
        (Source("telegram", "12", thread_id="7"), "owner", "chat", "agent:main:telegram:dm"),
        (Source("signal", user_id="u1"), "chat", "chat", "agent:main:signal:dm:u=u1"),
        (Source("local"), "chat", "chat", "agent:main:local:dm"),
        (Source("x", "r", chat_type="group", user_id="u"), "chat", "chat", "agent:main:x:group:r"),
        (Source("x", "r", chat_type="group", user_id="u"), "chat", "user", "agent:main:x:group:r:u=u"),
        (Source("x", "r", chat_type="group"), "chat", "user", "agent:main:x:group:r"),
        (
            Source("x", "r", chat_type="group", user_id="u", thread_id="9"),
            "chat",
            "user",
            "agent:main:x:group:r:t=9",
        ),
        (Source("x", "r", chat_type="thread", user_id="u"), "chat", "user", "agent:main:x:thread:r"),
        (Source("matrix", "!a:b=c%"), "chat", "chat", "agent:main:matrix:dm:!a%3Ab%3Dc%25"),
        (Source("whatsapp", "+49170"), "chat", "chat", "agent:main:whatsapp:dm:49170"),
        (Source("whatsapp", "49170:12@s.whatsapp.net"), "chat", "chat", "agent:main:whatsapp:dm:49170"),
        (Source("whatsapp", "49170:3@lid"), "chat", "chat", "agent:main:whatsapp:dm:49170"),
        (Source("whatsapp", "49170.0:3@s.whatsapp.net"), "chat", "chat", "agent:main:whatsapp:dm:49170"),
        (Source("whatsapp", "49170.1@lid"), "chat", "chat", "agent:main:whatsapp:dm:49170"),
        (Source("whatsapp", "49170-1.x@g.us"), "chat", "chat", "agent:main:whatsapp:dm:49170-1.x"),
        (Source("telegram", "49170.0"), "chat", "chat", "agent:main:telegram:dm:49170.0"),
        (Source("telegram", "+49170"), "chat", "chat", "agent:main:telegram:dm:+49170"),
    ],
)
def test_keys_worked_out_by_hand(source: Source, dm_scope: str, group_scope: str, key: str) -> None:
    assert session_key("main", source, dm_scope, group_scope) == key


def test_a_key_over_512_characters_is_refused() -> None:
    room = len("agent:main:x:dm:")
    assert len(session_key("main", Source("x", "c" * (512 - room)))) == 512
    with pytest.raises(BadSource, match="513 characters, over 512"):
        session_key("main", Source("x", "c" * (513 - room)))


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"platform": "Telegram"}, "platform"),
        ({"platform": "@x"}, "platform"),
        ({"platform": "x" * 65}, "platform"),
        ({"platform": "x\n"}, "platform"),
        ({"platform": "x", "chat_id": True}, "chat_id"),
        ({"platform": "x", "chat_id": 1.0}, "chat_id"),
        ({"platform": "x", "user_id": "u" * 513}, "user_id"),
        ({"platform": "x", "chat_type": "room"}, "chat_type"),
    ],
)
def test_what_cannot_be_a_source_is_refused_by_name(fields: dict[str, object], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        SourceIn.model_validate(fields)


@pytest.mark.parametrize(
    ("source", "description"),
    [
        (Source("local", user_name="Ann"), "CLI terminal"),
        (Source("x", user_name="Ann", user_id="5"), "DM with Ann"),
        (Source("x", user_name="\u202e", user_id="5"), "DM with 5"),
        (Source("x"), "DM with user"),
        (Source("x", "c", "Crew", "group", thread_id="9"), "group: Crew, thread: 9"),
        (Source("x", "c", chat_type="channel"), "channel: c"),
        (Source("x", "c", "Talk", "thread"), "Talk"),
        (Source("x", "c", "a\n## b\u2028**c**\x85`d`", "group"), "group: a ## b *c* 'd'"),
        (Source("x", "c", "n" * 10_000, "group"), "group: " + "n" * 239 + "…"),
    ],
)
def test_a_source_is_described_on_one_line(source: Source, description: str) -> None:
    assert describe(source) == description
