"""Consolidation of one long session and of many idle ones, and reports over few and many entries."""

import json
from collections.abc import Callable

from bench.figures import Figures
from bench.measuring import Bench
from bench.rows import Row
from bench.servers import run_in

LONG = 10_000
IDLE, IDLE_MESSAGES = 1_000, 20
REPORTS = (30, 100_000)


def measure(bench: Bench) -> list[Row]:
    fill = [f"1x{LONG}", f"1x{REPORTS[-1]}", f"{IDLE}x{IDLE_MESSAGES}"]
    with bench.product("memory", fill=fill) as product:
        peaks: dict[str, float] = {}

        def take(name: str, step: str, given: str, count: int) -> Callable[[], Figures]:
            def once() -> Figures:
                told = json.loads(run_in(product.environment, "-m", "bench.condensing", step, given))
                peaks[name] = max(peaks.get(name, 0), told["peak_mib"])
                each = told["seconds"] * 1000 / count
                return Figures(count / told["seconds"], each, each)

            return once

        takes = {
            "consolidate": take("consolidate", "one", product.filled[0], 1),
            "idle": take("idle", "idle", str(IDLE), IDLE),
            **{f"reflect-{size}": take(f"reflect-{size}", "reflect", str(size), 1) for size in REPORTS},
        }
        taken = bench.in_turns(takes)
    titles = {
        "consolidate": f"consolidation of {LONG} messages, extractive",
        "idle": f"{IDLE} idle sessions of {IDLE_MESSAGES} messages found and condensed; time of one",
        **{f"reflect-{size}": f"reflection over {size} entries" for size in REPORTS},
    }
    return [
        Row(name, f"{title}; at most {peaks[name]:.0f} MiB", taken[name]) for name, title in titles.items()
    ]
