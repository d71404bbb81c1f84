"""A system call filter: no keyrings, and for what is judged no tracing of what judges.

The keys of a user (tickets, tokens) are in keyrings that belong to the user and know no namespace:
a process of the same user may look for them by number, and read them. So the three calls answer as
in a kernel that does not have them, which programs can live with.

Where a check runs, code under test could trace the tool that judges it, or write to its memory: for
checks these calls are forbidden.

It is a program for the kernel's own small machine, in the order: is it this processor, is the call
one of those.
"""

from __future__ import annotations

import errno
import os
import struct
from functools import cache
from pathlib import Path

KEYS = {
    0xC000003E: 248,  # x86-64; what is added below for its other kind of pointers is left out
    0x40000003: 286,  # x86
    0xC00000B7: 217,  # ARM, 64 bits
    0x40000028: 309,  # ARM, 32 bits
    0xC00000F3: 217,  # RISC-V, 64 bits
}
"""By processor, as the kernel names it: add_key, then request_key, then keyctl."""

TRACES = {
    0xC000003E: (101, 310, 311, 438),
    0x40000003: (26, 347, 348, 438),
    0xC00000B7: (117, 270, 271, 438),
    0x40000028: (26, 376, 377, 438),
    0xC00000F3: (117, 270, 271, 438),
}
"""ptrace, process_vm_readv, process_vm_writev, pidfd_getfd."""

OTHER_POINTERS = 0x40000000

_LOAD, _AND, _IS, _ANSWER = 0x20, 0x54, 0x15, 0x06
_CALL, _PROCESSOR = 0, 4
"""Where the facts are."""
_ALLOW, _MISSING, _FORBIDDEN = 0x7FFF0000, 0x00050000 | errno.ENOSYS, 0x00050000 | errno.EPERM


def filter_file(*, traces: bool) -> int | None:
    """A descriptor to read it from, to be closed; None if this kernel has no filters."""
    if not _can_filter():
        return None
    descriptor = os.memfd_create("filter")
    try:
        os.pwrite(descriptor, _filter(traces=traces), 0)
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
def _filter(*, traces: bool) -> bytes:
    steps = [(_LOAD, 0, 0, _PROCESSOR)]
    for processor, first in KEYS.items():
        answers = dict.fromkeys(range(first, first + 3), _MISSING)
        if not traces:
            answers |= dict.fromkeys(TRACES[processor], _FORBIDDEN)
        calls = [step for call, said in answers.items() for step in _refusal(call, said)]
        steps += [
            (_IS, 0, len(calls) + 3, processor),  # else on to the next one
            (_LOAD, 0, 0, _CALL),
            (_AND, 0, 0, ~OTHER_POINTERS & 0xFFFFFFFF),
            *calls,
            (_ANSWER, 0, 0, _ALLOW),
        ]
    steps.append((_ANSWER, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _refusal(call: int, answer: int) -> tuple[tuple[int, int, int, int], ...]:
    return (_IS, 0, 1, call), (_ANSWER, 0, 0, answer)
