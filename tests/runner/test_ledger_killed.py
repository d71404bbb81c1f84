"""Real processes on a real disk: killed, locked out, and out of space."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

import pytest
from tests.runner import recording_child

from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import read_journal

CHILD = [sys.executable, str(Path(recording_child.__file__))]

# Being killed, or short of space, these would leave half a file of coverage data behind.
UNMEASURED = {name: v for name, v in os.environ.items() if not name.startswith("COVERAGE_")}


@contextmanager
def recording(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that records, killed at the end if it still does."""
    with subprocess.Popen(
        [*CHILD, str(folder)], stdout=subprocess.PIPE, text=True, env=UNMEASURED
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def line_from(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def acknowledged_by(child: subprocess.Popen[str]) -> int:
    """The last number that it printed whole before it died."""
    assert child.stdout is not None
    *numbers, _ = child.stdout.read().split("\n")
    return int(numbers[-1]) if numbers else 0


def journalled(folder: Path) -> list[object]:
    return list(read_journal(RealDisk(), folder / "journal", recording_child.RUN).events(after=0))


def test_kill_9_at_any_moment_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    chance = random.Random(1)  # noqa: S311 - no secret
    acknowledged = 0
    lives = []
    for number in range(20):
        with recording(tmp_path) as child:
            found = int(line_from(child).removeprefix("found "))
            assert acknowledged <= found <= acknowledged + 1
            # Every other one gets as far as its first event, however busy the machine is.
            first = int(line_from(child)) if number % 2 else found
            sleep(chance.uniform(0, 0.05))
            child.kill()
            acknowledged = max(first, acknowledged_by(child))
            lives.append(acknowledged - found)
    events = journalled(tmp_path)
    assert len(events) in (acknowledged, acknowledged + 1)
    assert events == [recording_child.event(number) for number in range(1, len(events) + 1)]
    assert sum(1 for life in lives if life) >= 10  # else it was killed too early to mean anything
    left_over = {path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")}
    assert len(left_over) <= 1  # each life sweeps up after the one before


def test_only_one_process_records_and_death_lets_the_next_one_in(tmp_path: Path) -> None:
    with recording(tmp_path) as first:
        assert line_from(first) == "found 0"
        with recording(tmp_path) as second:
            # Some file systems do not say who; then it is None.
            assert line_from(second) in (f"locked by {first.pid}", "locked by None")
            assert second.wait() == 0
        first.kill()
        acknowledged = acknowledged_by(first)
    with recording(tmp_path) as third:
        assert int(line_from(third).removeprefix("found ")) >= acknowledged


SMALL_DISK = """
mount -t tmpfs -o size=64k none small || exit 77
"$@" small
cp -r small/. copy
"""


def test_a_full_file_system_is_reported_and_holds_what_was_acknowledged(
    tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    unshare = str(require_tool("unshare"))
    (tmp_path / "small").mkdir()
    (copy := tmp_path / "copy").mkdir()
    namespace = [unshare, "--map-root-user", "--mount"]
    if subprocess.run([*namespace, "true"], check=False, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this machine does not allow to mount a tmpfs")
    ended = subprocess.run(
        [*namespace, "sh", "-c", SMALL_DISK, "sh", *CHILD],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        env=UNMEASURED,
        text=True,
        check=False,
    )
    if ended.returncode == 77:
        pytest.skip("this machine does not allow to mount a tmpfs")
    *numbers, verdict = ended.stdout.split("\n")[:-1]
    last = int(numbers[-1])
    assert (verdict, last > 50) == ("failed ENOSPC", True)
    assert journalled(copy) == [recording_child.event(n) for n in range(1, last + 1)]
    with recording(copy) as child:  # where there is space again
        assert [line_from(child), line_from(child)] == [f"found {last}", f"{last + 1}"]


def test_a_limit_on_file_size_is_reported_and_what_was_acknowledged_is_there(
    tmp_path: Path,
) -> None:
    ended = subprocess.run(
        [*CHILD, str(tmp_path), "20000"],
        stdout=subprocess.PIPE,
        env=UNMEASURED,
        text=True,
        check=False,
    )
    *numbers, verdict = ended.stdout.split("\n")[:-1]
    last = int(numbers[-1])
    assert (verdict, last > 50) == ("failed EFBIG", True)
    assert journalled(tmp_path) == [recording_child.event(n) for n in range(1, last + 1)]
