"""Keys that a session wrote into its work: they go no further.

An agent that needs a key to do its work may write it down where it works: into a file of settings,
a recorded test, the name of a file. From there it would get into the repository for good, and with
it to whoever is shown that. So before anything is taken in, the name of the key takes its place in
the files that changed, and whoever is asked what the session did is told of it.

The work itself is kept, as all work is. A key that was in the same file before is the person's own
business. Files are never written in place: an agent can give a file of the person a second name.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dwindle.adapters.workspaces.git import Git
from dwindle.ports.process import Secret
from dwindle.ports.secrecy import told_bytes

LARGEST = 64 << 20
"""Bytes of a file that is looked into."""


async def hushed(
    git: Git, top: Path, base: str, paths: Iterable[str], secrets: Sequence[Secret]
) -> tuple[str, ...]:
    """Take the secrets out of what is at these paths; a sentence for each place that had one."""
    if not secrets:
        return ()
    said = []
    for path in await asyncio.to_thread(_telling, top, tuple(paths), secrets):
        before = await git.ask("cat-file", "blob", f"{base}:{path}")
        news = [secret for secret in secrets if before.code or secret.value not in before.out]
        names = await asyncio.to_thread(_without, top, path, news)
        if names:
            clean = told_bytes(os.fsencode(path), secrets).decode("utf-8", "replace")
            said.append(f"{clean} had the value of {', '.join(names)} in it, which was taken out")
    return tuple(said)


def _telling(top: Path, paths: Sequence[str], secrets: Sequence[Secret]) -> list[str]:
    return [path for path in paths if any(_names(*_held(top, path), secrets))]


def _held(top: Path, path: str) -> tuple[bytes, bytes | None]:
    """What git would keep of a path: its name, and its content or where it leads, if that is known.

    A folder that is a link is nobody's to be looked into.
    """
    name, file = os.fsencode(path), top / path
    with suppress(OSError, ValueError):
        facts = file.lstat()
        if any(one.is_symlink() for one in file.parents if top in one.parents):
            return name, None
        if stat.S_ISLNK(facts.st_mode):
            return name, os.fsencode(file.readlink())
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= LARGEST:
            return name, file.read_bytes()
    return name, None


def _names(name: bytes, content: bytes | None, secrets: Sequence[Secret]) -> Iterator[str]:
    for secret in secrets:
        if secret.value in name or (content is not None and secret.value in content):
            yield secret.shown.decode("utf-8", "replace").strip("[]")


def _without(top: Path, path: str, secrets: Sequence[Secret]) -> list[str]:
    """The names of the secrets that were there."""
    name, content = _held(top, path)
    names = list(dict.fromkeys(_names(name, content, secrets)))
    if names:
        kept = top / os.fsdecode(told_bytes(name, secrets))
        with suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                (top / path).rename(kept)
            else:
                _put(top / path, kept, told_bytes(content, secrets))
    return names


def _put(file: Path, kept: Path, content: bytes) -> None:
    """In place of a file or a link, and perhaps under another name."""
    mode = file.lstat().st_mode
    part = kept.with_name(f".{os.getpid()}.hush")
    if stat.S_ISLNK(mode):
        part.symlink_to(os.fsdecode(content))
    else:
        part.write_bytes(content)
        part.chmod(stat.S_IMODE(mode))
    part.replace(kept)
    if kept != file:
        file.unlink()
