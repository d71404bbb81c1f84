"""Pins: the files that no worker may touch, because they decide whether the work is good.

An agent that cannot make a check pass can often make the check easier. So the files that judge the
work are pinned at alignment: the protected paths, and every tracked file that a command of the base
case names. A folder that a command names is not pinned (`pytest tests` would forbid new tests), nor
is the path of a file check (a worker has to make it). Files that steer a test tool need no pin: see
`steering.py`.

A protected path is a file, a folder (with all below it, now and later) or a pattern; an entry
`!path` takes something out again, wherever it stands in the list. So does an entry of the work
paths that names the file itself.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence

from dwindle.kernel.base_case import COMMANDS, checks, items
from dwindle.kernel.model import BaseCase, Objective
from dwindle.runner.gate.judgement import NAMES_SHOWN
from dwindle.runner.gate.path_patterns import split
from dwindle.toolchains.recipes import folders_in
from dwindle.toolchains.shell import words


def pins_of(objective: Objective, tracked_files: Sequence[str]) -> tuple[str, ...]:
    """In the order of `tracked_files`, which are the regular files in the commit of alignment."""
    named = frozenset(named_files(objective.base_case, frozenset(tracked_files)))
    named -= literal_entries(objective.work_paths)
    protected, excepted = split(objective.protected_paths)
    return tuple(
        path
        for path in tracked_files
        if (path in named or protected.covers(path)) and not excepted.covers(path)
    )


def literal_entries(entries: Sequence[str]) -> frozenset[str]:
    """Those that stand for one path, and for it alone if it is a file."""
    paths = (posixpath.normpath(entry) for entry in entries if not entry.startswith("!"))
    return frozenset(path for path in paths if not set(path) & set("*?["))


def protected_changes(
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


def how_to_unpin(paths: Sequence[str]) -> str:
    """For the person who reads why an attempt failed."""
    options = " ".join(f"--unpin {shlex.quote(path)}" for path in paths[:NAMES_SHOWN])
    return f"(If the work has to change it, a person allows that: `dwindle redirect {options}`.)"


# --- files that commands name --------------------------------------------------------------------


def named_files(base_case: BaseCase, tracked: Collection[str]) -> Iterator[str]:
    """Those of the tracked files that a command of the base case, or its control, names."""
    for _, _, check in checks(items(base_case)):
        lines = [check.control] if check.control else []
        if check.type in COMMANDS and check.value:
            lines.append(check.value)
        for line in lines:
            found = words(line)
            folders = ["", *folders_in(found)]
            for word in found:
                for folder in folders:
                    for path in _paths_in(word):
                        place = posixpath.normpath(posixpath.join(folder, path))
                        if place in tracked:
                            yield place


def _paths_in(word: str) -> tuple[str, ...]:
    """`--config=a/b.ini` names a/b.ini, `tests/test_a.py::test_x` names the file before the ::."""
    return (word, word.partition("=")[2], word.partition("::")[0])
