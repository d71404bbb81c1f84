"""What git or a setup printed is told in a plan and on a terminal, and drives neither."""

from __future__ import annotations

from dwindle.ports.workspace import WorkspaceFailed


def test_a_failure_is_told_as_text() -> None:
    failure = WorkspaceFailed("setup failed", "\x1b[31mnpm ERR!\x1b[0m\r\nno \u202espace\n")
    assert str(failure) == "setup failed: \\x1b[31mnpm ERR!\\x1b[0m\nno \\u202espace"
