"""The runner's own files in the checkout, besides the tree: its journal and its logs.

In a sandbox no agent can write there. Without one it can remove them, and the run goes on: a hard
link to the journal lies in git's folder, so a removed or moved journal is restored as the very file
that is open. Log folders are made again; their content is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dwindle.runner.modes.tree.owned_file import make_way


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerFiles:
    top: Path
    """The checkout."""
    journal: Path
    logs: Path
    second_name: Path
    """A hard link to the journal, if it is on the same file system."""

    def begin(self) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            self.second_name.unlink(missing_ok=True)
            self.second_name.hardlink_to(self.journal)

    def restore(self, log: Path) -> str:
        """Restore the journal and a log's folder; a sentence about what was missing."""
        missing = [*self._make(self.journal.parent), *self._make(log)]
        if not _is_same(self.journal, self.second_name) and self.second_name.exists():
            make_way(self.journal)
            with suppress(OSError):
                self.journal.unlink(missing_ok=True)
                self.journal.hardlink_to(self.second_name)
            missing.append(self.journal)
        listed = ", ".join(path.relative_to(self.top).as_posix() for path in missing)
        return f"files of the runner were removed: {listed}" if listed else ""

    def _make(self, folder: Path) -> Iterator[Path]:
        """Real folders from the top down to this one."""
        below = folder.relative_to(self.top).parts
        for depth in range(1, len(below) + 1):
            at = self.top.joinpath(*below[:depth])
            if at.is_symlink() or not at.is_dir():
                if os.path.lexists(at):
                    at.unlink()
                at.mkdir()
                yield at


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return not one.is_symlink() and one.samefile(other)
    return False
