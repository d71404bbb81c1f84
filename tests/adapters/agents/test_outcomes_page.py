"""The page on agents names every outcome, and what follows is what the code does."""

from __future__ import annotations

from pathlib import Path

from dwindle.ports.work import ENDS_THE_RUN, PASSES, Trouble
from dwindle.runner.session import WAITS

PAGE = (Path(__file__).parents[3] / "docs" / "agents.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    below = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = below.split("\n|---", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def test_every_outcome_has_a_row_and_says_what_follows() -> None:
    told = {row[0].strip("`"): row[-1] for row in rows("What a session can come to")}
    expected = {"completed": "the evidence is looked at"}
    for trouble in Trouble:
        if trouble in PASSES:
            expected[trouble] = "waits"
        elif trouble in ENDS_THE_RUN:
            expected[trouble] = "ends the run"
        else:
            expected[trouble] = "failed attempt"
    assert told == expected
    assert all(len(row) == 4 for row in rows("What a session can come to"))


def test_the_waits_are_those_of_the_page() -> None:
    *first, last = (f"{seconds:g}" for seconds in WAITS)
    said = " ".join(PAGE.split())
    assert f"after {', '.join(first)} and then every {last} seconds" in said
