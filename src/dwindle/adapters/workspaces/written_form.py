"""Files put back byte for byte, where git would write them in another form.

With attributes such as `eol=crlf` the same commit can be on disk in several forms: git writes one
and takes all. A person, or an agent, may have left a file in another one than git would write, and
whoever undoes what was done to it has to bring back that one. Which it was is not recorded, but how
long: our index knows the length of each file at the last commit.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence

from dwindle.adapters.workspaces.git import Git
from dwindle.adapters.workspaces.leftovers import Checkout

_ENTRY = re.compile(rb"([^\0]+)\0  ctime: [^\n]*\n(?:  [^\n]*\n)*?  size: (\d+)\t[^\n]*\n")


async def lengths(git: Git, place: Checkout, paths: Sequence[str]) -> dict[str, int]:
    """How long our index says that these files are; those it knows nothing of are left out."""
    if not paths or not place.index.exists():
        return {}
    said = await git.at(place.path, index=place.index).ask("ls-files", "--debug", "-z")
    wanted = {os.fsencode(path) for path in paths}
    found = ((name, int(size)) for name, size in _ENTRY.findall(said.out) if name in wanted)
    return {os.fsdecode(name): size for name, size in found if size}


async def in_old_form(
    git: Git, place: Checkout, base: str, known: Mapping[str, int]
) -> tuple[str, ...]:
    """Files that were just written from a commit, in the form that had this length; which ones."""
    odd = [path for path, size in known.items() if _length(place, path) not in (None, size)]
    rewritten = []
    for path in odd:
        said = await git.ask("cat-file", "blob", f"{base}:{path}")
        form = next((one for one in _forms(said.out) if len(one) == known[path]), None)
        if said.code == 0 and form is not None:
            (place.path / path).write_bytes(form)
            rewritten.append(path)
    return tuple(rewritten)


def _forms(blob: bytes) -> Iterator[bytes]:
    yield blob
    yield blob.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _length(place: Checkout, path: str) -> int | None:
    """None if it is no regular file, or one with another name, which is not ours to write to."""
    try:
        found = (place.path / path).lstat()
    except OSError:
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 else None
