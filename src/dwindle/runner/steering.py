"""Steering files: what decides which tests a tool runs, and what it makes of their outcomes.

A worker that cannot make a test pass can tell the tool not to run it, to ignore its outcome, or to
be another program altogether: a conftest.py, a line in a settings file, a module of the tool's own
name, a recipe in a Makefile. None of these is a test, so nobody would think of naming it in
`protected_paths`. Where a command of the base case, or the guard of a tree, is seen to run a tool
that we know, its steering files are those of the commit of alignment, and no others: those that
were there are held, a new one is no part of what decides, and a worker that adds one has failed its
attempt. (In a tree, they are put back before the guard runs: see `held_files.py`.)

Some files steer a tool and serve other ends as well (pyproject.toml, package.json). Of those only
the part that steers is held fast; the rest is the worker's.

What the plan says is to be made is no steering file: an entry `!path` in `protected_paths`, the
path of a `file` check, and every path that `deliverables` names; of a tree, what the settings name.

Which tool a line runs is looked for generously: any word in it, however deep it is quoted, and, by
`looked_into`, any word in the recipes and scripts that it leads to.
"""

from __future__ import annotations

import functools
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from dwindle.kernel.base_case import checks, items
from dwindle.kernel.model import BaseCase, CheckType, Objective
from dwindle.runner.judging_tools import Tool, tools_in
from dwindle.runner.mixed_files import is_mixed, mended
from dwindle.runner.places import Places, split
from dwindle.runner.recipe_files import Content, look_into

_PYTHON = r"(?:sitecustomize|usercustomize)\.py|[^/]+\.pth"
_PYTEST_MODULES = "pytest|_pytest|pluggy|iniconfig"
_PATTERNS: dict[Tool, str] = {
    Tool.PYTEST: rf"conftest\.py|\.?pytest\.(?:ini|toml)|{_PYTHON}"
    rf"|(?:{_PYTEST_MODULES})(?:\.py|/.+)",
    Tool.UNITTEST: rf"{_PYTHON}|unittest(?:\.py|/.+)",
    Tool.NODE: r"\.npmrc|\.yarnrc(?:\.yml)?|(?:jest|vitest|ava)\.config\.[cm]?[jt]s(?:on)?"
    r"|jest\.config\.json|vitest\.workspace\.[^/]+|\.mocharc(?:\.[^/]+)?|\.taprc|\.nycrc(?:\.json)?"
    r"|node\.config\.json",
    Tool.CARGO: r"\.cargo/config(?:\.toml)?|rust-toolchain(?:\.toml)?|\.config/nextest\.toml",
    Tool.TOX: r"tox\.(?:ini|toml)",
    Tool.NOX: r"noxfile\.py",
}
"""Relative to any folder. Which Makefile or justfile is read is told by the command."""

_COMMANDS = (CheckType.COMMAND, CheckType.NOT_COMMAND)
_ENDS = ".,;:!?()[]{}\"'`"
_SHELLS: Final = ("sh", "bash", "dash", "zsh")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """What steers the tools of one base case, or of one guard."""

    tools: tuple[Tool, ...] = ()
    excepted: Places = field(default_factory=Places)
    delivered: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()
    """The commands, as far as nobody has looked into what they lead to."""
    files: frozenset[str] = frozenset()
    """Recipes and scripts that they lead to, and what would be read in their place."""

    def steers(self, path: str) -> bool:
        """The whole file does."""
        if not self.tools and not self.files:
            return False
        if path not in self.files and not _pattern(self.tools).search(path):
            return False
        return not self._is_wanted(path)

    def is_mixed(self, path: str) -> bool:
        """A part of the file may."""
        if not self.tools or not is_mixed(posixpath.basename(path), self.tools):
            return False
        return not self._is_wanted(path) and not self.steers(path)

    def mended(self, path: str, then: bytes | None, now: bytes) -> bytes | None:
        """The file as it is `now`, with what steers as it was `then`; None if nothing may be."""
        return mended(posixpath.basename(path), then, now)

    async def looked_into(self, content: Content) -> Steering:
        """With the tools and files that are behind `make test` and its like.

        `content` tells what was in a file when the person agreed.
        """
        if not self.lines:
            return self
        found = await look_into(self.lines, content)
        tools = tuple(tool for tool in Tool if tool in self.tools or tool in found.tools)
        return replace(self, tools=tools, files=self.files | found.files, lines=())

    def _is_wanted(self, path: str) -> bool:
        return path in self.delivered or self.excepted.covers(path)


NOTHING_STEERS = Steering()


@functools.lru_cache(64)
def _pattern(tools: tuple[Tool, ...]) -> re.Pattern[str]:
    known = "|".join(_PATTERNS[tool] for tool in tools if tool in _PATTERNS)
    return re.compile(rf"(?:\A|/)(?:{known})\Z" if known else r"(?!)")


def steering_of(objective: Objective) -> Steering:
    _, excepted = split(objective.protected_paths)
    return Steering(
        tools=tools_of(objective.base_case),
        excepted=excepted,
        delivered=frozenset(_delivered(objective)),
        lines=tuple(_lines(objective.base_case)),
    )


def steering_of_guard(command: Sequence[str], deliverables: Sequence[str]) -> Steering:
    """Of a tree, whose plan has no room for what its agents may change."""
    line = line_of(command)
    return Steering(tools=tools_in((line,)), excepted=Places(deliverables), lines=(line,))


def line_of(command: Sequence[str]) -> str:
    """A command as one line for a shell."""
    if len(command) == len(("sh", "-c", "line")) and command[0] in _SHELLS and command[1] == "-c":
        return command[2]
    return shlex.join(command)


def tools_of(base_case: BaseCase) -> tuple[Tool, ...]:
    """The tools that its commands name, in a fixed order."""
    return tools_in(_lines(base_case))


def _lines(base_case: BaseCase) -> Iterator[str]:
    for _, _, check in checks(items(base_case)):
        if check.type in _COMMANDS and check.value:
            yield check.value


def _delivered(objective: Objective) -> Iterator[str]:
    for _, _, check in checks(items(objective.base_case)):
        if check.type is CheckType.FILE and check.value:
            yield posixpath.normpath(check.value.strip())
    for word in objective.deliverables.split():
        yield posixpath.normpath(word.strip(_ENDS) or ".")
