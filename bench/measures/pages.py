"""The console's pages over a large record, one after the other as an operator opens them."""

import http.client
import json
import time

from bench import BenchError
from bench.browsing import SPREAD
from bench.figures import Figures, figures_of
from bench.measuring import Bench
from bench.rows import P50Below, Row
from bench.servers import Product, run_in

TIMES = 15
MOST_MS = 300
INVOCATIONS = 10  # one use of a skill for so many messages


def measure(bench: Bench) -> list[Row]:
    stored = bench.options.stored
    with bench.product("pages") as product:
        bench.say(f"storing {stored} messages in {stored // SPREAD + 1} sessions, and indexing them")
        run_in(product.environment, "-m", "bench.browsing", "fill", str(stored))
        run_in(product.environment, "-m", "bench.skilling", "fill", str(max(stored // INVOCATIONS, 1)))
        told = json.loads(run_in(product.environment, "-m", "bench.browsing", "pages"))
        cookie, pages = told["cookie"], told["pages"]
        taken = bench.in_turns(
            {
                page: lambda address=address: _looked(product, cookie, address)  # type: ignore[misc]
                for page, (address, _) in pages.items()
            }
        )
    return [
        Row(f"page: {page}", f"page: {page}; {queries} queries", taken[page], targets=[P50Below(MOST_MS)])
        for page, (_, queries) in pages.items()
    ]


def _looked(product: Product, cookie: str, address: str) -> Figures:
    connection = http.client.HTTPConnection(product.address, timeout=60)
    try:
        # The first look is for the caches of the process that the connection has come to.
        _look(connection, cookie, address)
        times = [_look(connection, cookie, address) for _ in range(TIMES)]
    finally:
        connection.close()
    return figures_of(times, sum(times))


def _look(connection: http.client.HTTPConnection, cookie: str, address: str) -> float:
    began = time.perf_counter()
    connection.request("GET", address, headers={"Cookie": cookie})
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise BenchError(f"GET {address} was answered {answer.status}")
    return time.perf_counter() - began
