"""The sweep: one session in a hundred is due, the others are only there."""

import json

from bench.figures import Figures, percentile
from bench.measuring import Bench
from bench.rows import RateAtLeast, Row
from bench.servers import run_in

DUE_OF = 100
# It runs every minute: half of that is its own, whatever was due.
SECONDS = 30


def measure(bench: Bench) -> list[Row]:
    sessions = bench.options.stored
    due = max(sessions // DUE_OF, 1)
    with bench.product("sweep") as product:
        bench.say(f"opening {sessions} sessions")
        run_in(product.environment, "-m", "bench.sweeping", "fill", str(sessions))

        def take() -> Figures:
            told = run_in(product.environment, "-m", "bench.sweeping", "run", str(due))
            batches = sorted(json.loads(told))
            return Figures(due / sum(batches), percentile(batches, 50) * 1000, percentile(batches, 99) * 1000)

        taken = bench.in_turns({"sweep": take})
    title = f"sweep: {due:,} due of {sessions:,} open sessions; times of a batch".replace(",", " ")
    return [Row("sweep", title, taken["sweep"], targets=[RateAtLeast(due / SECONDS)])]
