"""Appends of one message with many stored, in turns with the same on an empty table."""

from bench.load import CONNECTIONS
from bench.measures.append import append_requests
from bench.measuring import Bench, Ledger, empty_row
from bench.rows import EMPTY, RatioAtLeast, Row

EMPTY_TABLE = "an empty table"
SESSIONS = 1_000


def measure(bench: Bench) -> list[Row]:
    stored = bench.options.stored
    sessions = min(SESSIONS, stored)
    with (
        bench.product("fresh") as fresh,
        bench.product("stored", fill=[f"{sessions}x{stored // sessions}"]) as full,
    ):
        takes = {"empty": bench.empty(full)}
        ledgers = []
        for name, product in (("append-fresh", fresh), ("append-stored", full)):
            opened = product.open_sessions("append", CONNECTIONS)
            ledger = Ledger(opened, 1)
            requests = append_requests(product, opened, 1)
            bench.warm_up(product, requests, ledger)
            takes[name] = bench.load(product, requests, ledger)
            ledgers.append((ledger, product))
        taken = bench.in_turns(takes)
        for ledger, product in ledgers:
            ledger.check(product)
    beside = {EMPTY: taken["empty"], EMPTY_TABLE: taken["append-fresh"]}
    title = f"append 1 message with {stored:,} stored".replace(",", " ")
    return [
        empty_row(taken["empty"], "stored"),
        Row("append-fresh", "append 1 message on an empty table", taken["append-fresh"], beside),
        Row("append-stored", title, taken["append-stored"], beside, [RatioAtLeast(0.9, to=EMPTY_TABLE)]),
    ]
