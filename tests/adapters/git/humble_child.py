"""A story told by a process that may not read what is closed to it, even if root started it.

Called as `python humble_child.py REPOSITORY`.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import sys
from pathlib import Path

from tests.adapters.git.places import files_at, files_in, git, opened, trailers, write

PR_CAPBSET_READ, PR_CAPBSET_DROP = 23, 24
OVERRIDE, SEARCH = 1, 2


def become_humble() -> None:
    """Start again without the right to overlook permissions."""
    libc = ctypes.CDLL(None)
    if os.geteuid() == 0 and libc.prctl(PR_CAPBSET_READ, OVERRIDE) == 1:
        for right in (OVERRIDE, SEARCH):
            libc.prctl(PR_CAPBSET_DROP, right)
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606


async def main(place: Path) -> None:
    workspace = await opened(place)
    lease = await workspace.lease(3)
    tree = lease.path
    write(tree, {"closed.txt": "x\n", "closed/in.txt": "x\n", "shut.log": "x\n"})
    write(tree, {"build/deep/out": "x\n"})
    for name in ("closed.txt", "closed", "shut.log", "build/deep"):
        (tree / name).chmod(0)
    (tree / "src").chmod(0o500)
    kept = await workspace.set_aside(lease, trailers("A1", 3))
    await workspace.release(lease)
    again = await workspace.lease(4)
    text = git(place, "log", "-1", "--format=%B", kept).splitlines()
    told = {
        "kept": files_at(place, kept),
        "notes": [line for line in text if line.startswith("- ")],
        "next": files_in(again.path),
        "same tree": again == lease,
    }
    print(json.dumps(told))  # noqa: T201 - for the parent


become_humble()
asyncio.run(main(Path(sys.argv[1])))
