"""What a contained program gets to know of our environment: what is listed, and nothing else.

A list of what to take away would always miss one: a token of ours, a GIT_DIR that points to the
person's repository, a PYTHONPATH or an LD_PRELOAD that changes what a check runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

ALLOWED = ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TZ", "USER")

MARK = "DWINDLE_MARK"
"""Says whose a process is, so that leftovers of a killed runner can be told from others'."""


def environment(
    added: Mapping[str, str], mark: str = "", ours: Mapping[str, str] = os.environ
) -> dict[str, str]:
    allowed = {name: value for name in ALLOWED if (value := ours.get(name)) is not None}
    allowed.setdefault("PATH", os.defpath)
    marked = {MARK: mark} if mark else {}
    return {**allowed, **marked, **added}
