"""The result as a table for people, in the terminal and on the benchmark's page, and as JSON for programs."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import BenchError
from bench.crew import ROOT
from bench.rows import EMPTY, Row, Verdict

RESULTS = ROOT / "bench" / "results.json"
PAGE = ROOT / "docs" / "benchmark.md"
BEGIN, END = "<!-- results: written by bench --output -->", "<!-- end of results -->"
NOTHING = {"rate": None, "p50_ms": None, "p99_ms": None}
HEADINGS = ("measured", "rate/s", "p50 ms", "p99 ms", "of empty", "to reach", "reached")

Result = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """`conditions` say how it was measured; `rows` are by database kind."""

    conditions: Mapping[str, str]
    rows: Mapping[str, Sequence[Row]]


def summary(report: Report) -> str:
    return _summary(_as_dict(report))


def markdown(report: Report) -> str:
    return _markdown(_as_dict(report))


def table(rows: Sequence[Row]) -> str:
    return _table([_row_json(row) for row in rows])


def aligned(rows: Sequence[Row]) -> str:
    """The same for a terminal."""
    lines = [HEADINGS, *(_cells(_row_json(row)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    return "\n".join("  ".join(_pad(line, widths)).rstrip() for line in lines)


def as_json(report: Report) -> str:
    return _as_text(_as_dict(report))


def replace_results(page: str, results: str) -> str:
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        raise BenchError(f"the page needs one line {BEGIN!r} and one {END!r}")
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{results}\n{END}{rest.split(END)[1]}"


def write(report: Report, results: Path = RESULTS, page: Path = PAGE) -> None:
    """What this run did not measure stays as a run before it has found it."""
    before = json.loads(results.read_text()) if results.exists() else {"databases": {}}
    kept = _kept(before, _as_dict(report))
    renewed = replace_results(page.read_text(), _markdown(kept))
    results.write_text(_as_text(kept))
    page.write_text(renewed)


def _kept(before: Result, now: Result) -> Result:
    databases = dict(before["databases"])
    for kind, rows in now["databases"].items():
        measured = {row["name"] for row in rows}
        databases[kind] = [row for row in databases.get(kind, ()) if row["name"] not in measured] + rows
    return {"conditions": now["conditions"], "databases": databases}


def _summary(result: Result) -> str:
    rows = [row for of_kind in result["databases"].values() for row in of_kind]
    verdicts = [verdict for row in rows for verdict in row["verdicts"]]
    return f"{sum(verdict['met'] for verdict in verdicts)} of {len(verdicts)} targets met"


def _markdown(result: Result) -> str:
    parts = ["\n".join(f"- {name}: {value}" for name, value in result["conditions"].items())]
    for kind, rows in result["databases"].items():
        parts.append(f"### {kind}\n\n{_table(rows)}")
    parts.append(f"{_summary(result)}.")
    return "\n\n".join(parts)


def _table(rows: Sequence[Result]) -> str:
    lines = [HEADINGS, ("---", *["---:"] * 4, "---", "---"), *(_cells(row) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _as_text(result: Result) -> str:
    return json.dumps(result, indent=2) + "\n"


def _as_dict(report: Report) -> Result:
    databases = {kind: [_row_json(row) for row in rows] for kind, rows in report.rows.items()}
    return {"conditions": dict(report.conditions), "databases": databases}


def _cells(row: Result) -> tuple[str, ...]:
    verdicts = [Verdict(**verdict) for verdict in row["verdicts"]]
    return (
        row["title"],
        _shown(row["rate"], ",.0f").replace(",", " "),
        _shown(row["p50_ms"], ".2f"),
        _shown(row["p99_ms"], ".2f"),
        _shown(row["ratio_to_empty"], ".2f"),
        "; ".join(verdict.target for verdict in verdicts),
        "; ".join(verdict.words for verdict in verdicts),
    )


def _shown(number: float | None, form: str) -> str:
    return "" if number is None else format(number, form)


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
        **(NOTHING if row.figures is None else asdict(row.figures)),
        "ratio_to_empty": row.ratio(EMPTY),
        "rounds": [asdict(figures) for figures in row.rounds],
        "verdicts": [asdict(verdict) for verdict in row.verdicts],
    }
