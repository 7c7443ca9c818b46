import json
from pathlib import Path

import pytest

from bench import BenchError
from bench.figures import Figures
from bench.report import (
    BEGIN,
    END,
    Report,
    aligned,
    as_json,
    markdown,
    replace_results,
    summary,
    table,
    write,
)
from bench.rows import EMPTY, AtMost, P99Below, RatioAtLeast, Row

YARDSTICK = [Figures(4000.0, 3.5, 9.0)]
ROWS = [
    Row("empty", "empty end point", YARDSTICK, {EMPTY: YARDSTICK}),
    Row(
        "append-1",
        "one",
        [Figures(1234.5, 10, 40)],
        {EMPTY: YARDSTICK},
        [RatioAtLeast(0.4), P99Below(100)],
    ),
]
REPORT = Report({"load": "wrk"}, {"sqlite": ROWS})
TABLE = """\
| measured | rate/s | p50 ms | p99 ms | of empty | to reach | reached |
| --- | ---: | ---: | ---: | ---: | --- | --- |
| empty end point | 4 000 | 3.50 | 9.00 | 1.00 |  |  |
| one | 1 234 | 10.00 | 40.00 | 0.31 | ≥ 0.4 of empty; p99 < 100 ms | **not met**: 0.31; met: 40.0 ms |"""


def test_the_table_has_a_line_for_each_row() -> None:
    assert table(ROWS) == TABLE


def test_the_terminal_gets_aligned_columns() -> None:
    lines = aligned(ROWS).splitlines()
    assert (
        lines[0] == "measured         rate/s  p50 ms  p99 ms  of empty  to reach                      reached"
    )
    assert lines[1] == "empty end point   4 000    3.50    9.00      1.00"


def test_the_summary_counts_targets() -> None:
    assert summary(REPORT) == "1 of 2 targets met"


def test_markdown_has_conditions_tables_and_summary() -> None:
    assert markdown(REPORT) == f"- load: wrk\n\n### sqlite\n\n{TABLE}\n\n1 of 2 targets met."


def test_json_keeps_every_round_and_verdict() -> None:
    told = json.loads(as_json(REPORT))
    assert told["conditions"] == {"load": "wrk"}
    assert told["databases"]["sqlite"][1] == {
        "name": "append-1",
        "title": "one",
        "rate": 1234.5,
        "p50_ms": 10,
        "p99_ms": 40,
        "ratio_to_empty": 0.308625,
        "rounds": [{"rate": 1234.5, "p50_ms": 10, "p99_ms": 40}],
        "verdicts": [
            {"target": "≥ 0.4 of empty", "reached": "0.31", "met": False, "aim_met": None},
            {"target": "p99 < 100 ms", "reached": "40.0 ms", "met": True, "aim_met": None},
        ],
    }


def test_only_what_stands_between_the_markers_is_replaced() -> None:
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert replace_results(page, "new") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"


@pytest.mark.parametrize("page", ["no markers", f"{BEGIN} only", f"{BEGIN}{END}{BEGIN}{END}"])
def test_a_page_without_its_markers_is_refused(page: str) -> None:
    with pytest.raises(BenchError, match="the page needs"):
        replace_results(page, "new")


def test_a_refused_page_leaves_the_old_results(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text("no markers")
    with pytest.raises(BenchError):
        write(REPORT, results, page)
    assert not results.exists()


def test_writing_twice_changes_nothing(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text(f"# Page\n{BEGIN}\n{END}\n")
    write(REPORT, results, page)
    once = page.read_text()
    write(REPORT, results, page)
    assert page.read_text() == once
    assert TABLE in once


def test_what_a_run_did_not_measure_stays(tmp_path: Path) -> None:
    page, results = tmp_path / "page.md", tmp_path / "results.json"
    page.write_text(f"# Page\n{BEGIN}\n{END}\n")
    write(REPORT, results, page)
    later = [Row("size", "size of the index", [], targets=[AtMost("of the text", 1, 0.61)])]
    write(Report({"load": "none"}, {"sqlite": later, "postgres": later}), results, page)
    told = json.loads(results.read_text())["databases"]
    assert [row["name"] for row in told["sqlite"]] == ["empty", "append-1", "size"]
    assert [row["name"] for row in told["postgres"]] == ["size"]
    assert "| size of the index |  |  |  |  | ≤ 1 of the text | met: 0.61 |" in page.read_text()
