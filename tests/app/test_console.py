"""Nothing that an agent wrote is a command to the terminal."""

from __future__ import annotations

import pytest

from dwindle.app.console import complain, say


def test_both_ways_out_are_covered(capsys: pytest.CaptureFixture[str]) -> None:
    say("out \x1b[2J")
    complain("err \x1b[2J")
    assert capsys.readouterr() == ("out \\x1b[2J\n", "err \\x1b[2J\n")
