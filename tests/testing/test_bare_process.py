"""A containment for programs one trusts: it watches what they print, as the real ones do."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dwindle.ports.process import Command, Ended
from dwindle.testing.bare_process import LONGEST_LINE, BareProcess


def watched(line: str, folder: Path, bad: bytes = b"\0") -> tuple[Ended, list[bytes]]:
    seen: list[bytes] = []

    def watch(one: bytes) -> str | None:
        seen.append(one)
        return f"not to be trusted: {one.decode()}" if one == bad else None

    command = Command(argv=("sh", "-c", line), cwd=folder, timeout_seconds=30)
    return asyncio.run(BareProcess().run(command, watch)), seen


def test_every_line_is_seen_also_the_last_without_an_end(tmp_path: Path) -> None:
    ended, seen = watched("echo one; echo two >&2; printf 'th'; sleep 0.1; printf 'ree'", tmp_path)
    assert (ended.exit_code, ended.error, seen) == (0, "", [b"one", b"three"])


def test_a_sentence_ends_the_program_at_once(tmp_path: Path) -> None:
    ended, seen = watched("echo good; echo evil; sleep 25; echo later", tmp_path, b"evil")
    assert (ended.error, ended.signal, ended.timed_out) == ("not to be trusted: evil", 9, False)
    assert ended.seconds < 20
    assert seen == [b"good", b"evil"]


def test_a_line_without_an_end_comes_in_pieces(tmp_path: Path) -> None:
    _, seen = watched(f"head -c {3 * LONGEST_LINE} /dev/zero | tr '\\0' x", tmp_path)
    assert b"".join(seen) == b"x" * (3 * LONGEST_LINE)
    assert max(map(len, seen)) < 2 * LONGEST_LINE


def test_a_watcher_is_optional(tmp_path: Path) -> None:
    command = Command(argv=("echo", "hello"), cwd=tmp_path)
    ended = asyncio.run(BareProcess().run(command))
    assert (ended.exit_code, ended.stdout.text()) == (0, "hello\n")
