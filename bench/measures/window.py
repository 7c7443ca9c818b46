"""The model-ready window of 50 messages out of sessions of very different lengths."""

from bench.databases import SQLITE
from bench.load import CONNECTIONS
from bench.measuring import Bench, empty_row
from bench.rows import EMPTY, RatioAtLeast, Row, Target
from bench.servers import SESSIONS, Product

SIZES = (1_000, 10_000, 100_000)
WINDOW = 50
SHORTEST = f"the window of {SIZES[0]:,}".replace(",", " ")


def measure(bench: Bench) -> list[Row]:
    with bench.product("window", fill=[f"1x{size}" for size in SIZES]) as product:
        takes = {"empty": bench.empty(product)}
        for size, session in zip(SIZES, product.filled, strict=True):
            request = product.request("GET", f"{SESSIONS}/{session}/history?max_messages={WINDOW}")
            _probe(product, session, size)
            bench.warm_up(product, [request])
            takes[f"window-{size}"] = bench.load(product, [request])
        threads = 1 if bench.kind == SQLITE else CONNECTIONS // 2
        takes["window-raw"] = bench.bare(
            product, "raw-window", product.filled[-1:], processes=2, threads=threads
        )
        taken = bench.in_turns(takes)
    beside = {EMPTY: taken["empty"], SHORTEST: taken[f"window-{SIZES[0]}"]}
    rows = [empty_row(taken["empty"], "window")]
    for size in SIZES:
        title = f"window of {WINDOW} out of {size:,}".replace(",", " ")
        rows.append(Row(f"window-{size}", title, taken[f"window-{size}"], beside, _targets(size)))
    raw_title = f"window of {WINDOW}, bare driver, {2 * threads} connections in 2 processes"
    rows.append(Row("window-raw", raw_title, taken["window-raw"], beside))
    return rows


def _targets(size: int) -> list[Target]:
    reach: list[Target] = [RatioAtLeast(0.5, aim=0.85)]
    return [*reach, RatioAtLeast(0.9, to=SHORTEST)] if size == SIZES[-1] else reach


def _probe(product: Product, session: str, size: int) -> None:
    path = f"{SESSIONS}/{session}/history?max_messages={WINDOW}"
    window = product.ask(product.request("GET", path), 200)
    assert len(window["messages"]) == WINDOW, len(window["messages"])
    assert window["to_seq"] == size, window["to_seq"]
