"""The loop outside of the session: a run of its own, that goes on when the session is gone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from dwindle.surfaces.held import line_to
from dwindle.surfaces.host.tenancy import LOCKED, tenancy
from dwindle.surfaces.refusal import Refused

LOG = ".runner/headless.log"
PATIENCE = 10.0
"""Seconds in which a run that can begin has begun."""


def detached(root: Path) -> dict[str, Any]:
    if tenancy(root) is not None:
        hint = "end it first: /exit-recursion"
        raise Refused("the loop runs inside of a session", hint=hint, code=LOCKED)
    log = root / LOG
    log.parent.mkdir(exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if k != "CLAUDECODE"}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "dwindle", "run", "--plan", "graph"],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        line = line_to(root)
        if line is not None:
            line.close()
            return {
                "success": True,
                "pid": process.pid,
                "log": str(log),
                "reason": "running; `dwindle status` says how it goes, `dwindle stop` ends it",
            }
        time.sleep(0.05)
    said = log.read_text(encoding="utf-8", errors="replace")[-2000:].strip()
    if process.poll() == 0:
        return {"success": True, "pid": process.pid, "log": str(log), "reason": said}
    return {"success": False, "error": said or "the run did not begin", "log": str(log)}
