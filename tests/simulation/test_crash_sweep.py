"""Cut short at every call, or with a sick disk at every call: it ends as if nothing had been."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import pytest
from tests.doubles.disk import FakeDisk
from tests.simulation import sweep
from tests.simulation.laws import Broken
from tests.simulation.sweep import Instant, Outcome, undisturbed, with_fault

from dwindle.adapters.git.worktrees.workspace import GitWorkspace
from dwindle.adapters.store.disk import AppendFile, DurableFile
from dwindle.app.open_run import graph as open_graph
from dwindle.runner.ledger import Ledger

pytestmark = pytest.mark.slow

PARTS = 2
"""A sweep is cut into so many tests, for machines with several cores."""
STEPS = sweep.STEPS


def test_the_run_that_is_swept() -> None:
    told = undisturbed()
    chains = [f"{side}{step}" for side in "XY" for step in range(1, STEPS + 1)]
    assert (told.iterations, told.outcome.winds) == (21, 1)
    assert told.calls > 700
    assert told.disk_calls > 400
    assert told.outcome == Outcome(
        stop="completed",
        winds=1,
        resolved=(*chains, "B2", "C1", "Z1", "A37", "A38"),
        bindings={name: f"{name} is done" for name in (*chains, "B2", "Z1", "A37", "A38")}
        | {"C1": "Completed via A37, A38 resolution"},
        tree={
            f"{name}.txt": f"good {name}".encode() for name in (*chains, "B2", "Z1", "A37", "A38")
        }
        | {"README": b"good to read"},
        left=("01SIMULATION.jsonl", "journal", "plan.md", "repo"),
    )


def wrong(instants: Sequence[Instant], expected: Outcome) -> Counter[str]:
    """What came of taking the run up at each of these, where it did not come to the same end."""
    found: Counter[str] = Counter()
    for instant in instants:
        try:
            end = instant.resumed()
        except Exception as error:  # noqa: BLE001 - whatever it is, the run is lost
            found[type(error).__name__] += 1
        else:
            if end != expected:
                found["another end"] += 1
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_killed_before_and_after_every_call(part: int) -> None:
    told = undisturbed(kills=True)
    assert len(told.kills) > 300, "most calls change something"
    assert wrong(told.kills[part::PARTS], told.outcome) == {}


@pytest.mark.parametrize("part", range(PARTS))
def test_the_power_fails_after_every_call_and_leaves_any_legal_disk(part: int) -> None:
    told = undisturbed(cuts=True)
    assert told.images > 2000
    assert len(told.cuts) > 300
    assert wrong(told.cuts[part::PARTS], told.outcome) == {}


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
def test_every_call_to_the_disk_fails_once(code: int, part: int) -> None:
    told = undisturbed()
    starts: Counter[int] = Counter()
    for number in range(1 + part, told.disk_calls + 1, PARTS):
        end, started = with_fault(partial(FakeDisk.fail_call, number=number, code=code))
        assert end == told.outcome, f"call {number}"
        starts[started] += 1
    assert set(starts) == {1, 2}, "some faults end the run, others are got over"


@pytest.mark.parametrize("part", range(PARTS))
def test_the_disk_is_full_from_some_byte_on(part: int) -> None:
    """A user makes room, and starts it again."""
    told = undisturbed()
    for space in range(part * 997, 60_000, PARTS * 997):
        end, started = with_fault(partial(FakeDisk.limit_space, size=space))
        assert (end, started) == (told.outcome, 2), f"{space} bytes"


# --- this would be noticed -----------------------------------------------------------------------


def forgetful(self: AppendFile, data: bytes) -> None:
    """Without a sync."""
    self._disk.write(self._fd, data)
    self._size += len(data)


def in_place(self: DurableFile, content: bytes) -> None:
    """Written over the old file, instead of exchanged."""
    fd = self._disk.open(self.path, os.O_WRONLY | os.O_CREAT)
    self._disk.truncate(fd, 0)
    self._disk.write(fd, content)
    self._disk.fsync(fd)
    self._disk.close(fd)


async def nothing_to_mend(workspace: GitWorkspace, ledger: Ledger) -> None:
    del workspace, ledger


def late(self: Ledger) -> None:
    """What was noted is acknowledged, and written when it suits."""
    if len(self._noted) > 5:
        commit(self)


commit = Ledger.commit
Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.mark.parametrize(
    ("plant", "faults"),
    [
        pytest.param(lambda m: m.setattr(AppendFile, "append", forgetful), "cuts", id="no sync"),
        pytest.param(lambda m: m.setattr(DurableFile, "replace", in_place), "kills", id="in place"),
        pytest.param(
            lambda m: m.setattr(open_graph, "put_in_step", nothing_to_mend),
            "kills",
            id="stray commits",
        ),
        pytest.param(lambda m: m.setattr(Ledger, "commit", late), "kills", id="late commits"),
    ],
)
def test_a_fault_that_is_planted_is_found(
    plant: Plant, faults: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(monkeypatch)
    try:
        told = undisturbed(kills=faults == "kills", cuts=faults == "cuts")
    except Broken:
        return
    instants = told.kills if faults == "kills" else told.cuts
    whole = replace(told.outcome, left=("01SIMULATION.jsonl", "journal", "plan.md", "repo"))
    assert wrong(instants[:: max(1, len(instants) // 40)], whole) != {}
