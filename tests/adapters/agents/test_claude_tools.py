"""What becomes of an order that names the only tools that its session may use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.adapters.agents.claude_lines import init, session_in
from tests.adapters.agents.test_claude import ALWAYS, READS, command, schema_of

from dwindle.kernel.model import Role
from dwindle.testing.agents import ORDER


@pytest.mark.parametrize(
    ("role", "sandboxed", "only", "options"),
    [
        (
            Role.WORKER,
            True,
            ("Read", "Edit", "mcp__web__fetch"),
            ("--tools", "Read,Edit", "--dangerously-skip-permissions"),
        ),
        (
            Role.WORKER,
            False,
            ("Read", "Edit"),
            ("--tools", "Read,Edit", "--permission-mode", "acceptEdits", "--allowedTools", "Edit"),
        ),
        (
            Role.WORKER,
            False,
            ("Read",),
            ("--tools", "Read", "--permission-mode", "acceptEdits", "--add-dir"),
        ),
        (Role.VERIFIER, True, ("Read", "Edit"), ("--tools", "Read", *READS)),
        (Role.PROBE, True, ("Bash", "Glob"), ("--tools", "Glob", *READS)),
        (Role.PROBE, True, ("Bash",), ("--tools", "", *READS)),
    ],
)
def test_an_order_takes_tools_away_and_adds_none(
    tmp_path: Path, role: Role, sandboxed: bool, only: tuple[str, ...], options: tuple[str, ...]
) -> None:
    order = replace(ORDER, role=role, tools=only)
    found = command(tmp_path, order, sandboxed=sandboxed).argv
    fixed = (*ALWAYS, *schema_of(order))
    assert found[: len(fixed) + len(options)] == (*fixed, *options)


def test_a_session_with_more_tools_than_the_order_allows_is_not_trusted(tmp_path: Path) -> None:
    order = replace(ORDER, tools=("Read", "Edit"))
    session = session_in(tmp_path, order)
    assert session.watch(init(tools=["Read", "Edit", "StructuredOutput"])) is None
    assert session_in(tmp_path, order).watch(init(tools=["Read", "Edit", "Bash"])) == (
        "claude was not set up as it was asked to be: it has tools that it should not have (Bash)"
    )
