"""The sockets by which people reach a run, and who is not let in.

Whoever connects could be an agent, or the code that it left, at work in a check. A sandbox hides
the sockets from them. One that does not restrict files cannot; but they descend from us, and live
in a PID namespace of their own, which nobody does who comes to us as a person.
"""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path
from typing import Final

from dwindle.kernel.model import PlanKind

SOCKETS: Final = {PlanKind.GRAPH: "control.sock", PlanKind.TREE: "tree.sock"}
"""Both plans of a repository may be run at the same time."""

_CREDENTIALS = struct.Struct("3i")


def is_contained(connected: socket.socket) -> bool:
    """Does this come from a process that we keep in a sandbox?"""
    if not hasattr(socket, "SO_PEERCRED"):
        return False
    known = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    number, _, _ = _CREDENTIALS.unpack(known)
    try:
        return _descends(number) and _namespace(number) != _namespace(os.getpid())
    except OSError:  # it is gone already, and does not wait for an answer
        return True


def _descends(number: int) -> bool:
    """Whoever cannot be seen from here has the number 0, and is outside."""
    while number > 0:
        if number == os.getpid():
            return True
        stat = Path(f"/proc/{number}/stat").read_bytes()
        number = int(stat[stat.rindex(b")") + 1 :].split(maxsplit=2)[1])
    return False


def _namespace(number: int) -> Path:
    return Path(f"/proc/{number}/ns/pid").readlink()
