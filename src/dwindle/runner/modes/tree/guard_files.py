"""The files that decide how the guard of a tree judges: a snapshot restores them, a note tells.

Agents work on a tree in place, and the runner commits every iteration, red or green. So there is no
commit of alignment to go back to. Instead no iteration ever commits a change of a file that steers:
the runner keeps a copy of what an agent (or the code that its tests run) did to such a file, and
restores it before the guard runs, and again before the commit. So each steering file on the branch
was there when the run began, or a person has committed it since.

Git shows most changes. But an agent can write a `.gitignore` too, and git does not list ignored
files. So the snapshot looks through all files of the checkout, except the insides of environments
(a folder with pyvenv.cfg, node_modules): these change with every installation, and are not
protected.

An agent may change other files that the command or its recipes name, often with good reason: a new
test has to be run. The user is told when one of them changed in the iteration that it judged, and
when no commit has it.

Compiled Python that git does not ignore is taken out as well: no one wrote it, and a judge must not
read it. It is no reason to fail an attempt.

With work paths (`[guard] work_paths`) there is no list: git says what changed, and whatever lies
outside is put back. What git ignores is not looked at then, since a clean checkout has none of it.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dwindle.ports.in_place import InPlace
from dwindle.runner.gate.evidence import links_out
from dwindle.runner.gate.steering import ToolSteering
from dwindle.runner.gate.work_paths import OutsideWorkPaths, is_of_the_runner
from dwindle.runner.modes.tree import owned_file
from dwindle.text.escape import escape
from dwindle.toolchains.recipes import MOST_BYTES as MOST_RECIPE_BYTES
from dwindle.toolchains.steering_files import named_files
from dwindle.toolchains.test_files import is_bytecode

MOST_BYTES: Final = 16 << 20
MOST_NAMED: Final = 100
SHOWN: Final = 5
RESTORED: Final = "files that steer the guard were restored"
ALLOW: Final = "[guard] deliverables in .runner/config.toml lets agents change it"
OUTSIDE: Final = "files outside of the work paths were restored"
ALLOW_OUTSIDE: Final = "[guard] work_paths in .runner/config.toml lets agents change it"
IN_PART: Final = "what steers tools"
_NOT_OURS: Final = (".git", "node_modules")
_ENVIRONMENT: Final = ("pyvenv.cfg", "conda-meta")
_INSTALLED: Final = ("bin", "conda-meta", "include", "lib", "Lib", "lib64", "Scripts", "share")

_NOTE: Final = re.compile(
    rf"^(?:{RESTORED}|{OUTSIDE}): (?P<names>.+)"
    rf" \((?:{re.escape(ALLOW)}|{re.escape(ALLOW_OUTSIDE)})\)",
    re.MULTILINE,
)
_MORE: Final = re.compile(r" and \d+ more\Z")

GuardSteering = ToolSteering | OutsideWorkPaths
Keep = Callable[[str, bytes], None]
"""Keeps the content of a path, where git does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoration:
    """The files that had been changed, and were restored."""

    paths: tuple[str, ...] = ()
    reverted: tuple[str, ...] = ()
    """Those that are exactly as in the base again, or do not exist."""
    ref: str | None = None
    """Where git keeps what it saw of the change."""
    by_work_paths: bool = False

    @property
    def note(self) -> str:
        if not self.paths:
            return ""
        what, allow = (OUTSIDE, ALLOW_OUTSIDE) if self.by_work_paths else (RESTORED, ALLOW)
        kept = f"; kept at {self.ref}" if self.ref else ""
        return f"{what}: {self.named} ({allow}){kept}"

    @property
    def is_work(self) -> bool:
        """Whether it can be missed: Python makes its bytecode again, and no agent wrote it."""
        return not all(map(is_bytecode, self.paths))

    @property
    def named(self) -> str:
        """The paths as the note names them."""
        in_part = f" ({IN_PART})" if self.by_work_paths else ""
        return short_list([p if p in self.reverted else f"{p}{in_part}" for p in self.paths])

    def is_named_in(self, reason: str) -> bool:
        """Whether the reason of an earlier failure names all of these files."""
        mine, more = _names(escape(self.named))
        told = (_names(found["names"]) for found in _NOTE.finditer(reason))
        return any(mine <= names and more <= others for names, others in told)

    def others(self, paths: Sequence[str]) -> tuple[str, ...]:
        """Those that are still changed."""
        return tuple(path for path in paths if path not in self.reverted)


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringSnapshot:
    """The files that steer, before an agent began."""

    top: Path
    steering: GuardSteering
    content: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def fixed(self) -> tuple[str, ...]:
        """What code that the guard runs cannot change; with work paths, the tests as well."""
        steering = self.steering
        tests = steering.paths.fixed if isinstance(steering, OutsideWorkPaths) else ()
        steers = (path for path in self.content if not steering.is_mixed(path))
        return tuple(dict.fromkeys((*tests, *steers)))

    async def restore(
        self, place: InPlace, base: str, paths: Sequence[str], name: str, keep: Keep
    ) -> Restoration:
        """`paths` is what git sees; git keeps it under a name before anything is restored."""
        reverted, merged = self._split_changes(paths)
        ref = None
        if reverted or merged:
            ref = await place.restore(base, reverted, name)
            for path, text in merged.items():
                self._write(path, text)
        unseen = await asyncio.to_thread(self.restore_unseen, keep)
        found = dict.fromkeys((*reverted, *merged, *unseen))
        return Restoration(
            paths=tuple(found),
            reverted=(*reverted, *unseen),
            ref=ref,
            by_work_paths=self.steering.by_work_paths,
        )

    def restore_unseen(self, keep: Keep) -> tuple[str, ...]:
        """Restore every file, also those that git ignores; returns those that had changed.

        With work paths, only those that the guard leads to.
        """
        if self.steering.is_empty:
            return ()
        found = []
        for path in dict.fromkeys((*_steering_files(self.top, self.steering), *self.content)):
            now, then = self._now(path), self.content.get(path)
            is_odd = now is None and self._exists(path)
            if now == then and not is_odd:
                continue
            text = then
            if self.steering.is_mixed(path) and not is_odd:
                text = self._merge(path, now)
                if text == (now or b""):
                    continue
            keep(path, now or b"")
            self._write(path, text)
            found.append(path)
        return tuple(found)

    def _split_changes(self, paths: Sequence[str]) -> tuple[list[str], dict[str, bytes]]:
        """The files to revert, and those to merge, with the text that they should have."""
        reverted, merged = [], {}
        work = [path for path in paths if not is_of_the_runner(path)]
        leading_out = links_out(self.top, work)  # no work, with work paths or without
        for path in paths:
            is_compiled = is_bytecode(path) and not self.steering.is_wanted(path)
            if is_compiled or path in leading_out or self.steering.steers(path, self._exists):
                reverted.append(path)
            elif self.steering.is_mixed(path):
                now = self._now(path)
                text = self._merge(path, now)
                is_odd = now is None and self._exists(path)
                if is_odd or text is None or (text == self.content.get(path) and text != now):
                    reverted.append(path)
                elif text != (now or b""):
                    merged[path] = text
        return reverted, merged

    def _merge(self, path: str, now: bytes | None) -> bytes | None:
        return self.steering.merge(path, self.content.get(path), now or b"")

    def _exists(self, path: str) -> bool:
        return os.path.lexists(self.top / path)

    def _now(self, path: str) -> bytes | None:
        """None also for what is no regular file."""
        if _link_above(self.top, path) is not None:
            return None
        return owned_file.content_of(self.top / path, MOST_BYTES)

    def _write(self, path: str, text: bytes | None) -> None:
        link = _link_above(self.top, path)
        if link is not None:  # do not write to where it leads
            link.unlink()
        folder = (self.top / path).parent
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            folder.chmod(0o755)
        owned_file.restore(self.top / path, text, MOST_BYTES)


async def take_snapshot(steering: GuardSteering, top: Path) -> SteeringSnapshot:
    async def content(path: str) -> bytes | None:
        return owned_file.content_of(top / path, MOST_BYTES)

    steering = await steering.follow_recipes(content, await asyncio.to_thread(_all_files, top))
    if steering.is_empty:
        return SteeringSnapshot(top=top, steering=steering)
    found = await asyncio.to_thread(_contents, top, steering)
    return SteeringSnapshot(top=top, steering=steering, content=found)


def _contents(top: Path, steering: GuardSteering) -> dict[str, bytes]:
    found = {
        path: owned_file.content_of(top / path, MOST_BYTES)
        for path in _steering_files(top, steering)
    }
    return {path: text for path, text in found.items() if text is not None}


# --- looking through a checkout ------------------------------------------------------------------


def _steering_files(top: Path, steering: GuardSteering) -> Iterator[str]:
    """All that exist, in part or in whole; but models of machine learning are `*.pth` as well."""

    def exists(path: str) -> bool:
        return os.path.lexists(top / path)

    walk = () if steering.by_work_paths else _walk(top, "")
    found = sorted(path for path in walk if not path.endswith(".pth"))
    named = (path for path in sorted(steering.files) if os.path.lexists(top / path))
    for path in dict.fromkeys((*found, *named)):
        if steering.steers(path, exists, products=False) or steering.is_mixed(path):
            yield path


def _all_files(top: Path) -> frozenset[str]:
    return frozenset(_walk(top, ""))


def _walk(top: Path, folder: str) -> Iterator[str]:
    waiting = [folder]
    while waiting:
        at = waiting.pop()
        try:
            with os.scandir(top / at) as listing:
                entries = list(listing)
        except OSError:
            continue
        names = {entry.name for entry in entries}
        installed = _INSTALLED if names.intersection(_ENVIRONMENT) else ()
        for entry in entries:
            path = f"{at}/{entry.name}" if at else entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield path
            elif entry.name not in _NOT_OURS and entry.name not in installed and path != ".runner":
                waiting.append(path)


def _link_above(top: Path, path: str) -> Path | None:
    """The first folder on the way to a path that is a link."""
    at = top
    for part in path.split("/")[:-1]:
        at /= part
        if at.is_symlink():
            return at
    return None


# --- notes for the user --------------------------------------------------------------------------


def digests(command: Sequence[str], checkout: Path) -> dict[str, str]:
    """The files that a command or its recipe files name, each with a digest of its content."""

    def content(path: str) -> bytes | None:
        try:
            return owned_file.content_of(checkout / path, MOST_RECIPE_BYTES)
        except OSError:  # a name that no file can have
            return None

    found: dict[str, str] = {}
    for path, text in named_files(command, content):
        found[path] = hashlib.sha256(text).hexdigest()
        if len(found) == MOST_NAMED:
            break
    return found


def change_notes(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """A file that only the new recipe names is no change."""
    paths = [path for path in before if before[path] != after.get(path)]
    if paths:
        yield f"files of the guard were changed in this iteration: {short_list(paths)}"


def ignored_notes(ignored: Sequence[str]) -> Iterator[str]:
    if ignored:
        yield f"the guard uses files that git ignores and no commit has: {short_list(ignored)}"


def _names(short_list: str) -> tuple[set[str], bool]:
    """What a list of paths names, and whether there are more."""
    return set(_MORE.sub("", short_list).split(", ")), _MORE.search(short_list) is not None


def short_list(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more
