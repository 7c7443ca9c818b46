"""Searches without HTTP among many messages beside those of hermes and of a scan, by class of query; how
large the index is and how far behind; appends while it is fed; and how well search finds."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bench.crew import ROOT
from bench.figures import Figures, figures_of
from bench.measuring import Bench
from bench.peers import Peer, hermes, scan
from bench.rows import AtMost, P99Below, RatioAtLeast, Row
from bench.servers import Product, run_in

TIMES = 100
EMPTY_TABLE = "an empty table"


def measure(bench: Bench) -> list[Row]:
    stored = bench.options.stored
    with bench.product("search") as full, bench.product("search-empty") as fresh:
        bench.say(f"storing {stored} messages to search in")
        run_in(full.environment, "-m", "bench.searching", "fill", str(stored))
        indexed = json.loads(run_in(full.environment, "-m", "bench.searching", "index"))
        peers = [_filled(bench, hermes(), stored), _filled(bench, scan(), stored)]
        rows = _searches(bench, full, peers)
        rows += _appends(bench, full, fresh, peers[0])
        rows += _indexing(bench, full, indexed)
    with bench.product("search-labelled") as product:
        bench.say("asking the labelled set")
        rows += _quality(json.loads(run_in(product.environment, "-m", "bench.finding")))
    return rows


def _filled(bench: Bench, peer: Peer, stored: int) -> Peer:
    seconds = peer.fill(stored)
    if seconds is not None:
        bench.say(f"{peer.title} has stored {stored} messages in {seconds:.0f} s")
    return peer


def _searches(bench: Bench, full: Product, peers: list[Peer]) -> list[Row]:
    ours: list[dict[str, Any]] = []
    beside: dict[str, list[dict[str, list[float]]]] = {peer.title: [] for peer in peers}
    for turn in range(bench.options.rounds):
        bench.say(f"round {turn + 1} of {bench.options.rounds}: searches")
        ours.append(json.loads(run_in(full.environment, "-m", "bench.searching", "run", str(TIMES))))
        for peer in peers:
            beside[peer.title].append(peer.run(max(int(bench.options.seconds), 1)))
    rows = []
    for place, name in enumerate(ours[0]):
        taken = [_figures(each[name]["then"]) for each in ours]
        # On a machine that others use too, what of it was work.
        worked = _figures([one for each in ours for one in each[name]["processor"]])
        title = f"search: {name} (p99 of its processor time {worked.p99_ms:.1f} ms)"
        rows.append(Row(f"search-{place}", title, taken, targets=[P99Below(_most(name))]))
        for title, runs in beside.items():
            if name in runs[0]:
                theirs = [_figures(each[name]) for each in runs]
                rows.append(Row(f"search-{place}-{title}", f"the same by {title}", theirs))
    first = [_figures([each[name]["first"] for name in each]) for each in ours]
    rows.append(Row("search-cold", "search: the first of each class in a new process", first))
    return rows


def _appends(bench: Bench, full: Product, fresh: Product, peer: Peer) -> list[Row]:
    seconds = str(max(int(bench.options.seconds), 1))

    def append(product: Product) -> Figures:
        return _figures(json.loads(run_in(product.environment, "-m", "bench.searching", "append", seconds)))

    def append_while_fed() -> Figures:
        with _feeding(full):
            return append(full)

    taken = bench.in_turns(
        {
            "append, nothing stored": lambda: append(fresh),
            "append": lambda: append(full),
            "append, index fed": append_while_fed,
            f"append by {peer.title}, nothing stored": lambda: _figures(peer.append_to_empty(int(seconds))),
            f"append by {peer.title}": lambda: _figures(peer.append(int(seconds))),
        }
    )
    empty, quiet, fed, peer_empty, peer_full = taken.values()
    many = f"{bench.options.stored:,} indexed".replace(",", " ")
    return [
        Row("search-append-empty", "append 1, one writer, nothing stored, no HTTP", empty),
        Row(
            "search-append",
            f"append 1, one writer, {many}",
            quiet,
            {EMPTY_TABLE: empty},
            [RatioAtLeast(0.9, to=EMPTY_TABLE)],
        ),
        Row("search-append-fed", f"append 1, one writer, {many}, and the index fed beside it", fed),
        Row("search-append-empty-peer", f"append 1 by {peer.title}, nothing stored", peer_empty),
        Row("search-append-peer", f"append 1 by {peer.title}, {many}", peer_full),
    ]


def _indexing(bench: Bench, full: Product, indexed: Mapping[str, float]) -> list[Row]:
    bench.say("how far the index is behind")
    with _feeding(full):
        told = json.loads(
            run_in(full.environment, "-m", "bench.searching", "lag", str(max(int(bench.options.seconds), 1)))
        )
    lags = sorted(told["lags"])
    rate = bench.options.stored / indexed["seconds"]
    share = indexed["index"] / indexed["text"]
    behind = Figures(told["rate"], lags[len(lags) // 2] * 1000, lags[-(-len(lags) * 99 // 100) - 1] * 1000)
    return [
        Row("search-indexing", "messages indexed a second, by one worker", [Figures(rate, 0, 0)]),
        Row("search-lag", "from an append's answer to the index, fed every 2 s beside appends", [behind]),
        Row("search-size", "size of the index", [], targets=[AtMost("of the text", 1, share)]),
    ]


def _quality(told: Mapping[str, Mapping[str, float]]) -> list[Row]:
    return [
        Row(
            f"search-labelled-{mode}",
            f"100 paraphrased questions over 2 000 messages, {mode}: "
            + ", ".join(f"{name} {found:.2f}" for name, found in quality.items()),
            [],
        )
        for mode, quality in told.items()
    ]


@contextmanager
def _feeding(product: Product) -> Iterator[None]:
    """What the worker does, in a process of its own."""
    feeder = subprocess.Popen(
        [sys.executable, "-m", "bench.searching", "feed"], cwd=ROOT, env=product.environment
    )
    try:
        yield
    finally:
        feeder.terminate()
        feeder.wait()


def _figures(taken: list[float]) -> Figures:
    return figures_of(taken, sum(taken))


def _most(name: str) -> float:
    if name.startswith("rank"):
        return 100
    return 20 if "Chinese" in name else 10
