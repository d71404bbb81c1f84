"""The double loses power as a disk does; the store's own tests rely on it."""

from __future__ import annotations

import os
from pathlib import Path

from tests.doubles.disk import FakeDisk, Image

FOLDER = Path("/folder")
OLD = FOLDER / "old"
NEW = FOLDER / "new"


def images(disk: FakeDisk) -> list[Image]:
    return list(disk.crash_images())


def contents(disk: FakeDisk, path: Path) -> list[bytes | None]:
    return [image.get(path) for image in disk.crash_images()]


def test_what_is_not_synced_may_be_missing_half_there_zeros_or_whole() -> None:
    disk = FakeDisk({FOLDER: None, OLD: b"safe"})
    fd = disk.open(OLD, os.O_WRONLY | os.O_APPEND)
    disk.write(fd, b"1234")
    assert contents(disk, OLD) == [b"safe", b"safe12", b"safe\0\0\0\0", b"safe1234"]
    disk.truncate(fd, 2)
    assert contents(disk, OLD) == [b"safe", b"safe12", b"safe\0\0\0\0", b"safe1234", b"sa"]
    disk.fdatasync(fd)
    assert contents(disk, OLD) == [b"sa"]


def test_syncing_a_file_does_not_sync_its_name() -> None:
    disk = FakeDisk({FOLDER: None})
    fd = disk.open(NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    disk.write(fd, b"1234")
    disk.fsync(fd)
    assert images(disk) == [{FOLDER: None}, {FOLDER: None, NEW: b"1234"}]
    disk.fsync(disk.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY))
    assert images(disk) == [{FOLDER: None, NEW: b"1234"}]


def test_a_rename_may_be_kept_before_the_content_that_it_names() -> None:
    disk = FakeDisk({FOLDER: None, OLD: b"safe"})
    fd = disk.open(NEW, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    disk.write(fd, b"12")
    disk.rename(NEW, OLD)
    assert {image[OLD] for image in disk.crash_images()} == {b"safe", b"", b"1", b"\0\0", b"12"}
    disk.fsync(fd)
    assert {image[OLD] for image in disk.crash_images()} == {b"safe", b"12"}


def test_a_directory_without_a_synced_name_takes_all_it_holds_with_it() -> None:
    disk = FakeDisk({FOLDER: None})
    disk.mkdir(FOLDER / "sub")
    fd = disk.open(FOLDER / "sub" / "file", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    disk.write(fd, b"1")
    disk.fsync(fd)
    disk.fsync(disk.open(FOLDER / "sub", os.O_RDONLY | os.O_DIRECTORY))
    assert {FOLDER: None} in images(disk)
    disk.fsync(disk.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY))
    assert images(disk) == [
        {FOLDER: None, FOLDER / "sub": None, FOLDER / "sub" / "file": b"1"},
    ]
