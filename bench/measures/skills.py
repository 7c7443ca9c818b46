"""Skills: start and completion, recommendation over many, and how often the right one is found."""

import json
import tempfile
from typing import Any

from bench.crew import run_crew
from bench.figures import Figures, figures_of
from bench.measuring import Bench, Take
from bench.rows import P99Below, RatioAtLeast, Row, ShareAtLeast, Target
from bench.servers import Product, run_in

FILE, FEW, BARE = "a JSON file of 10 000", "10 000 stored", "the bare product"
THREADS = 16
# Of the labelled set: the right skill first, and among the first five.
LEAST = {"meaning": (0.85, 0.95), "letters": (0.6, 0.85)}
VECTORS = 10  # one vector for so many messages of --stored: 100 000 with the defaults


def measure(bench: Bench) -> list[Row]:
    stored = bench.options.stored
    with bench.product("skills-few") as few, bench.product("skills-many") as many:
        bench.say(f"storing {stored} invocations")
        _fill(few, max(stored // 100, 1))
        read = _fill(many, stored)
        with tempfile.TemporaryDirectory() as folder:
            taken = bench.in_turns(
                {
                    "file": lambda: _file(bench, many, folder, max(stored // 100, 1)),
                    "few": lambda: _track(bench, few),
                    "many": lambda: _track(bench, many),
                }
            )
        shown = bench.in_turns({"few": _metrics(bench, few), "many": _metrics(bench, many)})
    beside = {FILE: taken["file"], FEW: taken["few"]}
    title = f"GET /skills/metrics, {spaced(stored)} stored, reads {read} rows"
    return [
        Row("skills-file", f"start + complete, {FILE} rewritten", taken["file"]),
        Row(
            "skills-few",
            f"start + complete, {FEW}, no HTTP",
            taken["few"],
            beside,
            [RatioAtLeast(200, to=FILE)],
        ),
        Row(
            "skills-many",
            f"start + complete, {spaced(stored)} stored, no HTTP",
            taken["many"],
            beside,
            [RatioAtLeast(200, to=FILE), RatioAtLeast(0.9, to=FEW)],
        ),
        Row("skills-metrics-few", f"GET /skills/metrics, {FEW}", shown["few"]),
        Row("skills-metrics-many", title, shown["many"], {FEW: shown["few"]}, [RatioAtLeast(0.9, to=FEW)]),
        *_recommendation(bench, max(stored // VECTORS, 1)),
        *_labelled(bench),
    ]


def _fill(product: Product, count: int) -> int:
    """How many rows of counts the metrics of all days are read from."""
    rows: int = json.loads(run_in(product.environment, "-m", "bench.skilling", "fill", str(count)))["rows"]
    return rows


def _metrics(bench: Bench, product: Product) -> Take:
    return bench.load(product, [product.request("GET", "/api/v1/skills/metrics")])


def spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _track(bench: Bench, product: Product) -> Figures:
    return run_crew(
        "bench.skilling",
        ["track", str(THREADS)],
        processes=2,
        seconds=bench.options.seconds,
        environment=product.environment,
    ).figures


def _file(bench: Bench, product: Product, folder: str, count: int) -> Figures:
    times = json.loads(run_in(product.environment, "-m", "bench.skilling", "file", folder, str(count)))
    return figures_of(times, sum(times))


def _recommendation(bench: Bench, count: int) -> list[Row]:
    with bench.product("skills-recommend") as product:
        bench.say(f"recommending over {count} invocations")
        rows = []
        for way in ["process"] if bench.kind == "sqlite" else ["process", "auto"]:
            environment = {**product.environment, "DAYBOOK_SKILL_SEARCH": way}
            size = count if way == "process" else 0
            rounds = str(bench.options.rounds)
            told = run_in(environment, "-m", "bench.skilling", "recommend", str(size), rounds)
            rows += _way(json.loads(told), way, spaced(count))
    return rows


def _way(told: dict[str, Any], way: str, many: str) -> list[Row]:
    where = "in the process" if way == "process" else "pgvector"
    ours, bare, loop = (
        [figures_of(each, sum(each)) for each in told[name]] for name in ("ours", "bare", "loop")
    )
    targets: list[Target] = [P99Below(30), *([RatioAtLeast(0.5, to=BARE)] if bare else [])]
    title = f"recommend over {many}, {where}, +{told['megabytes']:.0f} MB"
    rows = [Row(f"skills-recommend-{way}", title, ours, {BARE: bare} if bare else {}, targets)]
    if bare:
        rows.append(Row("skills-bare", f"bare matrix product over {many}", bare))
        rows.append(Row("skills-loop", f"Python loop over {many}, measured on a tenth", loop))
    return rows


def _labelled(bench: Bench) -> list[Row]:
    """By meaning, and by letters as where embeddings are off."""
    rows = []
    for method, embeddings in (("meaning", "wordllama"), ("letters", "off")):
        with bench.product(f"skills-{method}") as product:
            environment = {**product.environment, "DAYBOOK_EMBEDDINGS": embeddings}
            told = json.loads(run_in(environment, "-m", "bench.skilling", "labelled"))
        first, five = (told[name] / told["asked"] for name in ("first", "five"))
        title = f"labelled set, {told['asked']} queries of 30 skills, by {method}"
        targets = [
            ShareAtLeast("first", first, LEAST[method][0]),
            ShareAtLeast("in five", five, LEAST[method][1]),
        ]
        rows.append(
            Row(f"skills-{method}", title, [figures_of(told["taken"], sum(told["taken"]))], targets=targets)
        )
    return rows
