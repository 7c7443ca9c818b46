"""Skills: start and completion, recommendation over many, and how often the right one is found."""

import json
import tempfile

from bench.crew import run_crew
from bench.figures import Figures, figures_of
from bench.measuring import Bench
from bench.rows import P99Below, RateAtLeast, RatioAtLeast, Row
from bench.servers import Product, run_in

FILE, FEW, BARE = "a JSON file of 10 000", "10 000 stored", "the bare product"
THREADS = 16
VECTORS = 10  # one vector for so many messages of --stored: 100 000 with the defaults


def measure(bench: Bench) -> list[Row]:
    stored = bench.options.stored
    with bench.product("skills-few") as few, bench.product("skills-many") as many:
        bench.say(f"storing {stored} invocations")
        run_in(few.environment, "-m", "bench.skilling", "fill", str(max(stored // 100, 1)))
        run_in(many.environment, "-m", "bench.skilling", "fill", str(stored))
        with tempfile.TemporaryDirectory() as folder:
            taken = bench.in_turns(
                {
                    "file": lambda: _file(bench, many, folder, max(stored // 100, 1)),
                    "few": lambda: _track(bench, few),
                    "many": lambda: _track(bench, many),
                }
            )
    beside = {FILE: taken["file"], FEW: taken["few"]}
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
        *_recommendation(bench, max(stored // VECTORS, 1)),
    ]


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
    with bench.product("skills-recommend") as product, bench.product("skills-labelled") as labelled:
        bench.say(f"recommending over {count} invocations")
        ways = ["process"] if bench.kind == "sqlite" else ["process", "auto"]
        rows = []
        for way in ways:
            environment = {**product.environment, "DAYBOOK_SKILL_SEARCH": way}
            size = count if way == "process" else 0
            told = json.loads(run_in(environment, "-m", "bench.skilling", "recommend", str(size)))
            rows += _way(told, way, count)
        right = json.loads(run_in(labelled.environment, "-m", "bench.skilling", "labelled"))
    share = {name: right[name] / right["asked"] for name in ("first", "five")}
    hits = f"{share['first']:.1%} first, {share['five']:.1%} in five"
    title = f"labelled set, {right['asked']} queries: {hits} (hits)"
    return [*rows, Row("skills-labelled", title, [Figures(right["first"], 0, 0)], targets=[RateAtLeast(1)])]


def _way(told: dict[str, list[float]], way: str, count: int) -> list[Row]:
    where = "in the process" if way == "process" else "pgvector"
    figures = {
        name: [figures_of(told[name], sum(told[name]))] for name in ("ours", "bare", "loop") if told[name]
    }
    many = spaced(count)
    ours = f"recommend over {many}, {where}, +{told['megabytes']:.0f} MB"
    rows = [Row(f"skills-recommend-{way}", ours, figures["ours"], targets=[P99Below(30)])]
    if "bare" in figures:
        rows[0] = Row(
            rows[0].name,
            ours,
            figures["ours"],
            {BARE: figures["bare"]},
            [P99Below(30), RatioAtLeast(0.5, to=BARE)],
        )
        rows.append(Row("skills-bare", f"bare matrix product over {many}", figures["bare"]))
        rows.append(Row("skills-loop", f"Python loop over {many}, measured on a tenth", figures["loop"]))
    return rows
