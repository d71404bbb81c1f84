"""The names of the control sockets, and the check that keeps sandboxed processes out.

A client could be an agent, or code that it left, run by a check. A sandbox hides the sockets; one
that does not restrict files cannot. But its processes are descendants of the runner in a PID
namespace of their own, which no user's process is.
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
    """Does this connection come from a process in our sandbox?"""
    if not hasattr(socket, "SO_PEERCRED"):
        return False
    known = connected.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    number, _, _ = _CREDENTIALS.unpack(known)
    try:
        return _descends(number) and _namespace(number) != _namespace(os.getpid())
    except OSError:  # the process is gone, and waits for no answer
        return True


def _descends(number: int) -> bool:
    """A process outside of our PID namespace has the number 0."""
    while number > 0:
        if number == os.getpid():
            return True
        stat = Path(f"/proc/{number}/stat").read_bytes()
        number = int(stat[stat.rindex(b")") + 1 :].split(maxsplit=2)[1])
    return False


def _namespace(number: int) -> Path:
    return Path(f"/proc/{number}/ns/pid").readlink()
