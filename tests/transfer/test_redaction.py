"""No known secret shape survives a redacted export; the agent's own window is never touched unless set."""

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.redaction_rules import SECRETS, BadPattern, compiled, redacted, rules
from tests.conftest import Api, said

from .test_export import streamed

KEY = "sk-proj-abcdefghij0123456789ABCDEFGHIJ"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def word(least: int, most: int | None = None, letters: str = LETTERS) -> st.SearchStrategy[str]:
    return st.text(letters, min_size=least, max_size=most or least + 8)


# Written down once more, from how the services describe their keys: not from our patterns.
SHAPES: dict[str, st.SearchStrategy[str]] = {
    "openai": word(32).map(lambda text: f"sk-proj-1{text}"),
    "anthropic": word(40).map(lambda text: f"sk-ant-api03-{text}"),
    "github": word(36, 36).map(lambda text: f"ghp_{text}"),
    "gitlab": word(20, 20).map(lambda text: f"glpat-{text}"),
    "slack": word(12).map(lambda text: f"xoxb-{text}-{text}"),
    "aws": word(16, 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567").map(lambda text: f"AKIA{text}"),
    "google": word(35, 35).map(lambda text: f"AIza{text}"),
    "stripe": word(24).map(lambda text: f"sk_live_{text}"),
    "telegram": word(35, 35).map(lambda text: f"123456789:{text}"),
    "jwt": word(20).map(lambda text: f"eyJ{text}.eyJ{text}.{text}"),
    "daybook": word(43, 43).map(lambda text: f"dbk_{text}"),
    "pem": word(64).map(
        lambda text: f"-----BEGIN RSA PRIVATE KEY-----\n{text}\n-----END RSA PRIVATE KEY-----"
    ),
    "bearer": word(20).map(lambda text: f"Authorization: Bearer {text}"),
    "url": word(8).map(lambda text: f"postgres://app:9{text}@db.example/x"),
    "url with signs": word(8).map(lambda text: f"redis://:9{text}@9{text}@db.example:6379/0"),
    "telegram in an address": word(35, 35).map(
        lambda text: f"https://api.telegram.org/bot12345678:{text}/getMe"
    ),
    "bearer alone": word(24).map(lambda text: f'curl -H "X-Auth: Bearer {text}"'),
    "assigned": word(12).map(lambda text: f"DB_PASSWORD=1{text}"),
    "header": word(20).map(lambda text: f"x-api-key: 7{text}"),
    "notion": word(43, 43).map(lambda text: f"ntn_{text}"),
    "docker": word(27).map(lambda text: f"dckr_pat_{text}"),
    "vault": word(24).map(lambda text: f"hvs.{text}"),
}


def secret_of(shape: str, text: str) -> str:
    """What must not be found: of an address only its password, of a header only its value."""
    if shape.startswith("url"):
        return text.split(":")[2].split("@", maxsplit=1)[0]
    if shape == "telegram in an address":
        return text.rpartition(":")[2].partition("/")[0]
    if shape in ("assigned", "header", "bearer alone"):
        return re.split(r"[= ]", text)[-1].rstrip('"')
    return text.rpartition(" ")[2] if shape == "bearer" else text.split("\n")[1] if shape == "pem" else text


def in_every_place(text: str) -> list[dict[str, Any]]:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": f'{{"a": "{text}"}}'}}
    return [
        {"role": "user", "content": f"here: {text}.", "metadata": {"deep": [{"x": text}], "k": {text: 1}}},
        {"role": "assistant", "content": [{"type": "text", "text": text}], "reasoning_content": text},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": f"({text})"},
        {"kind": "tool_call", "tool": "t", "args": {"a": text}, "result": [text]},
        {"kind": "error", "error": text, "context": text},
    ]


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("shape", SHAPES)
def test_no_known_secret_survives_a_redacted_export(api: Api, shape: str, data: st.DataObject) -> None:
    text = data.draw(SHAPES[shape])
    secret = secret_of(shape, text)
    session = api.open("k", title=text[:500], metadata={"note": text})
    api.append(session, *in_every_place(text))
    api.send("PATCH", f"/sessions/{session}", {"title": text[:500], "metadata": {"note": text}})
    for form in ("nanobot", "hermes", "openai", "anthropic", "markdown", "daybook"):
        raw = streamed(api.get(f"/sessions/{session}/export?format={form}&redact=true")).decode()
        assert secret not in raw.replace("\\n", "\n"), form
    assert secret in api.get(f"/sessions/{session}/history?format=raw").content.decode()


def test_exports_are_redacted_by_default_and_archives_are_whole(api: Api) -> None:
    session = api.open("k")
    api.append(session, {"role": "user", "content": f"my key is {KEY}"})
    path = f"/sessions/{session}/export"
    assert b"my key is [redacted:provider-key]" in streamed(api.get(f"{path}?format=openai"))
    assert KEY.encode() in streamed(api.get(f"{path}?format=openai&redact=false"))
    assert KEY.encode() in streamed(api.get(f"{path}?format=daybook"))


@pytest.mark.parametrize(
    "harmless",
    [
        "risk-assessment-of-the-year-2026",
        "sk-learn-contrib-something-long",
        "https://example.com:8080/a@b",
        "12:30",
    ],
)
def test_what_only_looks_like_it_stays(api: Api, harmless: str) -> None:
    session = api.open("k")
    api.append(session, {"role": "user", "content": harmless})
    assert harmless.encode() in streamed(api.get(f"/sessions/{session}/export?format=openai"))


def test_mail_and_phone_and_own_patterns_are_a_matter_of_setting(api: Api, admin: Api) -> None:
    session = api.open("k")
    text = "ada@example.org, +49 170 1234567, case AB-1234, 2026-05-01"
    api.append(session, {"role": "user", "content": text})
    path = f"/sessions/{session}/export?format=openai"
    assert text.encode() in streamed(api.get(path))
    own = [{"name": "case", "pattern": r"AB-\d+"}]
    put = admin.send("PUT", "/redaction", {"email": True, "phone": True, "patterns": own})
    assert put.status_code == 200, put.content
    assert b"[redacted:email], [redacted:phone], case [redacted:case], 2026-05-01" in streamed(api.get(path))
    assert said(api.get("/redaction"))["patterns"] == own


def test_in_storage_and_in_the_window_only_where_it_is_set(api: Api, admin: Api) -> None:
    session = api.open("k")
    api.append(session, {"role": "user", "content": KEY})
    assert api.window(session)["messages"][0]["content"] == KEY
    admin.send("PUT", "/redaction", {"window": True})
    assert api.window(session)["messages"][0]["content"] == "[redacted:provider-key]"
    assert KEY in api.get(f"/sessions/{session}/messages").content.decode()
    admin.send("PUT", "/redaction", {"storage": True})
    api.append(session, {"role": "user", "content": f"again {KEY}"})
    assert api.window(session)["messages"][1]["content"] == "again [redacted:provider-key]"


@pytest.mark.parametrize("pattern", ["(", r"(a)\1", "(?<=a)b", "(a{1000}){1000}", "x*", "a|$", "", "a" * 501])
def test_a_pattern_that_cannot_be_is_refused(admin: Api, pattern: str) -> None:
    body = {"patterns": [{"name": "own", "pattern": pattern}]}
    assert admin.send("PUT", "/redaction", body).status_code == 422
    with pytest.raises(BadPattern):
        compiled(pattern)


def test_no_mark_is_a_secret_itself() -> None:
    for name in SECRETS:
        assert not any(re.search(pattern, f"[redacted:{name}]") for pattern in SECRETS.values())


@pytest.mark.parametrize("pattern", ["(a|aa)+!", "(a+)+!", "a*a*a*a*a*!", r"\S+@corp", "(a?){50}a{50}!"])
def test_no_text_keeps_a_pattern_of_an_operator_busy(pattern: str) -> None:
    """With a backtracking engine each of these runs for hours."""
    text = "a" * 200_000
    assert compiled(pattern).sub(lambda _: "", text) == text


@pytest.mark.parametrize(
    "seed", ["-sk-", "-eyJ", "-eyJaaaaaaaa.", "://a:", "-----BEGIN ", "api_key=", "bearer "]
)
def test_no_text_keeps_the_rules_busy(seed: str) -> None:
    """Where each place of a long text is a beginning that is not gone on with."""
    applied = rules(builtin=True, email=True, phone=True, own=())
    text = seed * (400_000 // len(seed))
    assert len(redacted(text, applied)) > 0


def test_what_an_operator_looks_for_may_be_of_any_script(api: Api, admin: Api) -> None:
    admin.send("PUT", "/redaction", {"patterns": [{"name": "case", "pattern": r"№\d+"}]})
    session = api.open("k")
    api.append(session, {"role": "user", "content": "дело №42, später №7 und 漢字"})
    found = streamed(api.get(f"/sessions/{session}/export?format=openai")).decode()
    assert "дело [redacted:case], später [redacted:case] und 漢字" in found


def test_a_part_of_a_secret_finds_it_and_shows_nothing_of_it(api: Api, admin: Api) -> None:
    session = api.open()
    api.append(session, {"role": "user", "content": f"the key is {KEY}, keep it"})
    asked = f"/search?mode=substring&q={KEY[3:12]}"
    [hit] = said(api.get(asked))["items"]
    assert hit["snippet"] == "the key is [redacted:provider-key], keep it"
    admin.send("PUT", "/redaction", {"display": False})
    [hit] = said(api.get(asked))["items"]
    assert hit["snippet"] == f"the key is {KEY[:3]}>>>{KEY[3:12]}<<<{KEY[12:]}, keep it"
