"""Hands the words of a script on to `dwindle state`, through the launcher of the plugin."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

LAUNCHER = Path(__file__).resolve().parents[3] / "bin" / "dwindle"
MISSING = 127


def state(verb: str, words: Sequence[str]) -> int:
    try:
        ended = subprocess.run([str(LAUNCHER), "state", verb, *words], check=False)
    except OSError as error:
        return _said(f"{LAUNCHER}: {error.strerror}")
    if ended.returncode == MISSING:
        return _said("dwindle is not installed: `pipx install dwindle` brings it")
    return ended.returncode


def _said(error: str) -> int:
    print(json.dumps({"success": False, "error": error}))
    return 1
