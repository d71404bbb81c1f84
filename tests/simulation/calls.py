"""What a runner asks of its machine, counted, so that something can happen at any of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.doubles.disk import FakeDisk, Image
from tests.doubles.memory_git import BEGINNINGS

from dwindle.ports.workspace import WorkspaceFailed

HOME = Path("/repo")
PLAN_PATH = HOME / "plan.md"


class CountedDisk(FakeDisk):
    """Says every call beforehand; the plan file is shown in a folder too, for who watches it."""

    def __init__(self, image: Image, call: Callable[[str], None]) -> None:
        self._before = call
        self._shown: Path | None = None
        self.edits: dict[bytes, bytes] = {}
        """What people made of the plan file, and of what."""
        super().__init__(image)

    def show(self, path: Path) -> None:
        self._shown = path
        path.write_bytes(self.image()[PLAN_PATH] or b"")

    @property
    def left(self) -> bytes:
        """The plan file as the runner left it: an edit after that was not noticed."""
        content = self.image()[PLAN_PATH] or b""
        return self.edits.get(content, content)

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        if self._shown is not None and target == PLAN_PATH:
            new = self._shown.with_suffix(".new")
            new.write_bytes(self.image()[PLAN_PATH] or b"")
            new.replace(self._shown)

    def _call(self) -> None:
        self._before("disk")
        super()._call()


class Calls:
    """Everything the runner asks of its machine, numbered from 1."""

    def __init__(self) -> None:
        self.count = 0
        self.at: dict[int, Callable[[], None]] = {}
        """What happens at a call, before it does anything."""
        self.each: Callable[[], None] | None = None
        self.git_fails = self.git_failed = False
        self.prepare: Callable[[FakeDisk], None] | None = None
        """What is wrong with the disk from the start."""

    def __call__(self, what: str) -> None:
        del what
        self.count += 1
        if self.each is not None:
            self.each()
        if self.count in self.at:
            self.at.pop(self.count)()

    def of_git(self, what: str) -> None:
        """As any other; once it is to fail, it does before it has done anything."""
        self(what)
        if self.git_fails and what in BEGINNINGS:
            self.git_fails, self.git_failed = False, True
            raise WorkspaceFailed("git: fatal: it does not want to")
