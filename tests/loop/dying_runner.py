"""The command, but it kills itself before the n-th thing that it does to the world.

`dying_runner.py N WORD...`: what counts are files opened for writing, made, renamed or removed, and
programs started, by the runner itself; 0 is never. Python tells a hook about each of them.
"""

from __future__ import annotations

import os
import signal
import sys

WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
ACTS = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate")
STARTS = ("subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec")


def die_before(number: int) -> None:
    left = [number]

    def hear(event: str, args: tuple[object, ...]) -> None:
        flags = args[2] if event == "open" and args[0] != os.devnull else 0
        writes = isinstance(flags, int) and flags & WRITES
        if writes or event in ACTS or event in STARTS:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)


if __name__ == "__main__":
    from dwindle.__main__ import main

    sys.dont_write_bytecode = True
    sys.argv[0] = "dwindle"
    die_before(int(sys.argv.pop(1)))
    sys.exit(main())
