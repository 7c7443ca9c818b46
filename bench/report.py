"""The result as a table for people, in the terminal and on the benchmark's page, and as JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import BenchError
from bench.crew import ROOT
from bench.rows import EMPTY, Row

RESULTS = ROOT / "bench" / "results.json"
PAGE = ROOT / "docs" / "benchmark.md"
BEGIN, END = "<!-- results: written by bench --output -->", "<!-- end of results -->"
HEADINGS = ("measured", "rate/s", "p50 ms", "p99 ms", "of empty", "to reach", "reached")


@dataclass(frozen=True)
class Report:
    """`conditions` say how it was measured; `rows` are by database kind."""

    conditions: Mapping[str, str]
    rows: Mapping[str, Sequence[Row]]


def summary(report: Report) -> str:
    verdicts = [verdict for rows in report.rows.values() for row in rows for verdict in row.verdicts]
    return f"{sum(verdict.met for verdict in verdicts)} of {len(verdicts)} targets met"


def markdown(report: Report) -> str:
    parts = ["\n".join(f"- {name}: {value}" for name, value in report.conditions.items())]
    for kind, rows in report.rows.items():
        parts.append(f"### {kind}\n\n{table(rows)}")
    parts.append(f"{summary(report)}.")
    return "\n\n".join(parts)


def table(rows: Sequence[Row]) -> str:
    lines = [HEADINGS, ("---", *["---:"] * 4, "---", "---"), *(_cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def aligned(rows: Sequence[Row]) -> str:
    """The same for a terminal."""
    lines = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(_pad(line, widths)).rstrip() for line in lines)


def as_json(report: Report) -> str:
    databases = {kind: [_row_json(row) for row in rows] for kind, rows in report.rows.items()}
    return json.dumps({"conditions": dict(report.conditions), "databases": databases}, indent=2) + "\n"


def replace_results(page: str, results: str) -> str:
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise BenchError(f"the page needs one line {BEGIN!r} and one {END!r}")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{results}\n{END}{rest.split(END)[1]}"


def write(report: Report, results: Path = RESULTS, page: Path = PAGE) -> None:
    renewed = replace_results(page.read_text(), markdown(report))
    results.write_text(as_json(report))
    page.write_text(renewed)


def _cells(row: Row) -> tuple[str, ...]:
    figures, ratio = row.figures, row.ratio()
    return (
        row.title,
        f"{figures.rate:,.0f}".replace(",", " "),
        f"{figures.p50_ms:.2f}",
        f"{figures.p99_ms:.2f}",
        "" if ratio is None else f"{ratio:.2f}",
        "; ".join(verdict.target for verdict in row.verdicts),
        "; ".join(verdict.words for verdict in row.verdicts),
    )


def _pad(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    numbers = range(1, 5)
    return [
        cell.rjust(width) if column in numbers else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]


def _row_json(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "title": row.title,
        **asdict(row.figures),
        "ratio_to_empty": row.ratio(EMPTY),
        "rounds": [asdict(figures) for figures in row.rounds],
        "verdicts": [asdict(verdict) for verdict in row.verdicts],
    }
