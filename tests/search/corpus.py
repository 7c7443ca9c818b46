"""One record in many scripts, and ways to bring it into every state that the index can be in."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django.utils import timezone

from sessions_app.search import indexing
from tests.conftest import Api, said

BEGIN = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

# Each stands for itself under its number; the tests name them by it.
RECORD: list[dict[str, Any]] = [
    {"role": "user", "content": "Which database did we decide on?"},
    {"role": "assistant", "content": "We decided to use PostgreSQL databases for the main store."},
    {"kind": "decision", "decision": "SQLite stays the default", "rationale": "nothing to install"},
    {
        "kind": "error",
        "error": "TypeError: 'NoneType' object is not subscriptable",
        "context": "file app/main.py:42",
    },
    {
        "kind": "tool_call",
        "tool": "web_search",
        "args": {"query": "weather Lisbon"},
        "result": "24 °C, sunny",
    },
    {"role": "user", "content": "今天北京的天气怎么样?"},
    {"role": "assistant", "content": "北京今天晴,最高气温 25 度。"},
    {"role": "user", "content": "東京タワーの高さを教えてください"},
    {"role": "assistant", "content": "서울의 데이터베이스 서버가 멈췄습니다"},
    {"role": "user", "content": "The café's naïve résumé: ÜBER GRÖSSE Straße"},
    {"role": "user", "content": "Привет, как дела? ПОГОДА хорошая"},
    {"role": "assistant", "content": "100% sure — a_b + c++ <tag> \\path\\to 🎉 done"},
    {"role": "user", "content": "running runs runner ran"},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "read_file", "arguments": '{"path": "/etc/hosts"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "read_file", "content": "127.0.0.1 localhost"},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "look at this picture"},
            {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        ],
    },
    {"role": "user", "content": "release v1.2.3 of foo-bar on 2026-03-01 at 09:15"},
    {"role": "assistant", "content": 'AND OR NOT NEAR are words too: "quoted text" (brackets) [more]'},
    {"role": "user", "content": "main store, main door"},
    {"role": "assistant", "content": "ab"},
    {"role": "user", "content": "x"},
    {"role": "user", "content": "データベース設計 database デザイン"},
    {"role": "assistant", "content": "The   quick\nbrown\tfox jumps over the lazy dog"},
    {"role": "user", "content": "हिन्दी में नमस्ते और العربية مرحبا"},
]

# Behind it, where every query is asked.
WHOLE = [
    *RECORD,
    {"role": "user", "content": "สวัสดีครับ วันนี้อากาศดี, İstanbul ve Ağaç"},
    {
        "role": "assistant",
        "tool_calls": [
            {
                "id": "c2",
                "type": "function",
                "function": {"name": "lookup", "arguments": '{"city": "\\u5e83\\u5cf6"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c2", "name": "lookup", "content": '{"weather": "\\u96e8"}'},
    {"kind": "decision", "decision": "我们上个月决定把报告写成文档", "rationale": "C# was refused"},
]


def record(api: Api, messages: Sequence[dict[str, Any]] = RECORD) -> None:
    """In two sessions, a minute apart; what was said first stands at the front."""
    sessions = [api.open("telegram:1"), api.open("cli")]
    for number, message in enumerate(messages):
        at = (BEGIN + timedelta(minutes=number)).isoformat()
        api.append(sessions[number % 2], {**message, "created_at": at, "metadata": {"n": number}})


def feed() -> None:
    while indexing.step(timezone.now()):
        pass


def searched(api: Api, q: str, **options: Any) -> dict[str, Any]:
    response = api.get(f"/search?{urlencode({'q': q, 'limit': 500, **options}, doseq=True)}")
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = said(response)
    return answer


def numbers(answer: dict[str, Any]) -> list[int]:
    return [item["metadata"]["n"] for item in answer["items"]]


def unescaped(text: str) -> str:
    """JSON as people read it; the record has no other text with a backslash and a u."""
    return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")) if "\\u" in text else text


def texts() -> Iterator[str]:
    """What of each message is searched, by rules of our own."""
    for message in WHOLE:
        parts = []
        content = message.get("content")
        parts.append(unescaped(content) if isinstance(content, str) else "")
        if isinstance(content, list):
            parts = [block["text"] for block in content if "text" in block]
        parts += [message.get(name, "") for name in ("error", "context", "decision", "rationale", "tool")]
        if "args" in message:
            parts.append('{"query":"weather Lisbon"}')
        parts.append(message.get("result", ""))
        for call in message.get("tool_calls", ()):
            parts += [call["function"]["name"], unescaped(call["function"]["arguments"])]
        if message.get("role") == "tool":
            parts.append(message["name"])
        yield "\n".join(part for part in parts if part)
