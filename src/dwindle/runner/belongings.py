"""What the runner keeps in the checkout besides the tree: its journal and its logs.

In a sandbox no agent can write there. Without one it can remove all of it, and the run is to go on
all the same: a second name of the journal lies with git's own files, so that a journal that was
removed, or moved, comes back as the very file that is open; folders are made anew, and what was in
them is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dwindle.runner.owned_file import make_way


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    top: Path
    """The checkout."""
    journal: Path
    logs: Path
    keepsake: Path
    """The journal's second name, on the same file system if it is to be of use."""

    def begin(self) -> None:
        self.logs.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            self.keepsake.unlink(missing_ok=True)
            self.keepsake.hardlink_to(self.journal)

    def put_back(self, log: Path) -> str:
        """Everything where it should be, a log's folder too; says what was not, if anything."""
        missing = [*self._make(self.journal.parent), *self._make(log)]
        if not _is_same(self.journal, self.keepsake) and self.keepsake.exists():
            make_way(self.journal)
            with suppress(OSError):
                self.journal.unlink(missing_ok=True)
                self.journal.hardlink_to(self.keepsake)
            missing.append(self.journal)
        listed = ", ".join(path.relative_to(self.top).as_posix() for path in missing)
        return f"what belongs to the runner was removed: {listed}" if listed else ""

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
