"""Durable files on the real disk and on the double, and the lock."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.doubles.disk import FakeDisk

from dwindle.adapters.store.disk import (
    AppendFile,
    DirectoryLock,
    DurableFile,
    Locked,
    RealDisk,
    lock_holder,
    make_directory,
)
from dwindle.ports.store import Disk, StoreFailed


@pytest.fixture(params=["real", "fake"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Disk, Path]:
    """A disk and an empty folder on it."""
    if request.param == "real":
        return RealDisk(), tmp_path
    return FakeDisk({Path("/folder"): None}), Path("/folder")


def refused(action: Callable[[], object]) -> tuple[Path, str, int]:
    with pytest.raises(StoreFailed) as failure:
        action()
    return failure.value.path, failure.value.operation, failure.value.errno


# --- both disks ----------------------------------------------------------------------------------


def test_a_file_is_made_and_replaced_and_nothing_else_is_left(place: tuple[Disk, Path]) -> None:
    disk, folder = place
    file = DurableFile(disk, folder / "plan")
    assert (file.exists(), refused(file.read)) == (
        False,
        (folder / "plan", "read", errno.ENOENT),
    )
    for content in (b"one", b"", b"three\n" * 100_000):
        file.replace(content)
        assert (file.exists(), file.read(), disk.names(folder)) == (True, content, ["plan"])


def test_replacing_keeps_the_mode(place: tuple[Disk, Path]) -> None:
    disk, folder = place
    file = DurableFile(disk, folder / "plan")
    file.replace(b"one")
    fd = disk.open(file.path, os.O_WRONLY)
    disk.chmod(fd, 0o640)
    disk.close(fd)
    file.replace(b"two")
    assert stat.S_IMODE(disk.stat(file.path).st_mode) == 0o640


def test_replacing_in_a_folder_that_is_not_there_is_reported(place: tuple[Disk, Path]) -> None:
    disk, folder = place
    file = DurableFile(disk, folder / "no" / "plan")
    assert refused(lambda: file.replace(b"")) == (file.path, "replace", errno.ENOENT)


def test_what_a_killed_replacement_left_is_swept_up(place: tuple[Disk, Path]) -> None:
    disk, folder = place
    for name in (".plan.0a1b2c3d.tmp", ".plan.tmp", ".other.0a1b2c3d.tmp", "plan"):
        DurableFile(disk, folder / name).replace(b"")
    DurableFile(disk, folder / "plan").sweep()
    assert sorted(disk.names(folder)) == [".other.0a1b2c3d.tmp", ".plan.tmp", "plan"]


def test_appending_adds_and_cutting_takes_away(place: tuple[Disk, Path]) -> None:
    disk, folder = place
    path = folder / "log"
    DurableFile(disk, path).replace(b"one ")
    file = AppendFile(disk, path)
    file.append(b"two ")
    file.append(b"three ")
    file.cut(8)
    file.append(b"four")
    file.close()
    assert disk.read(path) == b"one two four"


def test_there_must_be_something_to_append_to(place: tuple[Disk, Path]) -> None:
    disk, folder = place
    path = folder / "log"
    assert refused(lambda: AppendFile(disk, path)) == (path, "open", errno.ENOENT)


def test_missing_directories_are_made(place: tuple[Disk, Path]) -> None:
    disk, folder = place
    make_directory(disk, folder / "a" / "b" / "c")
    make_directory(disk, folder / "a" / "b" / "c")
    DurableFile(disk, folder / "a" / "b" / "c" / "file").replace(b"here")
    path = folder / "a" / "b" / "c" / "file" / "d"
    assert refused(lambda: make_directory(disk, path))[:2] == (path, "create the directory")


def test_the_double_fails_as_the_real_one_does(place: tuple[Disk, Path]) -> None:
    disk, folder = place
    DurableFile(disk, folder / "file").replace(b"")
    wrong: list[tuple[Callable[[], object], int]] = [
        (lambda: disk.open(folder / "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL), errno.EEXIST),
        (lambda: disk.open(folder / "none", os.O_RDONLY), errno.ENOENT),
        (lambda: disk.read(folder), errno.EISDIR),
        (lambda: disk.names(folder / "file"), errno.ENOTDIR),
        (lambda: disk.mkdir(folder / "file"), errno.EEXIST),
        (lambda: disk.remove(folder / "none"), errno.ENOENT),
        (lambda: disk.rename(folder / "none", folder / "file"), errno.ENOENT),
        (lambda: disk.stat(folder / "none"), errno.ENOENT),
    ]
    found = []
    for action, _ in wrong:
        with pytest.raises(OSError, match="Errno") as failure:
            action()
        found.append(failure.value.errno)
    assert found == [code for _, code in wrong]
    assert stat.S_ISDIR(disk.stat(folder).st_mode)


def test_the_double_renames_within_a_directory_only() -> None:
    disk = FakeDisk({Path("/a"): None, Path("/b"): None, Path("/a/file"): b""})
    with pytest.raises(OSError, match="cross-device"):
        disk.rename(Path("/a/file"), Path("/b/file"))


# --- other users ---------------------------------------------------------------------------------


def test_no_other_user_can_read_what_the_runner_keeps(tmp_path: Path) -> None:
    earlier = tmp_path / ".runner/iterations/0001"
    (tmp_path / ".runner/worktrees/tree-1").mkdir(parents=True)
    (tmp_path / ".runner/worktrees").chmod(0o755)
    (tmp_path / ".runner/worktrees/tree-1").chmod(0o755)
    earlier.mkdir(parents=True)
    (earlier / "prompt.md").write_text("secret")
    (earlier / "run.sh").write_text("#!/bin/sh\n")
    (earlier / "run.sh").chmod(0o4755)
    (earlier / "link").symlink_to(tmp_path)
    os.mkfifo(earlier / "pipe", 0o600)
    tmp_path.chmod(0o755)
    before = os.umask(0)
    try:
        make_directory(RealDisk(), tmp_path / ".runner/journal")
        DurableFile(RealDisk(), tmp_path / ".runner/journal/a.jsonl").replace(b"{}")
        make_directory(RealDisk(), tmp_path / "plain")
        DurableFile(RealDisk(), tmp_path / "plain/file").replace(b"")
    finally:
        os.umask(before)
    found = {
        path.relative_to(tmp_path).as_posix(): stat.S_IMODE(path.stat().st_mode)
        for path in (tmp_path, *sorted(tmp_path.rglob("*")))
        if not path.is_symlink()
    }
    assert found == {
        ".": 0o755,
        ".runner": 0o700,
        ".runner/iterations": 0o700,
        ".runner/iterations/0001": 0o700,
        ".runner/iterations/0001/pipe": 0o600,
        ".runner/iterations/0001/prompt.md": 0o600,
        ".runner/iterations/0001/run.sh": 0o700,
        ".runner/journal": 0o700,
        ".runner/journal/a.jsonl": 0o600,
        ".runner/worktrees": 0o755,
        ".runner/worktrees/tree-1": 0o755,
        "plain": 0o777,
        "plain/file": 0o666,
    }


# --- failures ------------------------------------------------------------------------------------


def test_a_failed_replacement_leaves_the_old_content_and_no_litter() -> None:
    path = Path("/folder/plan")
    before = {Path("/folder"): None, path: b"old"}
    whole = FakeDisk(before)
    DurableFile(whole, path).replace(b"new")
    assert whole.calls == 10  # stat, open, chmod, write, fsync, close, rename; open, fsync, close
    left = []
    for number in range(1, whole.calls + 1):
        disk = FakeDisk(before)
        disk.fail_call(number, errno.EIO)
        file = DurableFile(disk, path)
        assert refused(lambda file=file: file.replace(b"new")) == (path, "replace", errno.EIO)  # type: ignore[misc]
        assert list(disk.image()) == list(before)
        left.append(disk.read(path))
    assert left == [b"old"] * 7 + [b"new"] * 3


def test_a_failure_is_a_sentence() -> None:
    failure = StoreFailed(Path("/folder/plan"), "replace", errno.EIO)
    assert str(failure) == "/folder/plan: could not replace: Input/output error"


def test_litter_that_cannot_be_removed_does_not_hide_the_first_failure() -> None:
    path = Path("/folder/plan")
    disk = FakeDisk({Path("/folder"): None, path: b"old"})
    disk.fail_call(4, errno.ENOSPC)  # the write
    disk.fail_call(6, errno.EIO)  # the removal, after a close
    assert refused(lambda: DurableFile(disk, path).replace(b"new"))[2] == errno.ENOSPC
    assert disk.read(path) == b"old"


def test_half_an_append_is_cut_off_again() -> None:
    path = Path("/log")
    disk = FakeDisk({path: b"whole "})
    file = AppendFile(disk, path)
    disk.limit_space(3)
    assert refused(lambda: file.append(b"broken")) == (path, "append to", errno.ENOSPC)
    assert disk.read(path) == b"whole "
    disk.limit_space(None)
    file.append(b"again")
    assert disk.read(path) == b"whole again"


def test_what_could_not_be_cut_off_at_once_is_cut_off_before_the_next_append() -> None:
    path = Path("/log")
    disk = FakeDisk({path: b"whole "})
    file = AppendFile(disk, path)
    disk.fail_call(disk.calls + 3, errno.EIO)  # stat, write, fdatasync
    disk.fail_call(disk.calls + 4, errno.EIO)  # truncate
    disk.fail_call(disk.calls + 5, errno.EIO)  # truncate, when asked again
    assert refused(lambda: file.append(b"lost")) == (path, "append to", errno.EIO)
    assert disk.image() == {path: b"whole lost"}
    assert refused(lambda: file.append(b"lost")) == (path, "shorten", errno.EIO)
    file.append(b"found")
    assert disk.read(path) == b"whole found"


def test_a_disk_that_takes_nothing_and_says_nothing_is_not_waited_for() -> None:
    class Silent(FakeDisk):
        def write(self, fd: int, data: bytes) -> int:
            del fd, data
            return 0

    file = AppendFile(Silent({Path("/log"): b""}), Path("/log"))
    assert refused(lambda: file.append(b"x")) == (Path("/log"), "append to", errno.EIO)


def test_a_parent_that_we_may_not_read_was_not_made_by_us() -> None:
    disk = FakeDisk({Path("/home"): None, Path("/home/me"): None})
    disk.fail_call(3, errno.EACCES)  # stat, stat, open: of what is above /home/me
    make_directory(disk, Path("/home/me/new"))
    assert disk.names(Path("/home/me")) == ["new"]


# --- only the real disk --------------------------------------------------------------------------


def test_a_symbolic_link_stays_one_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "plan"
    link = tmp_path / "link"
    link.symlink_to(target)
    file = DurableFile(RealDisk(), link)
    for content in (b"made through the link", b"replaced through it"):
        file.replace(content)
        assert (link.is_symlink(), target.read_bytes()) == (True, content)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "real"]


def test_a_circle_of_links_is_reported(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    file = DurableFile(RealDisk(), link)
    assert refused(lambda: file.replace(b"")) == (link, "replace", errno.ELOOP)
    assert link.is_symlink()


# --- the lock ------------------------------------------------------------------------------------


def test_a_lock_has_one_holder_until_it_is_released(tmp_path: Path) -> None:
    with DirectoryLock(tmp_path) as first:
        with pytest.raises(Locked) as refusal:
            DirectoryLock(tmp_path)
        assert refusal.value.directory == first.directory == tmp_path
        assert refusal.value.holder in (os.getpid(), None)
    DirectoryLock(tmp_path).release()


def test_a_lock_does_not_pass_to_programs_that_are_started(tmp_path: Path) -> None:
    lock = DirectoryLock(tmp_path)
    assert not os.get_inheritable(lock._fd)
    lock.release()


def test_there_is_no_lock_on_what_is_not_there_or_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for name, code in (("none", errno.ENOENT), ("file", errno.ENOTDIR)):
        path = tmp_path / name
        assert refused(lambda path=path: DirectoryLock(path)) == (path, "lock", code)  # type: ignore[misc]


def test_a_directory_that_is_moved_away_while_it_is_locked_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    flock = fcntl.flock

    def move_it_first(fd: int, operation: int) -> None:
        folder.rename(tmp_path / "moved")
        folder.mkdir()
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", move_it_first)
    assert refused(lambda: DirectoryLock(folder)) == (folder, "lock", errno.ESTALE)
    monkeypatch.undo()
    DirectoryLock(tmp_path / "moved").release()  # nothing is held any more


def test_the_holder_is_looked_up_in_the_table_of_locks(tmp_path: Path) -> None:
    facts = tmp_path.stat()
    device = f"{os.major(facts.st_dev):02x}:{os.minor(facts.st_dev):02x}"
    table = tmp_path / "locks"
    assert lock_holder(facts, table) is None
    mine = f"FLOCK  ADVISORY  WRITE 4711 {device}:{facts.st_ino} 0 EOF\n"
    others = (
        f"1: POSIX  ADVISORY  WRITE 99 {device}:{facts.st_ino} 0 EOF\n"
        f"2: FLOCK  ADVISORY  WRITE 98 {device}:{facts.st_ino}7 0 EOF\n"
        f"3: -> FLOCK  ADVISORY  WRITE 97 {device}:{facts.st_ino} 0 EOF\n"
    )
    found = []
    for text in (others, others + "4: " + mine, "1: " + mine.replace("4711", "0")):
        table.write_text(text)
        found.append(lock_holder(facts, table))
    assert found == [None, 4711, None]


def test_a_refusal_names_the_holder_if_it_can() -> None:
    assert [str(Locked(Path("/x"), holder)) for holder in (7, None)] == [
        "/x is in use by process 7",
        "/x is in use by another process",
    ]
