"""Redaction of the files that a session changed, before a commit takes them in.

An agent that needs a key may write it into a file of settings, a recorded test, the name of a file,
and a commit would publish it with the repository. So the name of the key replaces its value in the
files that changed, and the report of the session says so.

A key that was in the same file before the session stays: the user put it there. Files are never
written in place: an agent can give a file of the user a second name.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from dwindle.adapters.git.command import Git
from dwindle.ports.process import Secret
from dwindle.text.redact import redact_bytes

LARGEST = 64 << 20
"""Bytes of a file that is searched."""


async def redact_files(
    git: Git, top: Path, base: str, paths: Iterable[str], secrets: Sequence[Secret]
) -> tuple[str, ...]:
    """Take the secrets out of these files and their names; a sentence for each that had one."""
    if not secrets:
        return ()
    notes = []
    for path in await asyncio.to_thread(_with_secrets, top, tuple(paths), secrets):
        before = await git.ask("cat-file", "blob", f"{base}:{path}")
        news = [secret for secret in secrets if before.code or secret.value not in before.out]
        names = await asyncio.to_thread(_redact, top, path, news)
        if names:
            clean = redact_bytes(os.fsencode(path), secrets).decode("utf-8", "replace")
            notes.append(f"{clean} had the value of {', '.join(names)} in it, which was taken out")
    return tuple(notes)


def _with_secrets(top: Path, paths: Sequence[str], secrets: Sequence[Secret]) -> list[str]:
    return [path for path in paths if any(_names(*_content(top, path), secrets))]


def _content(top: Path, path: str) -> tuple[bytes, bytes | None]:
    """The name, and what git would store: the content of a file, or the target of a link.

    None below a folder that is a link, and of everything else.
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


def _redact(top: Path, path: str, secrets: Sequence[Secret]) -> list[str]:
    """Rewrite and rename the file; the names of the secrets that it had."""
    name, content = _content(top, path)
    names = list(dict.fromkeys(_names(name, content, secrets)))
    if names:
        kept = top / os.fsdecode(redact_bytes(name, secrets))
        with suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                (top / path).rename(kept)
            else:
                _put(top / path, kept, redact_bytes(content, secrets))
    return names


def _put(file: Path, kept: Path, content: bytes) -> None:
    """Replace a file or a link, perhaps under another name."""
    mode = file.lstat().st_mode
    part = kept.with_name(f".{os.getpid()}.redacted")
    if stat.S_ISLNK(mode):
        part.symlink_to(os.fsdecode(content))
    else:
        part.write_bytes(content)
        part.chmod(stat.S_IMODE(mode))
    part.replace(kept)
    if kept != file:
        file.unlink()
