"""What can be measured, by name. A further capability adds its module and a line here."""

from collections.abc import Callable

from bench.measures import append, importing, memory, pages, search, skills, stored, sweep, window
from bench.measuring import Bench
from bench.rows import Row

Measure = Callable[[Bench], list[Row]]

MEASURES: dict[str, Measure] = {
    "append": append.measure,
    "stored": stored.measure,
    "window": window.measure,
    "sweep": sweep.measure,
    "skills": skills.measure,
    "memory": memory.measure,
    "search": search.measure,
    "pages": pages.measure,
    "import": importing.measure,
}
