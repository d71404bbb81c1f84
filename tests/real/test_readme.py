"""Every test that the page names is there."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = (HERE / "README.md").read_text("utf-8")
NAMED = re.findall(r"`([\w./]+\.py)::(\w+)`", PAGE)


def test_the_page_names_no_test_that_is_not_there() -> None:
    assert len(NAMED) > 50
    missing = [
        f"{file}::{test}"
        for file, test in NAMED
        if f"\ndef {test}(" not in (HERE / file).read_text("utf-8")
    ]
    assert missing == []


def test_all_eleven_have_a_row_with_a_test_of_the_program_and_one_of_ours() -> None:
    rows = [line.split(" | ") for line in PAGE.splitlines() if re.match(r"\| \d+ \|", line)]
    assert [row[0].strip("| ") for row in rows] == [str(number) for number in range(1, 12)]
    assert all("::test_" in row[2] and "::test_" in row[3] for row in rows)
