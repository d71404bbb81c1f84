"""The files that the guard is made of, as far as they can be told by their names.

The guard alone decides whether a leaf passes, and an agent may rewrite it: often with good reason,
for a new test has to be run. So nothing is forbidden here. But a person should be told when what
judged an iteration was changed in that very iteration, and when it is in no commit at all.

Found are the files that the command names, the justfile or makefile that it reads, and the files
that this one names in turn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from dwindle.runner.owned_file import content_of
from dwindle.runner.shell_words import words

READ_BY: Final[Mapping[str, tuple[str, ...]]] = {
    "just": ("justfile", ".justfile"),
    "make": ("makefile", "gnumakefile"),
    "gmake": ("makefile", "gnumakefile"),
}
"""What a program reads without being told; in capital or small letters."""
MOST_BYTES: Final = 1 << 20
MOST_FILES: Final = 100
LISTED: Final = 5


def digests(command: Sequence[str], checkout: Path) -> dict[str, str]:
    """Each file, by its path in the checkout, and what tells its content from another."""
    found: dict[str, str] = {}
    for path in _files(command, checkout):
        content = content_of(checkout / path, MOST_BYTES)
        if content is not None:
            found[path] = hashlib.sha256(content).hexdigest()
        if len(found) == MOST_FILES:
            break
    return found


def changed(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    """A note, if the files are not what they were. One that is only named now is no change."""
    paths = [path for path in before if before[path] != after.get(path)]
    if paths:
        yield f"what the guard is made of was changed in this iteration: {_shown(paths)}"


def uncommitted(ignored: Sequence[str]) -> Iterator[str]:
    """A note, if some of the files are ignored by git."""
    if ignored:
        yield f"the guard rests on what git ignores, and no commit has: {_shown(ignored)}"


def _files(command: Sequence[str], checkout: Path) -> Iterator[str]:
    named = [word for part in command for word in words(part)]
    yield from _among(named, checkout)
    for reading in _reading(named, checkout):
        yield reading
        text = (content_of(checkout / reading, MOST_BYTES) or b"").decode("utf-8", "replace")
        lines = text.splitlines()
        yield from _among([word for line in lines for word in words(line)], checkout)


def _reading(named: Sequence[str], checkout: Path) -> list[str]:
    wanted = {name for word in named for name in READ_BY.get(Path(word).name, ())}
    if not wanted:
        return []
    return sorted(path.name for path in checkout.iterdir() if path.name.lower() in wanted)


def _among(named: Sequence[str], checkout: Path) -> Iterator[str]:
    """Those of the words that are files of the checkout; `--file=a` names a, and `@a` too."""
    for word in named:
        for name in (word, word.partition("=")[2], word.lstrip("@-")):
            if not name or name.startswith("/") or "\0" in name or ".." in name.split("/"):
                continue
            path = checkout / name
            try:
                is_file = path.is_file()
            except OSError:  # a name that no file can have
                continue
            if is_file:
                yield path.relative_to(checkout).as_posix()


def _shown(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - LISTED} more" if len(paths) > LISTED else ""
    return ", ".join(paths[:LISTED]) + more
