"""What `dwindle redirect` refuses before it looks at any plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.command import Ended, dwindle, repository

WHERE = (
    "dwindle: --depends-on, --under and --choice-of say where an --add-atom belongs\n"
    '  add one, such as --add-atom "Write the manual", or leave them out\n'
)
ONE = "dwindle: use one way at a time\n  options, words, --edit or --adopt\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--depends-on=A1", "--goal=Another"), WHERE),
        (("--under=A1",), WHERE),
        (("--choice-of=or_A1", "--set=max_iterations=9"), WHERE),
        (("--adopt", "--goal=Another"), ONE),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    repository(tmp_path)
    assert dwindle(tmp_path, "redirect", *words) == Ended(code=2, err=said)
