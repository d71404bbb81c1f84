"""Pins: the files that no worker may touch, because they decide whether the work is good.

An agent that cannot make a check pass can often make the check easier. So what judges the work is
pinned when the person agrees to it: the protected paths, and every tracked file that a command of
the base case names. A folder that a command names is not pinned (`pytest tests` would forbid new
tests), and neither is what a file check looks for (somebody has to make it). Files that steer a
test tool need no pin: see `steering.py`.

A protected path is a file, a folder (with all below it, now and later) or a pattern; an entry
`!path` takes something out again, wherever it stands in the list.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from dwindle.kernel.base_case import checks, items
from dwindle.kernel.model import BaseCase, CheckType, Objective
from dwindle.runner.places import split
from dwindle.runner.shell_words import words

_COMMANDS = (CheckType.COMMAND, CheckType.NOT_COMMAND)
_GOES_TO = ("cd", "-C", "--directory", "pushd")


def pins_of(objective: Objective, tracked_files: Sequence[str]) -> tuple[str, ...]:
    """In the order of `tracked_files`, which are the regular files in the commit of alignment."""
    named = frozenset(_names(objective.base_case, frozenset(tracked_files)))
    protected, excepted = split(objective.protected_paths)
    return tuple(
        path
        for path in tracked_files
        if (path in named or protected.covers(path)) and not excepted.covers(path)
    )


def touched(
    pins: Collection[str], protected_paths: Sequence[str], changed_paths: Iterable[str]
) -> tuple[str, ...]:
    """The changed paths that are pinned, or lie where nothing may be changed or added."""
    protected, excepted = split(protected_paths)
    pinned = frozenset(pins)
    return tuple(
        path
        for path in changed_paths
        if path in pinned or (protected.covers(path) and not excepted.covers(path))
    )


# --- files that commands name --------------------------------------------------------------------


def _names(base_case: BaseCase, tracked: Collection[str]) -> Iterator[str]:
    for _, _, check in checks(items(base_case)):
        lines = [check.control] if check.control else []
        if check.type in _COMMANDS and check.value:
            lines.append(check.value)
        for line in lines:
            found = words(line)
            folders = ["", *(b for a, b in pairwise(found) if a in _GOES_TO)]
            for word in found:
                for folder in folders:
                    for path in _paths_in(word):
                        place = posixpath.normpath(posixpath.join(folder, path))
                        if place in tracked:
                            yield place


def _paths_in(word: str) -> tuple[str, ...]:
    """`--config=a/b.ini` names a/b.ini, `tests/test_a.py::test_x` names the file before the ::."""
    return (word, word.partition("=")[2], word.partition("::")[0])
