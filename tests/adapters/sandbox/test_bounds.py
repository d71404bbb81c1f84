"""How much of the machine a program may take, as root and as an ordinary user."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.sandbox.survivors import survivors_after

from dwindle.adapters.sandbox import ProcessGroup, cgroups, limits, policy
from dwindle.adapters.sandbox.cgroups import ControlGroup, GroupParent
from dwindle.adapters.sandbox.policy import Sandbox, SandboxPolicy, too_full
from dwindle.ports.process import UNBOUNDED, Bounds, Command, Containment, Ended, Limit, Strength

CHILD = Path(__file__).with_name("bounded_child.py")
KINDS = [("bubblewrap", "self"), ("bubblewrap", "nobody"), ("unshare", "nobody")]
MANY = "i=0; while [ $i -lt 100 ]; do sleep 2 & i=$((i+1)); done; echo all"
LARGE = "head -c 5000000 /dev/zero > big; stat -c %s big"
GREEDY = "/usr/bin/python3 -c 'x = bytearray(512 << 20); print(\"had it\")' || echo refused"


def bounded(bounds: Bounds) -> Sandbox:
    return Sandbox(ProcessGroup(), SandboxPolicy(bounds=bounds))


@pytest.fixture
def folder() -> Iterator[Path]:
    """Open to everybody, and not under /tmp, which is private anyway."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o777)
        yield Path(name)


@pytest.fixture(params=KINDS, ids="-".join)
def within(
    request: pytest.FixtureRequest, named: Callable[[str], Containment], folder: Path
) -> Callable[[str], dict[str, Any]]:
    """Runs a script in a runner of its own."""
    kind, who = request.param
    named(kind)
    who = who if os.geteuid() == 0 else "self"

    def run(script: str) -> dict[str, Any]:
        done = subprocess.run(
            (sys.executable, str(CHILD), kind, who, str(folder), script),
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONPATH": "src:."},
            capture_output=True,
            check=True,
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return run


def test_processes_are_bounded(within: Callable[[str], dict[str, Any]]) -> None:
    found = within(MANY)
    assert "all" not in found["said"]
    assert "fork" in found["trouble"]


def test_the_size_of_a_file_is_bounded(within: Callable[[str], dict[str, Any]]) -> None:
    assert within(LARGE)["said"] == [str(1 << 20)]


def test_memory_is_bounded(within: Callable[[str], dict[str, Any]]) -> None:
    """By a group, whose members are killed; or each process by itself, which is refused."""
    found = within(GREEDY)
    assert found["said"] == ["refused"]
    assert "MemoryError" in found["trouble"] or "Killed" in found["trouble"]


def test_programs_that_reserve_much_more_than_they_use_still_start(
    within: Callable[[str], dict[str, Any]], require_tool: Callable[[str], Path]
) -> None:
    node = require_tool("node")
    assert within(f"{node} -e 'console.log(1+1)'")["said"] == ["2"]


def test_without_bounds_all_of_it_goes_through(folder: Path) -> None:
    """Shows that the tests above can fail."""
    for script, said in ((MANY, "all"), (LARGE, "5000000"), (GREEDY, "had it")):
        command = Command(argv=("/bin/sh", "-c", script), cwd=folder, timeout_seconds=20)
        ended = asyncio.run(bounded(UNBOUNDED).run(command))
        assert ended.stdout.text() == f"{said}\n"


def test_a_limit_that_is_lower_already_is_not_raised(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "group_parents", lambda: ())
    script = "head -n 1; ulimit -S -f; ulimit -H -f"  # it waits until the bounds are set
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        ended = asyncio.run(
            ProcessGroup().run(
                Command(
                    argv=("/bin/sh", "-c", script),
                    cwd=folder,
                    bounds=Bounds(file_bytes=1 << 30),
                    stdin=b"go\n",
                )
            )
        )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert ended.stdout.text().split() == ["go", "2048", str((1 << 30) // 512)]


def test_a_program_killed_for_want_of_memory_says_so(folder: Path) -> None:
    """Where we may make a group; elsewhere it is refused the memory, and nobody has to end it."""
    command = Command(argv=("/usr/bin/python3", "-c", "x = bytearray(512 << 20)"), cwd=folder)
    ended = asyncio.run(bounded(Bounds(memory_bytes=128 << 20)).run(command))
    if not any("memory" in parent.controllers for parent in cgroups.group_parents()):
        assert (ended.exit_code, ended.limit, ended.error) == (1, None, "")
        assert "MemoryError" in ended.stderr.text()
        return
    assert (ended.signal, ended.limit, ended.error) == (
        9,
        Limit.MEMORY,
        "it used more memory than it may (128 MiB) and was ended",
    )


# --- groups --------------------------------------------------------------------------------------


def test_a_group_gets_its_bounds_then_its_first_process_and_is_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the unified hierarchy would have it; a plain folder takes any file."""
    parent = GroupParent(tmp_path, unified=True, controllers=("memory", "pids"))
    monkeypatch.setattr(cgroups, "group_parents", lambda: (parent,))
    monkeypatch.setattr(cgroups, "_idle", {})
    both = Bounds(processes=7, memory_bytes=99)

    made = cgroups.control_group(4711, both)
    assert made is not None
    ((_, group),) = made.groups
    assert {path.name: path.read_text() for path in group.iterdir()} == {
        "pids.max": "7",
        "memory.max": "99",
        "cgroup.procs": "4711",
    }
    assert not made.has_killed()
    (group / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    assert made.has_killed()

    (group / "cgroup.procs").write_text("")
    cgroups.release(made)
    assert cgroups.control_group(4712, Bounds(processes=8)) is not made
    assert cgroups.control_group(4712, both) is made
    assert cgroups.control_group(4712, UNBOUNDED) is None


@pytest.mark.parametrize("unified", [True, False])
def test_a_group_in_which_somebody_is_left_is_cleared_and_not_used_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unified: bool
) -> None:
    parent = GroupParent(tmp_path, unified=unified, controllers=("pids",))
    monkeypatch.setattr(cgroups, "group_parents", lambda: (parent,))
    monkeypatch.setattr(cgroups, "_idle", {})
    monkeypatch.setattr(cgroups, "_not_removed", [])
    few = Bounds(processes=7)

    made = cgroups.control_group(4711, few)
    assert made is not None
    cgroups.release(made)

    ((_, group),) = made.groups
    assert (group / "cgroup.kill").exists() is unified
    assert cgroups.control_group(4712, few) is not made


def test_a_group_that_another_runner_removed_while_it_was_empty_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two runs at once: each removes what looks left over when it begins."""
    parent = GroupParent(tmp_path, unified=True, controllers=("pids",))
    monkeypatch.setattr(cgroups, "group_parents", lambda: (parent,))
    monkeypatch.setattr(cgroups, "_idle", {})
    few = Bounds(processes=7)
    made = cgroups.control_group(4711, few)
    assert made is not None
    ((_, group),) = made.groups
    (group / "cgroup.procs").write_text("")
    cgroups.release(made)
    shutil.rmtree(group)

    again = cgroups.control_group(4712, few)

    assert again is not None
    assert again is not made
    ((_, group),) = again.groups
    assert (group / "cgroup.procs").read_text() == "4712"


def test_whoever_got_away_is_ended_with_his_group_where_a_group_can_do_that(
    folder: Path, token: str
) -> None:
    """For real: without a sandbox, a session of its own gets away from anything else."""
    script = f"setsid sh -c 'sleep 20; : ' {token} & sleep 0.3"
    command = Command(argv=("/bin/sh", "-c", script), cwd=folder)
    asyncio.run(bounded(Bounds(processes=100)).run(command))
    ended = [
        parent.unified for parent in cgroups.group_parents() if "pids" in parent.controllers
    ] == [True]
    assert (survivors_after(token, 1.0) == []) is ended


# --- what is said of them ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("grouped", "strength", "who", "held"),
    [
        (True, Strength.WEAK, 0, 9),
        (False, Strength.STRONG, 1000, 9),
        (False, Strength.STRONG, 0, None),
        (False, Strength.WEAK, 1000, None),
    ],
)
def test_a_bound_on_processes_is_not_claimed_where_nothing_holds_it(
    monkeypatch: pytest.MonkeyPatch, grouped: bool, strength: Strength, who: int, held: int | None
) -> None:
    parent = GroupParent(Path("/"), unified=True, controllers=("pids",))
    monkeypatch.setattr(limits, "group_parents", lambda: (parent,) if grouped else ())
    monkeypatch.setattr(os, "geteuid", lambda: who)
    wanted = Bounds(processes=9, memory_bytes=99)
    assert limits.in_force(wanted, strength) == Bounds(processes=held, memory_bytes=99)


def test_groups_are_looked_for_upwards_in_both_kinds_of_hierarchy(tmp_path: Path) -> None:
    unified, pids = tmp_path / "unified", tmp_path / "pids"
    (unified / "user/app").mkdir(parents=True)
    (pids / "here").mkdir(parents=True)
    (unified / "cgroup.subtree_control").write_text("cpu\n")
    (unified / "user/cgroup.subtree_control").write_text("cpu memory pids\n")
    (unified / "user/app/cgroup.subtree_control").write_text("\n")
    (tmp_path / "cgroup").write_text("1:pids:/here\n2:name=systemd:/\n0::/user/app\n")
    (tmp_path / "mountinfo").write_text(
        f"30 1 0:3 / {pids} rw - cgroup cgroup rw,pids\n"
        f"31 1 0:4 / {unified} rw - cgroup2 cgroup2 rw\n"
        "32 1 0:5 / /elsewhere rw - tmpfs tmpfs rw\n"
    )
    assert list(cgroups._candidates(tmp_path)) == [
        GroupParent(unified / "user", unified=True, controllers=("memory", "pids")),
        GroupParent(pids / "here", unified=False, controllers=("pids",)),
        GroupParent(pids, unified=False, controllers=("pids",)),
    ]
    assert list(cgroups._candidates(tmp_path / "nothing here")) == []


def test_a_group_that_is_gone_takes_no_process(tmp_path: Path) -> None:
    parent = GroupParent(tmp_path, unified=False, controllers=("pids",))
    gone = ControlGroup(bounds=UNBOUNDED, groups=((parent, tmp_path / "gone"),))
    assert not gone.add(1)
    assert gone.remove()


# --- disks ---------------------------------------------------------------------------------------


def disk(folder: Path, room: Bounds, script: str = "sleep 20") -> Ended:
    command = Command(argv=("/bin/sh", "-c", script), cwd=folder, writable=(folder,))
    return asyncio.run(bounded(room).run(command))


def test_nobody_is_started_on_a_disk_that_is_full(folder: Path) -> None:
    ended = disk(folder, Bounds(free_bytes=1 << 60), "touch began")
    assert (ended.exit_code, ended.limit, list(folder.iterdir())) == (None, Limit.DISK, [])
    assert ended.error.startswith(f"it was not started: the disk of {folder} has only ")
    assert ended.error.endswith(f" GiB left, and must keep {1 << 30:,} GiB")


def test_whoever_fills_the_disk_is_ended(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter(["", "", "the disk is full"])
    monkeypatch.setattr(policy, "too_full", lambda _disks, _bounds: next(looks))
    monkeypatch.setattr(policy, "DISK_CHECK_SECONDS", 0.05)
    ended = disk(folder, Bounds(free_percent=1))
    assert (ended.signal, ended.limit, ended.error) == (
        9,
        Limit.DISK,
        "it was ended: the disk is full",
    )
    assert ended.seconds < 5


def test_on_a_disk_with_room_nothing_is_noticed(folder: Path) -> None:
    ended = disk(folder, Bounds(free_bytes=1, free_percent=0.001), "echo done; exit 3")
    assert (ended.exit_code, ended.limit, ended.stdout.text()) == (3, None, "done\n")


def test_both_a_number_and_a_part_are_asked_for(folder: Path) -> None:
    assert too_full((folder,), Bounds(free_percent=100.0)) != ""
    assert too_full((folder,), Bounds(free_bytes=1 << 60)) != ""
    assert too_full((folder / "gone",), Bounds(free_percent=100.0)) == ""
    assert too_full((folder,), UNBOUNDED) == ""
