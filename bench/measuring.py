"""What every measure works with: products to start, loads to run in turns, checks that nothing was lost."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from bench import BenchError
from bench.crew import run_crew
from bench.figures import Figures
from bench.load import CONNECTIONS, Generator, Request
from bench.rows import EMPTY, Row
from bench.servers import Installation, Product

Take = Callable[[], Figures]
WARM_UP_SECONDS = 1.0


@dataclass(frozen=True)
class Options:
    seconds: float
    rounds: int
    stored: int


@dataclass
class Progress:
    """A line per step, with the time since the start."""

    write: Callable[[str], object]
    began: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        self.write(f"[{time.monotonic() - self.began:6.1f} s] {text}")


class Bench:
    """One database kind under measurement."""

    def __init__(
        self,
        kind: str,
        options: Options,
        generator: Generator,
        installation: Installation,
        progress: Progress,
    ) -> None:
        self.kind = kind
        self.options = options
        self.generator_cpu = 0.0
        self._generator = generator
        self._installation = installation
        self._progress = progress

    def say(self, text: str) -> None:
        self._progress.say(f"{self.kind}: {text}")

    def product(self, name: str, fill: Sequence[str] = ()) -> AbstractContextManager[Product]:
        self.say(
            f"starting the server for {name}" + (f", with {' + '.join(fill)} messages stored" if fill else "")
        )
        return self._installation.product(name, fill)

    def load(self, product: Product, requests: Sequence[Request], ledger: "Ledger | None" = None) -> Take:
        def take() -> Figures:
            return self._run(product, requests, self.options.seconds, ledger)

        return take

    def empty(self, product: Product) -> Take:
        """The yardstick: the same server's end point that does nothing."""
        return self.load(product, [Request("GET", "/healthz")])

    def warm_up(self, product: Product, requests: Sequence[Request], ledger: "Ledger | None" = None) -> None:
        self._run(product, requests, min(WARM_UP_SECONDS, self.options.seconds), ledger)

    def bare(
        self, product: Product, step: str, sessions: Sequence[str], *, processes: int, threads: int
    ) -> Take:
        """A step of `bench.bare` on the product's database, without its server."""

        def take() -> Figures:
            return run_crew(
                "bench.bare",
                [step, ",".join(sessions), str(threads)],
                processes=processes,
                seconds=self.options.seconds,
                environment=product.environment,
            ).figures

        return take

    def in_turns(self, takes: Mapping[str, Take]) -> dict[str, list[Figures]]:
        """Each once a round, so that what disturbs the machine for a while disturbs all of them."""
        taken: dict[str, list[Figures]] = {name: [] for name in takes}
        for turn in range(self.options.rounds):
            for name, take in takes.items():
                figures = take()
                taken[name].append(figures)
                self.say(f"round {turn + 1} of {self.options.rounds}, {name}: {figures.rate:.0f}/s")
        return taken

    def _run(
        self, product: Product, requests: Sequence[Request], seconds: float, ledger: "Ledger | None"
    ) -> Figures:
        outcome = self._generator.run(product.address, requests, seconds)
        self.generator_cpu = max(self.generator_cpu, outcome.generator_cpu)
        if ledger:
            ledger.book(outcome.answered)
        return outcome.figures


class Ledger:
    """What was answered must be stored; beyond it only what was under way when a load ended."""

    def __init__(self, sessions: Sequence[str], batch: int) -> None:
        self._sessions = sessions
        self._batch = batch
        self._answered = 0
        self._loads = 0

    def book(self, answered: int) -> None:
        self._answered += answered
        self._loads += 1

    def check(self, product: Product) -> None:
        stored = sum(product.entries_of(session) for session in self._sessions)
        least = self._answered * self._batch
        most = least + self._loads * CONNECTIONS * self._batch
        if not least <= stored <= most:
            raise BenchError(f"{least} messages were acknowledged and {stored} are stored")


def empty_row(rounds: Sequence[Figures], beside: str) -> Row:
    return Row(f"empty-{beside}", f"empty end point, beside {beside}", rounds, {EMPTY: rounds})
