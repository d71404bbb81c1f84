"""What lies between two commits: files, lines, the patch. Only read; no program of the tree runs.

Git gets the configuration of `common_dir`, so that no diff driver exists; the options say it again.
A rename is a removed file and an added one: what was judged is the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from dwindle.adapters.git.command import Git
from dwindle.adapters.git.in_place.history import contents, read_with

_PLAIN = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")
_LISTED = ("-r", "-z", "--raw", "--numstat", "--root", *_PLAIN)
_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_COUNTED = re.compile(r"(\d+|-)\t(\d+|-)\t(.+)", re.DOTALL)


class Became(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    path: str
    became: Became
    added: int | None = None
    """Lines; None for a binary file."""
    removed: int | None = None


async def changed_files(git: Git, old: str, new: str) -> tuple[ChangedFile, ...]:
    """In the order of their paths."""
    said = await git.tell("diff-tree", *_LISTED, old, new)
    return tuple(_parsed(said.lines).get("", ()))


async def changed_by(git: Git, commits: Sequence[str]) -> dict[str, tuple[ChangedFile, ...]]:
    """What each commit changed, compared with its first parent."""
    given = "".join(f"{commit}\n" for commit in commits).encode()
    words = ("diff-tree", "--stdin", "-m", "--first-parent", *_LISTED)
    found = _parsed((await git.tell(*words, given=given)).lines) if commits else {}
    return {commit: tuple(found.get(commit, ())) for commit in commits}


def _parsed(tokens: Iterable[str]) -> dict[str, list[ChangedFile]]:
    """By commit; under an empty name where two commits were compared."""
    found: dict[str, dict[str, ChangedFile]] = {"": {}}
    files, rest = found[""], iter(tokens)
    for token in rest:
        if token.startswith(":"):
            path = next(rest)
            files[path] = ChangedFile(path=path, became=_became(token.rpartition(" ")[2]))
        elif counted := _COUNTED.fullmatch(token):
            added, removed, path = counted.groups()
            if added != "-":
                files[path] = replace(files[path], added=int(added), removed=int(removed))
        elif _COMMIT.fullmatch(token):
            files = found.setdefault(token, {})
    return {commit: list(by_path.values()) for commit, by_path in found.items()}


def _became(letter: str) -> Became:
    return {"A": Became.ADDED, "D": Became.REMOVED}.get(letter, Became.CHANGED)


async def patch(git: Git, old: str, new: str, most: int, paths: Sequence[str] = ()) -> bytes:
    """The first bytes of it."""
    return await git.beginning(most, "diff-tree", "-r", "-p", *_PLAIN, old, new, "--", *paths)


async def file_contents(
    git: Git, commit: str, paths: Iterable[str], largest: int
) -> dict[str, bytes]:
    """What files hold in a commit; what is no file there, or a larger one, is left out."""
    names = [f"{commit}:{path}" for path in paths if "\n" not in path]
    found = await read_with(git, contents(names, largest)) if names else {}
    return {name.partition(":")[2]: content for name, content in found.items()}
