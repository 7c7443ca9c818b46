"""What the OpenAPI document says beside the routes, for people and for clients."""

from typing import Any

OVERVIEW = """\
Sessions, messages and windows for AI agents.

**Keys.** Every request carries `Authorization: Bearer <key>`. A key belongs to one agent and sees only what
is its own; another agent's object is a 404. `admin` implies `write`, `write` implies `read`. An operator's
key acts for any agent: it names it in `X-Daybook-Agent`.

**Lists** are `{"items": [...], "next_cursor": ...}`, stable while rows are added: give `next_cursor` as
`cursor`.

**Retries.** A POST may carry an `Idempotency-Key`: the same key again, from the same API key, on the same
path stores nothing new and gives the first answer with `Idempotent-Replayed: true`; with another body it is
a 422. A repeat waits for a first that still runs. Only successes are kept, for 24 hours.

**Errors** are RFC 9457 problems, `application/problem+json`. A 422 names each place that is wrong.

**Limits.** A body has 8 MiB at most, a batch 1000 messages, a message 1 MiB of content, metadata 64 KiB,
ids and keys 512 characters. Unknown fields and parameters are refused; only a message keeps them, in its
`metadata`.

**Times** are ISO 8601, answered in UTC. One without an offset is read in the agent's time zone.

HEAD works wherever GET does.
"""

TAGS = {
    "sessions": "Episodes of a conversation: open, append, read the window, cut, follow.",
    "messages": "Entries over all sessions.",
    "search": "Everything that was recorded, by words, parts of texts and meaning.",
    "consolidation": "Long sessions, condensed.",
    "memory": "What an agent keeps for long, and reports on how it does.",
    "resets": "From a message's source to its session; when sessions end, and what keeps them open.",
    "context": "What an agent's system prompt should say of where it is.",
    "platforms": "How an agent is connected.",
    "deliveries": "The outbox: messages to platforms, retried until they arrive.",
    "skills": "Which skills are used, how it goes, and what to use next.",
    "transfer": "Transcripts in and out; what is made unreadable, and what is kept for how long.",
    "people": "Everything of one person: read it, erase it.",
    "agent": "The agent itself.",
}

SUCCESSES = {
    200: "Done; the answer says what there is now.",
    201: "Made.",
    202: "Taken; a task does it.",
    204: "Gone.",
}

# By status: when it is answered, and an example of what `detail` says.
PROBLEMS = {
    "400": ("The request cannot be read: its JSON, its encoding or its end.", "The body is not valid UTF-8."),
    "401": (
        "No API key, or one that is not known, has expired or was revoked.",
        "Send an API key: Authorization: Bearer <key>.",
    ),
    "403": ("The key lacks the scope.", "This needs the scope write; the key has read."),
    "404": (
        "There is nothing of this name, or it is another agent's, or there is no such agent.",
        "There is no such session.",
    ),
    "413": ("The body is larger than 8 MiB.", "The body is larger than 8 MiB."),
    "415": ("The body is of another type.", "The body is text/plain; it must be application/json."),
    "422": (
        "It was understood, and something in it cannot be: `errors` names each place.",
        "body.key: Field required",
    ),
    "429": (
        "The key has sent more than it may in a minute. `Retry-After` says when to go on.",
        "This key may send 600 requests a minute.",
    ),
    "500": (
        "A failure of ours. The log has the request's id.",
        "Something failed on our side. The log has the request id.",
    ),
    "503": (
        "The database does not answer, or all event streams are taken. `Retry-After` says when to try again.",
        "The database does not answer. Try again.",
    ),
}
ERRORS = [{"loc": ["body", "key"], "msg": "Field required", "type": "missing"}]
RETRY_AFTER: dict[str, Any] = {"description": "In so many seconds.", "schema": {"type": "integer"}}
HEADERS: dict[str, dict[str, Any]] = {
    "401": {"WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}}},
    "429": {"Retry-After": RETRY_AFTER},
    "503": {"Retry-After": RETRY_AFTER},
}

_ENDED = "The session has ended."
_LATER = "Something else was changed meanwhile; look at it and try again."
# Routes that can meet a state in which they do not act, by the names of their functions.
CONFLICTS = {
    "append_messages": _ENDED,
    "clear": _ENDED,
    "retain": _ENDED,
    "rewind": _ENDED,
    "fork": "The key has an open session already.",
    "reset_session": "The session has ended already.",
    "hold_lease": _ENDED,
    "put_policy": "The agent has as many policies as it may have.",
    "write_memory": "The memory is at another version than the one that was read.",
    "retry_delivery": "Only a dead delivery is sent again.",
    "redo_consolidation": f"Only the newest can be redone. {_LATER}",
    "discard_consolidation": "Only the newest can be taken back.",
    "complete_invocation": "It is finished already.",
}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "SessionIn": [{"key": "telegram:42", "title": "Lisbon", "metadata": {"language": "en"}}],
    "SessionChange": [{"title": "Lisbon in May", "metadata": {"language": None}}],
    "MessageIn": [
        {"role": "user", "content": "How warm is it in Lisbon?"},
        {"kind": "error", "error": "timeout after 10 s", "context": "weather, first try"},
    ],
    "Batch": [
        {
            "messages": [
                {
                    "role": "assistant",
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": "24 °C"},
                {"role": "assistant", "content": "24 °C.", "confidence": 0.9},
            ]
        }
    ],
    "Usage": [{"input_tokens": 812, "output_tokens": 64, "model": "gpt-5", "cost_usd": 0.0031}],
    "Retain": [{"max_messages": 20}],
    "Rewind": [{"to_seq": 7}],
    "Fork": [{"before_seq": 7, "key": "telegram:42:what-if"}],
    "Resolve": [{"source": {"platform": "telegram", "chat_id": "42", "user_id": "42", "user_name": "Ana"}}],
    "PolicyIn": [{"platform": "telegram", "mode": "both", "idle_minutes": 1440, "at_hour": 4}],
    "LeaseIn": [{"ttl_seconds": 300}],
    "PlatformIn": [
        {
            "enabled": True,
            "home_channel": {"chat_id": "42", "name": "Ana"},
            "webhook_url": "https://bot.example/daybook",
        }
    ],
    "DeliveryIn": [{"target": "telegram:42", "content": "24 °C again tomorrow."}],
    "AgentChange": [{"timezone": "Europe/Lisbon", "token_budget": 32000}],
    "MemoryIn": [{"content": "# Ana\n- lives in Lisbon\n", "version": 0}],
    "ReflectionIn": [{"since": "7d"}],
    "RedoIn": [{"engine": "extractive"}],
    "InvocationIn": [
        {"skill_name": "weather", "user_query": "How warm is it in Lisbon?", "workflow_phase": "research"}
    ],
    "CompletionIn": [{"completed": True, "follow_up_actions": ["answered"]}],
    "ImportIn": [
        {"invocations": [{"skill_name": "weather", "invoked_at": "2026-05-01T10:00:00Z", "completed": True}]}
    ],
    "RecommendIn": [{"query": "temperature in Porto", "workflow_phase": "research", "limit": 3}],
    "RedactionIn": [{"email": True, "patterns": [{"name": "ticket", "pattern": "TK-[0-9]{6}"}]}],
    "RetentionIn": [{"platform": "telegram", "days": 365}],
}
