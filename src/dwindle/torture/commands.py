"""The commands of a trial: `dwindle` as a user calls it, and git, which obeys no settings here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

ORDINARY: Final = (sys.executable, "-m", "dwindle")
SURROUNDINGS: Final = {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_NAME": "Dwindle" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "torture@example.invalid" for who in ("AUTHOR", "COMMITTER")},
}


def git_output(root: Path, *words: str) -> str:
    """What git prints; if it fails, a sentence that says so."""
    said = subprocess.run(
        ["git", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", *words],
        cwd=root,
        env={**os.environ, **SURROUNDINGS},
        capture_output=True,
        text=True,
        check=False,
    )
    if said.returncode:
        return f"git {words[0]} failed: {said.stderr.strip()}"
    return said.stdout


def called(
    words: Sequence[str], root: Path, log: Path, seconds: float
) -> subprocess.CompletedProcess[str] | None:
    """The command, with both of its streams in `log`; None if it had to be killed."""
    with log.open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            words,
            cwd=root,
            env={**os.environ, **SURROUNDINGS},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return None
        except BaseException:
            process.kill()
            raise
    text = log.read_text("utf-8", "replace")
    return subprocess.CompletedProcess(words, code, text, text)
