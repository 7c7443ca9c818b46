"""Searches without HTTP among many messages, by class of query; and how large the index is."""

import json
from collections.abc import Mapping

from bench.figures import figures_of
from bench.measuring import Bench
from bench.rows import P99Below, Row
from bench.servers import run_in

TIMES = 30


def measure(bench: Bench) -> list[Row]:
    stored = bench.options.stored
    with bench.product("search") as product:
        bench.say(f"storing {stored} messages to search in")
        run_in(product.environment, "-m", "bench.searching", "fill", str(stored))
        told = json.loads(run_in(product.environment, "-m", "bench.searching", "index"))
        bench.say(
            f"indexed in {told['seconds']:.0f} s, {stored / told['seconds']:.0f} messages a second; "
            f"the index is {told['index'] / told['text']:.2f} of the text"
        )
        rounds = [_taken(product.environment) for _ in range(bench.options.rounds)]
    return [
        Row(
            f"search-{place}",
            f"search: {name}",
            [figures_of(taken[name], sum(taken[name])) for taken in rounds],
            targets=[P99Below(_most(name))],
        )
        for place, name in enumerate(rounds[0])
    ]


def _taken(environment: Mapping[str, str]) -> dict[str, list[float]]:
    told = run_in(environment, "-m", "bench.searching", "run", str(TIMES))
    taken: dict[str, list[float]] = json.loads(told)
    return taken


def _most(name: str) -> float:
    if name.startswith("rank"):
        return 100
    return 20 if "Chinese" in name else 10
