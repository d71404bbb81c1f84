"""A filter that takes the kernel's keyrings away from a program.

A person's keys (tickets, tokens, of whatever logs in for them) hang in keyrings that know users,
and no namespace: whoever is the same user outside may look for them by number, and read them. So
the three calls are answered as by a kernel that does not have them, which programs can live with.

It is a program for the kernel's own small machine, in the order: is it this processor, is the call
one of the three. The numbers of the three follow each other everywhere.
"""

from __future__ import annotations

import errno
import os
import struct
from functools import cache
from pathlib import Path

FIRST_CALL = {
    0xC000003E: 248,  # x86-64; what is added below for its other kind of pointers is left out
    0x40000003: 286,  # x86
    0xC00000B7: 217,  # ARM, 64 bits
    0x40000028: 309,  # ARM, 32 bits
    0xC00000F3: 217,  # RISC-V, 64 bits
}
"""By processor, as the kernel names it: add_key, then request_key, then keyctl."""

CALLS = 3
OTHER_POINTERS = 0x40000000

_LOAD, _AND, _IS, _AT_LEAST, _ABOVE, _ANSWER = 0x20, 0x54, 0x15, 0x35, 0x25, 0x06
_CALL, _PROCESSOR = 0, 4
"""Where the facts are."""
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.ENOSYS


def filter_file() -> int | None:
    """A descriptor to read it from, to be closed; None if this kernel has no filters."""
    if not _can_filter():
        return None
    descriptor = os.memfd_create("keyless")
    try:
        os.pwrite(descriptor, _filter(), 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


@cache
def _can_filter() -> bool:
    try:
        return b"\nSeccomp:" in Path("/proc/self/status").read_bytes()
    except OSError:
        return False


@cache
def _filter() -> bytes:
    steps = [(_LOAD, 0, 0, _PROCESSOR)]
    for processor, first in FIRST_CALL.items():
        steps += [
            (_IS, 0, 6, processor),  # else on to the next one
            (_LOAD, 0, 0, _CALL),
            (_AND, 0, 0, ~OTHER_POINTERS & 0xFFFFFFFF),
            (_AT_LEAST, 0, 2, first),
            (_ABOVE, 1, 0, first + CALLS - 1),
            (_ANSWER, 0, 0, _REFUSE),
            (_ANSWER, 0, 0, _ALLOW),
        ]
    steps.append((_ANSWER, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)
