"""A labelled set for recommendation: 30 skills, for each ten past queries and five new ones asked of them.

The queries stand in `labelled.tsv`, in words of our own: what is asked shares its matter with the past, and
mostly not its words. Each past query comes twice, once bare and once with a polite opening.
"""

from pathlib import Path

FRAMES = ("{}", "please help: {}")
ROWS = [line.split("\t") for line in Path(__file__).with_name("labelled.tsv").read_text().splitlines()]


def past_queries() -> list[tuple[str, str]]:
    """(skill, query) of ten past uses of each skill."""
    return [(skill, frame.format(query)) for skill, kind, query in ROWS if kind == "past" for frame in FRAMES]


def asked_queries() -> list[tuple[str, str]]:
    """(the right skill, query): 150 of them."""
    return [(skill, query) for skill, kind, query in ROWS if kind == "asked"]
