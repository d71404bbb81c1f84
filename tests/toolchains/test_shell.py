"""Words and programs of a shell line."""

from __future__ import annotations

import pytest

from dwindle.toolchains.shell import every_command, program_names


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("A=1 my-agent --quiet", ("my-agent",)),
        ("cd work && exec my-agent; cat log | /bin/tail", ("my-agent", "cat", "/bin/tail")),
        ("my-agent || other", ()),
        ("$AGENT && ~/bin/x && exec", ()),
        ("if true; then a; fi", ()),
    ],
)
def test_the_programs_that_a_line_starts(line: str, programs: tuple[str, ...]) -> None:
    assert program_names(line) == programs


def test_every_command_of_a_line() -> None:
    line = "A=1 a b > out 2>&1 && (c | d) ; sh -c 'e f' || bash -ec"
    assert every_command(line) == (
        ("A=1", "a", "b"),
        ("c",),
        ("d",),
        ("sh", "-c", "e f"),
        ("bash", "-ec"),
        ("e", "f"),
    )
    assert every_command("a 'b c") == (("a", "'b", "c"),)
