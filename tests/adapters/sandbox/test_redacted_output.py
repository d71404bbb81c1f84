"""Secrets are in nothing that a program printed and that is kept or shown."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from dwindle.ports.process import Captured, Command, Containment, Secret

KEY = Secret(b"sk-canary", b"[KEY]")


def test_what_a_program_prints_is_kept_and_shown_without_it(
    any_containment: Containment, tmp_path: Path
) -> None:
    script = "printf 'out sk-can'; sleep 0.1; printf 'ary.\\nsk-'; printf 'err sk-canary' >&2"
    command = replace(
        Command(argv=("/bin/sh", "-c", script), cwd=Path("/")),
        log=tmp_path / "log",
        secrets=(KEY,),
    )
    seen: list[bytes] = []
    ended = asyncio.run(any_containment.run(command, seen.append))
    assert (ended.exit_code, ended.error) == (0, "")
    assert ended.stdout == Captured(head=b"out [KEY].\nsk-", size=14)
    assert ended.stderr == Captured(head=b"err [KEY]", size=9)
    assert seen == [b"out [KEY].", b"sk-"]
    log = (tmp_path / "log").read_bytes()
    assert (KEY.value in log, log.count(b"[KEY]"), len(log)) == (False, 2, 23)


def test_a_program_whose_time_is_over_has_said_the_beginning_of_one(
    any_containment: Containment, tmp_path: Path
) -> None:
    command = Command(
        argv=("/bin/sh", "-c", "printf 'so sk-'; exec sleep 60"),
        cwd=Path("/"),
        timeout_seconds=0.5,
        log=tmp_path / "log",
        secrets=(KEY,),
    )
    ended = asyncio.run(any_containment.run(command))
    assert (ended.timed_out, ended.stdout.text()) == (True, "so sk-")
    assert (tmp_path / "log").read_bytes().endswith(b"sk-")


def test_a_command_does_not_show_its_secrets() -> None:
    command = Command(argv=("true",), cwd=Path("/"), secrets=(KEY,))
    assert "canary" not in repr(command)
