"""An agent, and a guard, that print a gigabyte: the runner holds two ends of it and no more.

A real one, which is why this is left to the night; by day a fifth of it has to do.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.loop.tree_story import TreeStory, did, ran, wrote

pytestmark = pytest.mark.nightly

GIGABYTE = 10**9
KEPT = 1 << 20
"""Bytes of each stream, unless configured."""
MORE = 16 << 20
"""Bytes that a runner may need beyond what it needs for a quiet agent."""
LONGEST = 900.0


@dataclass(frozen=True, kw_only=True)
class Measured:
    code: int
    peak: int
    """The most memory that the runner ever had, in bytes."""
    seconds: float


def measured(story: TreeStory) -> Measured:
    began = time.monotonic()
    running = story.going()
    peak = 0
    while running.poll() is None:
        with suppress(OSError, StopIteration):  # it has ended just now
            text = Path(f"/proc/{running.pid}/status").read_text("ascii")
            line = next(line for line in text.splitlines() if line.startswith("VmHWM:"))
            peak = max(peak, int(line.split()[1]) << 10)
        if time.monotonic() - began > LONGEST:
            running.kill()
        time.sleep(0.02)
    return Measured(code=running.returncode, peak=peak, seconds=time.monotonic() - began)


def flood(size: int) -> str:
    return f"echo first; yes 'and so on' | head -c {size}; echo; echo last"


@pytest.mark.parametrize("who", ["agent", "guard"])
def test_a_gigabyte_needs_no_more_memory_than_a_line(tmp_path: Path, who: str) -> None:
    def printing(size: int) -> TreeStory:
        agent = [ran(flood(size))] if who == "agent" else []
        story = TreeStory(tmp_path / str(size)).leaves("a")
        story.node("a", did(*agent, wrote(a_txt="a\n")))
        return story.having({"check.sh": f"{flood(size)}\n"}) if who == "guard" else story

    quiet, story = measured(printing(100)), printing(GIGABYTE)
    loud = measured(story)

    assert (quiet.code, loud.code) == (0, 0), story.log.read_text("utf-8")
    assert loud.peak - quiet.peak < MORE, (quiet, loud)
    name = "executor.log" if who == "agent" else "guard.log"
    log = (story.logs(1) / name).read_bytes()
    assert (log[:12], log[-6:]) == (b"first\nand so", b"\nlast\n")
    assert KEPT <= len(log) < KEPT + (64 << 10)
    assert story.ending(loud.code).iterations == ("0001 node a execute guard=pass",)
