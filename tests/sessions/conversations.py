"""Random conversations as agents send them: well behaved or not, as the record keeps them all."""

from typing import Any

from hypothesis import strategies as st

JSON = dict[str, Any]

# Few, so that they come again: across turns, within one message, with signs that a provider refuses.
CALL_IDS = st.sampled_from(["a", "b", "call:1", "call.1", "a-3"])
TEXTS = st.sampled_from(["", " ", "hello", "naïve 你好", "x" * 90])
PICTURE = "data:image/png;base64,AAAA"
BLOCKS = st.sampled_from(
    [
        {"type": "text", "text": "look"},
        {"type": "text", "text": ""},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        {"type": "image_url", "image_url": {"url": PICTURE}},
        {"type": "image_url", "image_url": {"url": "/pix/c.png"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/dog.png"}},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "id": "x", "name": "n", "input": {}},
        {"type": "tool_result", "tool_use_id": "x", "content": "y"},
        {"type": "something_else", "data": 1},
    ]
)
CONTENTS = st.one_of(TEXTS, TEXTS, st.lists(BLOCKS, max_size=3))
NAMES = st.sampled_from(["ana", "Ana Lopes", "<b>", "", "x" * 65])
ARGUMENTS = st.sampled_from(["{}", '{"q": 1}', "[1]", "not json", "", None, {"q": "1"}])


def called(call_id: str, arguments: Any = "{}", name: str = "look_up") -> JSON:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def calls(*ids: str, content: str | None = None) -> JSON:
    return {"role": "assistant", "content": content, "tool_calls": [called(one) for one in ids]}


def result(call_id: str, content: Any = "done") -> JSON:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def user(content: str = "hello") -> JSON:
    return {"role": "user", "content": content}


def assistant(content: str = "hi", **fields: Any) -> JSON:
    return {"role": "assistant", "content": content, **fields}


@st.composite
def _calling(draw: st.DrawFn) -> JSON:
    names = st.sampled_from(["look_up", "files.read"])
    made = [
        called(one, draw(ARGUMENTS), draw(names)) for one in draw(st.lists(CALL_IDS, min_size=1, max_size=3))
    ]
    return {"role": "assistant", "content": draw(st.none() | CONTENTS), "tool_calls": made}


MESSAGES: st.SearchStrategy[JSON] = st.one_of(
    st.builds(lambda content: {"role": "user", "content": content}, CONTENTS),
    st.builds(lambda content: {"role": "user", "content": content}, TEXTS),
    st.builds(lambda content, name: {"role": "user", "content": content, "name": name}, TEXTS, NAMES),
    st.builds(
        lambda content, media: {"role": "user", "content": content, "media": media},
        st.none() | CONTENTS,
        st.lists(st.sampled_from(["/pix/a.png", "two\nlines.png"]), min_size=1, max_size=2),
    ),
    st.builds(lambda content: {"role": "assistant", "content": content}, CONTENTS),
    st.builds(lambda content: {"role": "assistant", "content": content, "proactive": True}, CONTENTS),
    st.builds(lambda content: {"role": "system", "content": content}, CONTENTS),
    _calling(),
    _calling(),
    st.builds(result, CALL_IDS, CONTENTS),
    st.builds(result, CALL_IDS, TEXTS),
)

OTHER_KINDS: st.SearchStrategy[JSON] = st.sampled_from(
    [
        {"kind": "error", "error": "it broke"},
        {"kind": "decision", "decision": "stop"},
        {"kind": "tool_call", "tool": "shell", "args": {}, "result": "ok"},
    ]
)

CONVERSATIONS = st.lists(MESSAGES, max_size=24)
RECORDS = st.lists(st.one_of(MESSAGES, MESSAGES, MESSAGES, OTHER_KINDS), min_size=1, max_size=30)
