"""Transcripts coming in, beside the bare driver: messages a second, without HTTP."""

import json
from pathlib import Path

from bench.figures import Figures
from bench.measuring import Bench
from bench.rows import RatioAtLeast, Row
from bench.servers import run_in

FORMATS = ("nanobot", "claude-code")
BARE = "the bare driver"
SHARE = 10


def measure(bench: Bench) -> list[Row]:
    count = max(bench.options.stored // SHARE, 100)
    rows = []
    with bench.product("import") as product:
        for form in FORMATS:
            path = Path(product.environment["DAYBOOK_DATA_DIR"]) / f"{form}.jsonl"
            bare: list[Figures] = []

            def take(form: str = form, path: str = str(path), bare: list[Figures] = bare) -> Figures:
                told = json.loads(
                    run_in(product.environment, "-m", "bench.importing", form, str(count), path)
                )
                bare.append(Figures(count / told["bare"], 0, 0))
                return Figures(count / told["seconds"], 0, 0)

            taken = bench.in_turns({f"import-{form}": take})[f"import-{form}"]
            title = f"import of {count:,} messages of {form}, messages a second".replace(",", " ")
            rows.append(Row(f"import-{form}", title, taken, {BARE: bare}, [RatioAtLeast(0.1, to=BARE)]))
    return rows
