"""What steers the guard of a tree is held: as it was when a session began, so it is when it judges.

A tree is worked on in place, and every iteration is committed, red or green. So there is no commit
of alignment to go back to. Instead nothing that steers is ever committed by an iteration: what an
agent (or the code that its tests run) did to such a file is kept aside and put back before the
guard runs, and again before the commit. Then whatever steers on the branch was there when the run
began, or was committed by a person since.

Git shows most of it. But an agent can write a `.gitignore` too, and what git ignores is in no
difference. So all files of the checkout are looked through, but for the insides of environments
(a folder with pyvenv.cfg, node_modules): they come and go with every installation, and what is in
them is not held.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dwindle.ports.in_place import InPlace
from dwindle.runner import owned_file
from dwindle.runner.steering import Steering

MOST_BYTES: Final = 16 << 20
SHOWN: Final = 5
PUT_BACK: Final = "what steers the guard was put back"
ALLOW: Final = "[guard] deliverables in .runner/config.toml lets agents change it"
_NOT_OURS: Final = (".git", "node_modules")
_ENVIRONMENT: Final = ("pyvenv.cfg", "conda-meta")
_INSTALLED: Final = ("bin", "conda-meta", "include", "lib", "Lib", "lib64", "Scripts", "share")

Keep = Callable[[str, bytes], None]
"""Keeps what stood at a path, where git does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PutBack:
    """What was not as it had been."""

    paths: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    """Those of them that are now as in the base, or not there at all."""
    aside: str | None = None
    """Where what git sees of it is kept."""

    @property
    def note(self) -> str:
        if not self.paths:
            return ""
        more = f" and {len(self.paths) - SHOWN} more" if len(self.paths) > SHOWN else ""
        kept = f"; kept at {self.aside}" if self.aside else ""
        listed = ", ".join(self.paths[:SHOWN]) + more
        return f"{PUT_BACK}: {listed} ({ALLOW}){kept}"

    def left(self, paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(path for path in paths if path not in self.whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What steers, as it was."""

    top: Path
    steering: Steering
    content: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def is_anything(self) -> bool:
        return bool(self.steering.tools or self.steering.files)

    async def put_back(
        self, place: InPlace, base: str, paths: Sequence[str], name: str, keep: Keep
    ) -> PutBack:
        """`paths` is what git sees; all of that is kept under a name if anything is put back."""
        if not self.is_anything:
            return PutBack()
        whole, mended = self._wrong(paths)
        aside = None
        if whole or mended:
            aside = await place.restore(base, whole, name)
            for path, text in mended.items():
                self._write(path, text)
        unseen = await asyncio.to_thread(self.put_unseen_back, keep)
        found = dict.fromkeys((*whole, *mended, *unseen))
        return PutBack(paths=tuple(found), whole=(*whole, *unseen), aside=aside)

    def put_unseen_back(self, keep: Keep) -> tuple[str, ...]:
        """All that is not as it was; of what git sees, that has been put back before."""
        if not self.is_anything:
            return ()
        found = []
        for path in dict.fromkeys((*_files(self.top, self.steering), *self.content)):
            now, then = self._now(path), self.content.get(path)
            if now == then and (now is not None or not self._is_odd(path)):
                continue
            text = then
            if self.steering.is_mixed(path) and (now is not None or not self._is_odd(path)):
                text = self._mended(path, now)
                if text == (now or b""):
                    continue
            keep(path, now or b"")
            self._write(path, text)
            found.append(path)
        return tuple(found)

    def _wrong(self, paths: Sequence[str]) -> tuple[list[str], dict[str, bytes]]:
        """What has to be as it was, and what only in part: with the text that it should have."""
        whole, mended = [], {}
        for path in paths:
            if self.steering.steers(path):
                whole.append(path)
            elif self.steering.is_mixed(path):
                now, text = self._now(path), self._mended(path, self._now(path))
                is_odd = now is None and self._is_odd(path)
                if is_odd or text is None or (text == self.content.get(path) and text != now):
                    whole.append(path)
                elif text != (now or b""):
                    mended[path] = text
        return whole, mended

    def _mended(self, path: str, now: bytes | None) -> bytes | None:
        return self.steering.mended(path, self.content.get(path), now or b"")

    def _is_odd(self, path: str) -> bool:
        """Something is there: if it has no content, it is no file."""
        return os.path.lexists(self.top / path)

    def _now(self, path: str) -> bytes | None:
        if _link_above(self.top, path) is not None:
            return None
        return owned_file.content_of(self.top / path, MOST_BYTES)

    def _write(self, path: str, text: bytes | None) -> None:
        link = _link_above(self.top, path)
        if link is not None:  # nothing of ours is written to where it leads
            link.unlink()
        folder = (self.top / path).parent
        if folder.is_dir() and not os.access(folder, os.W_OK | os.X_OK):
            folder.chmod(0o755)
        owned_file.put_back(self.top / path, text, MOST_BYTES)


async def hold(steering: Steering, top: Path) -> Held:
    """Look at all that steers, before anybody can change it."""

    async def content(path: str) -> bytes | None:
        return owned_file.content_of(top / path, MOST_BYTES)

    steering = await steering.looked_into(content)
    held = Held(top=top, steering=steering)
    if not held.is_anything:
        return held
    return Held(top=top, steering=steering, content=await asyncio.to_thread(_contents, held))


def _contents(held: Held) -> dict[str, bytes]:
    found = {}
    for path in _files(held.top, held.steering):
        text = owned_file.content_of(held.top / path, MOST_BYTES)
        if text is not None:
            found[path] = text
    return found


# --- looking through a checkout ------------------------------------------------------------------


def _files(top: Path, steering: Steering) -> Iterator[str]:
    """All that steers and is there, in whole or in part; models are named `*.pth` as well."""
    found = sorted(path for path in _walk(top, "") if not path.endswith(".pth"))
    named = (path for path in sorted(steering.files) if os.path.lexists(top / path))
    for path in dict.fromkeys((*found, *named)):
        if steering.steers(path) or steering.is_mixed(path):
            yield path


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
