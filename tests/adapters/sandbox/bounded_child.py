"""Runs one shell script within bounds, perhaps as nobody, and prints how it ended.

usage: bounded_child.py KIND self|nobody FOLDER SCRIPT
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from tests.adapters.sandbox.runner_child import become_nobody, containment

from dwindle.adapters.sandbox.policy import Sandbox, SandboxPolicy
from dwindle.ports.process import Bounds, Command, Containment

BOUNDS = Bounds(processes=40, memory_bytes=256 << 20, file_bytes=1 << 20)


async def story(kind: Containment, folder: Path, script: str) -> None:
    command = Command(
        argv=("/bin/sh", "-c", script), cwd=folder, writable=(folder,), timeout_seconds=30
    )
    ended = await Sandbox(kind, SandboxPolicy(bounds=BOUNDS)).run(command)
    said = {
        "code": ended.exit_code,
        "signal": ended.signal,
        "error": ended.error,
        "limit": ended.limit,
        "said": ended.stdout.text().split(),
        "trouble": ended.stderr.text(),
    }
    print(json.dumps(said))  # noqa: T201 - the test reads it


def main() -> None:
    kind, who, folder, script = sys.argv[1:]
    if who == "nobody":
        become_nobody()
        os.environ["HOME"] = folder
    asyncio.run(story(containment(kind), Path(folder), script))


if __name__ == "__main__":
    main()
