"""Appends of one and of a hundred messages, to sixteen sessions and all to one."""

from collections.abc import Sequence

from bench.corpus import Corpus
from bench.databases import SQLITE
from bench.load import CONNECTIONS, Request
from bench.measuring import Bench, Ledger, empty_row
from bench.rows import EMPTY, P99Below, RatioAtLeast, Row, Target
from bench.servers import SESSIONS, Product

CHARACTERS = 300
SEED = 3
ONE: dict[str, Sequence[Target]] = {
    "sqlite": (RatioAtLeast(0.4, aim=0.8), P99Below(100)),
    "postgres": (RatioAtLeast(0.4, aim=0.8),),
}
# (name, title, messages a request, sessions)
LOADS = (
    ("append-1", "append 1 message, 16 sessions", 1, CONNECTIONS),
    ("append-1-one-session", "append 1 message, all to one session", 1, 1),
    ("append-100", "append 100 messages, 16 sessions", 100, CONNECTIONS),
    ("append-100-one-session", "append 100 messages, all to one session", 100, 1),
)


def measure(bench: Bench) -> list[Row]:
    with bench.product("append") as product:
        groups = _sessions_of_loads(product)
        ledgers = {name: Ledger(groups[name], batch) for name, _, batch, _ in LOADS}
        requests = {name: append_requests(product, groups[name], batch) for name, _, batch, _ in LOADS}
        takes = {"empty": bench.empty(product)}
        for name, _, batch, _ in LOADS:
            _probe(product, requests[name][0], batch)
            ledgers[name].book(1)
            bench.warm_up(product, requests[name], ledgers[name])
            takes[name] = bench.load(product, requests[name], ledgers[name])
        own, raw = product.open_sessions("own", CONNECTIONS), product.open_sessions("raw", CONNECTIONS)
        takes["append-own"] = bench.bare(product, "own-append", own, processes=2, threads=CONNECTIONS // 2)
        writers = (1, 1) if bench.kind == SQLITE else (2, CONNECTIONS // 2)
        takes["append-raw"] = bench.bare(product, "raw-append", raw, processes=writers[0], threads=writers[1])
        taken = bench.in_turns(takes)
        for ledger in ledgers.values():
            ledger.check(product)
    beside = {EMPTY: taken["empty"]}
    rows = [empty_row(taken["empty"], "append")]
    for name, title, _, _ in LOADS:
        rows.append(Row(name, title, taken[name], beside, ONE[bench.kind] if name == "append-1" else ()))
    rows.append(
        Row("append-own", "append 1, storage function in 2 processes, no HTTP", taken["append-own"], beside)
    )
    rows.append(Row("append-raw", _raw_title(bench.kind), taken["append-raw"], beside))
    return rows


def append_requests(product: Product, sessions: Sequence[str], batch: int) -> list[Request]:
    """A few different bodies for each session, which the load sends in turn."""
    corpus = Corpus(SEED)
    requests = []
    for _ in range(max(4 // batch, 1)):
        for session in sessions:
            messages = [{"role": "user", "content": text} for text in corpus.texts(batch, CHARACTERS)]
            payload = messages[0] if batch == 1 else {"messages": messages}
            requests.append(product.request("POST", f"{SESSIONS}/{session}/messages", payload))
    return requests


def _sessions_of_loads(product: Product) -> dict[str, list[str]]:
    return {name: product.open_sessions(name, sessions) for name, _, _, sessions in LOADS}


def _probe(product: Product, request: Request, batch: int) -> None:
    """wrk sees status codes below 400 only: that the answer is the right one is seen once, here."""
    items = product.ask(request, 201)["items"]
    assert len(items) == batch, items


def _raw_title(kind: str) -> str:
    if kind == SQLITE:
        return "append 1, bare driver, one writer, a commit each"
    return "append 1, bare driver, 16 connections in 2 processes"
