"""Is there a file in the tree? A path, or a pattern with `*`, `?`, `[...]` and `**`.

The answer is about the tree and nothing else: a link that leads out of it is not followed, and what
lies behind it is neither there nor absent. As in an ignore file, `*` also matches a leading dot,
and `**` any number of folders; what git ignores counts; what git keeps for itself does not.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path, PurePosixPath

from dwindle.kernel.base_case import Verdict

_WILD = re.compile(r"[*?[]")
_BRACES = re.compile(r"\{[^{}]*,[^{}]*\}")


@dataclass(slots=True)
class Look:
    """What was found. `trouble` says why nothing can be said, or not all."""

    found: str = ""
    leads_out: str = ""
    """Something is there, but it is a link to a place outside."""
    trouble: str = ""
    unread: list[str] = field(default_factory=list)
    """Folders that could not be read."""

    def verdict(self, pattern: str, *, wanted: bool) -> tuple[Verdict, str]:
        """Whether something is there that should be (or should not), and a clause that says why."""
        if self.trouble:
            return Verdict.COULD_NOT_RUN, self.trouble
        if self.found:
            what = "it is there" if self.found == pattern else f"{self.found} is there"
            return (Verdict.PASSED if wanted else Verdict.FAILED), what
        if self.unread:
            unread = ", ".join(self.unread[:3])
            return Verdict.COULD_NOT_RUN, f"nothing was found, but {unread} could not be read"
        if self.leads_out:
            what = f"{self.leads_out} is a link that leads nowhere inside of the tree"
            return (Verdict.FAILED if wanted else Verdict.COULD_NOT_RUN), what
        return (Verdict.FAILED if wanted else Verdict.PASSED), "nothing of that name is there"


def look(tree: Path, pattern: str) -> Look:
    parts = PurePosixPath(pattern).parts
    if not parts or pattern.startswith("/") or ".." in parts:
        return Look(trouble=f"{pattern!r} does not name a place inside of the tree")
    if not tree.is_dir():
        return Look(trouble="the tree is gone")
    folder_wanted = pattern.endswith("/")
    seen = _look_at(tree, parts, folder_wanted=folder_wanted)
    if seen.found or seen.leads_out or seen.trouble:
        return seen
    if _BRACES.search(pattern):
        return Look(trouble=f"{pattern!r} has braces, which patterns do not know: name each alone")
    if not _WILD.search(pattern):
        return seen
    for match in _matches(tree, parts, seen):
        at = _look_at(tree, match, folder_wanted=folder_wanted)
        if at.found:
            seen.found = at.found
            return seen
        seen.leads_out = seen.leads_out or at.leads_out
    return seen


def _look_at(tree: Path, parts: tuple[str, ...], *, folder_wanted: bool) -> Look:
    name = "/".join(parts)
    path = tree.joinpath(*parts)
    try:
        root, target = tree.resolve(), path.resolve()
        if not target.is_relative_to(root):
            return Look(leads_out=name)
        if path.is_symlink() and not path.exists():
            return Look(leads_out=name)
        there = path.is_dir() if folder_wanted else path.exists()
        return Look(found=name) if there else Look()
    except (OSError, RuntimeError, ValueError) as problem:  # unreadable, or links in a circle
        return Look(trouble=f"{name} cannot be looked at: {problem}")


def _matches(tree: Path, parts: tuple[str, ...], seen: Look) -> Iterator[tuple[str, ...]]:
    """Depth first, in the order of names. Links are named but never entered."""
    tests = tuple(None if part == "**" else re.compile(translate(part)) for part in parts)
    waiting: list[tuple[tuple[str, ...], frozenset[int]]] = [((), _opened(tests, frozenset((0,))))]
    while waiting:
        folder, states = waiting.pop()
        below = []
        for entry in _entries(tree.joinpath(*folder), "/".join(folder) or ".", seen):
            if not folder and entry.name == ".git":
                continue
            here = (*folder, entry.name)
            after = _opened(tests, _stepped(tests, states, entry.name))
            if len(tests) in after:
                yield here
            if after and entry.is_dir(follow_symlinks=False):
                below.append((here, after))
        waiting.extend(reversed(below))


Tests = tuple[re.Pattern[str] | None, ...]


def _stepped(tests: Tests, states: frozenset[int], name: str) -> frozenset[int]:
    after = set()
    for state in states:
        if state == len(tests):
            continue
        test = tests[state]
        if test is None:
            after.add(state)
            if state + 1 == len(tests):
                after.add(state + 1)
        elif test.match(name):
            after.add(state + 1)
    return frozenset(after)


def _opened(tests: Tests, states: frozenset[int]) -> frozenset[int]:
    """`**` may also stand for no folder at all, except at the very end."""
    after = set(states)
    for state in states:
        following = state
        while following + 1 < len(tests) and tests[following] is None:
            following += 1
            after.add(following)
    return frozenset(after)


def _entries(folder: Path, name: str, seen: Look) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        seen.unread.append(name)
        return []
