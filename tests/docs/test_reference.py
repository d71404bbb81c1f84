"""The pages to look things up in say what the code says."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.docs.page import ROOT

from dwindle.kernel.model import EXIT_CODES

ROW = re.compile(r"^\| (\d+) \| `(\w+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def test_the_table_of_exit_codes_is_that_of_the_kernel() -> None:
    rows = ROW.findall((ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8"))
    assert [(int(code), reason) for code, reason, *_ in rows] == [
        (code, str(reason)) for reason, code in EXIT_CODES.items()
    ]


def test_the_tables_of_the_kernel_and_its_events_are_current() -> None:
    said = subprocess.run(
        [sys.executable, ROOT / "docs" / "_generate.py", "--check"],
        capture_output=True,
        check=False,
        text=True,
    )
    assert (said.returncode, said.stdout) == (0, "")


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = sorted(path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md")
    assert [name for name in pages if f"]({name})" not in index] == []
