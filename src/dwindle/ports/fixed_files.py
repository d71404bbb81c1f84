"""Files of a checkout that what runs in it cannot change, because they decide what it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

MOST_MOUNTS: Final = 50
"""Files or folders that are made read-only in a tree one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedFiles:
    """For the `readable` and the `writable` of a `Command`."""

    files: tuple[Path, ...] = ()
    above: tuple[Path, ...] = ()
    """The folders around them: what is mounted by itself cannot be renamed or replaced."""


def fixed_in(tree: Path, paths: Sequence[str]) -> FixedFiles:
    """What can be mounted by itself; many files by their folders, which takes far less time."""
    if len(paths) > MOST_MOUNTS:
        inner = {folder for path in paths if (folder := str(PurePosixPath(path).parent)) != "."}
        top = [path for path in paths if "/" not in path]
        paths = [*sorted(inner), *top][:MOST_MOUNTS]
    found = (tree / path for path in paths)
    files = tuple(path for path in found if path.exists() and not path.is_symlink())
    above = (up for path in files for up in path.parents if tree in up.parents)
    return FixedFiles(files=files, above=tuple(dict.fromkeys(above)))
