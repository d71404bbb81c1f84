"""A runner to be killed: runs a command under a named containment, perhaps as nobody.

usage: runner_child.py KIND self|nobody FOLDER PROGRAM [ARGUMENT...]

It prints `starting`, then what the program prints, then how the program ended if it does so.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

from dwindle.adapters.sandbox import Bubblewrap, Subreaper, Unshare
from dwindle.ports.process import Command, Containment

NOBODY = 65534


def containment(kind: str) -> Containment:
    if kind == "bubblewrap":
        return Bubblewrap(program=shutil.which("bwrap") or "bwrap")
    if kind == "unshare":
        return Unshare(
            program=shutil.which("unshare") or "unshare",
            setpriv=shutil.which("setpriv") or "setpriv",
        )
    return Subreaper()


def become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def say(line: bytes) -> None:
    print(line.decode(), flush=True)  # noqa: T201 - the test waits for it


async def story(kind: Containment, command: Command) -> None:
    say(b"starting")
    say(repr(await kind.run(command, say)).encode())


def main() -> None:
    kind, who, folder, *argv = sys.argv[1:]
    if who == "nobody":
        become_nobody()
        os.environ["HOME"] = folder
    command = Command(argv=tuple(argv), cwd=Path(folder), readable=(Path(folder),))
    asyncio.run(story(containment(kind), command))


if __name__ == "__main__":
    main()
