"""What every adapter reads when a session has ended: how its program ended, and the report file.

The file is opened as something that a stranger put there.
"""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path
from typing import Final

from dwindle.adapters.agents.reports.strict_json import MAX_BYTES
from dwindle.ports.process import Ended
from dwindle.text import amounts

STDERR_LINES: Final = 20
QUOTED_CHARACTERS: Final = 600
"""Of what the program says; a reason is read by people and by the next attempt."""


class UnreadableReport(Exception):
    """What is in the place of the report cannot be read as a file; says why."""


def report_file(path: str | Path) -> bytes | None:
    """The file's content, and one byte more than is allowed at most; None if there is none.

    A link could lead anywhere, and to open a pipe would wait for ever. Raises UnreadableReport.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if Path(path).is_symlink():
            raise UnreadableReport(_NOT_A_FILE) from None
        raise UnreadableReport(f"the report file could not be read: {error.strerror}") from None
    try:
        facts = os.fstat(fd)
        if not stat.S_ISREG(facts.st_mode):
            raise UnreadableReport(_NOT_A_FILE)
        return os.read(fd, min(facts.st_size, MAX_BYTES) + 1)
    finally:
        os.close(fd)


_NOT_A_FILE = "the report is malformed: what is in its place is not a file"


def timeout_reason(ended: Ended) -> str:
    return f"it was still at work after {amounts.duration(round(ended.seconds))} and was ended"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def fatal_signal(ended: Ended) -> str:
    """The signal that ended the program, also one that a shell relayed as 128 + its number."""
    number = ended.signal
    if number is None and ended.exit_code is not None and 128 < ended.exit_code < 128 + 65:
        number = ended.exit_code - 128
    return "" if number is None else signal_name(number)


def stderr_end(ended: Ended) -> str:
    return "\n".join(ended.stderr.text().strip().splitlines()[-STDERR_LINES:])


def shortened(text: str) -> str:
    """What the program said, as far as a reason quotes it."""
    return text if len(text) <= QUOTED_CHARACTERS else f"{text[:QUOTED_CHARACTERS]} [...]"
