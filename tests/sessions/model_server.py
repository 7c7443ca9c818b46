"""A model's server: real HTTP, real chat completions, with the answers that a test has written down."""

import json
from typing import Any

from tests.gateway.receiver import Receiver, answer


def completion(content: Any, finish_reason: str = "stop") -> bytes:
    text = content if isinstance(content, str) else json.dumps(content)
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "finish_reason": finish_reason,
                "message": {"role": "assistant", "content": text},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return answer(200, "Content-Type: application/json", body=json.dumps(body))


def notes(summary: str = "- The user booked a hotel.", **more: Any) -> bytes:
    return completion({"summary": summary, "remember": [], "forget": [], **more})


def asked(server: Receiver) -> list[dict[str, Any]]:
    """The bodies that the server was sent."""
    return [json.loads(request.body) for request in server.requests]
