"""Steering files: what decides which tests a tool runs, and what it makes of their outcomes.

A worker that cannot make a test pass can tell the tool not to run it, to ignore its outcome, or to
be another program altogether: a conftest.py, a line in a settings file, a module of the tool's own
name. None of these is a test, so nobody would think of naming it in `protected_paths`. Where a
command of the base case is seen to run a test tool that we know, its steering files are those of
the commit of alignment, and no others: those that were there are pinned, a new one is no part of
the checkout that decides, and a worker that adds one has failed its attempt.

Some files steer a tool and serve other ends as well (pyproject.toml, package.json). Of those only
the part that steers is held fast; the rest is the worker's.

What the plan says is to be made is no steering file: an entry `!path` in `protected_paths`, the
path of a `file` check, and every path that `deliverables` names.

Which tool a line runs is looked for generously: any word in it, however deep it is quoted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from dwindle.kernel.base_case import checks, items
from dwindle.kernel.model import BaseCase, CheckType, Objective
from dwindle.runner.mixed_files import is_mixed, mended
from dwindle.runner.places import Places, split
from dwindle.runner.shell_words import words


class Tool(StrEnum):
    PYTEST = "pytest"
    UNITTEST = "unittest"
    NODE = "node"
    CARGO = "cargo"


_NAMES: dict[Tool, re.Pattern[str]] = {
    Tool.PYTEST: re.compile(r"(?:.*/)?(?:pytest(?:-?[0-9.]+)?|py\.test|tox|nox)"),
    Tool.UNITTEST: re.compile(r"unittest"),
    Tool.NODE: re.compile(
        r"(?:.*/)?(?:node|npm|npx|pnpm|yarn|bun|jest|vitest|mocha|ava|tap)(?:\.js)?"
    ),
    Tool.CARGO: re.compile(r"(?:.*/)?cargo(?:-nextest)?"),
}

_PYTHON = r"(?:sitecustomize|usercustomize)\.py|[^/]+\.pth"
_PYTEST_MODULES = "pytest|_pytest|pluggy|iniconfig"
_ENTRY_POINTS = r"[^/]+\.(?:egg|dist)-info/entry_points\.txt"
_PATTERNS: dict[Tool, str] = {
    Tool.PYTEST: rf"conftest\.py|\.?pytest\.(?:ini|toml)|{_PYTHON}|{_ENTRY_POINTS}"
    rf"|(?:{_PYTEST_MODULES})(?:\.py|/.+)",
    Tool.UNITTEST: rf"{_PYTHON}|unittest(?:\.py|/.+)",
    Tool.NODE: r"\.npmrc|\.yarnrc(?:\.yml)?|(?:jest|vitest|ava)\.config\.[cm]?[jt]s(?:on)?"
    r"|jest\.config\.json|vitest\.workspace\.[^/]+|\.mocharc(?:\.[^/]+)?|\.taprc|\.nycrc(?:\.json)?"
    r"|node\.config\.json",
    Tool.CARGO: r"\.cargo/config(?:\.toml)?|rust-toolchain(?:\.toml)?|\.config/nextest\.toml",
}
"""Relative to any folder."""

_COMMANDS = (CheckType.COMMAND, CheckType.NOT_COMMAND)
_ENDS = ".,;:!?()[]{}\"'`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """What steers the tools of one base case."""

    tools: tuple[Tool, ...] = ()
    excepted: Places = field(default_factory=Places)
    delivered: frozenset[str] = frozenset()

    def steers(self, path: str) -> bool:
        """The whole file does."""
        if not self.tools or self._is_wanted(path):
            return False
        return any(re.search(rf"(?:\A|/)(?:{_PATTERNS[tool]})\Z", path) for tool in self.tools)

    def is_mixed(self, path: str) -> bool:
        """A part of the file may."""
        if not self.tools or self._is_wanted(path):
            return False
        return is_mixed(posixpath.basename(path), self.tools)

    def mended(self, path: str, then: bytes | None, now: bytes) -> bytes | None:
        """The file as it is `now`, with what steers as it was `then`; None if nothing may be."""
        return mended(posixpath.basename(path), then, now)

    def _is_wanted(self, path: str) -> bool:
        return path in self.delivered or self.excepted.covers(path)


NOTHING_STEERS = Steering()


def steering_of(objective: Objective) -> Steering:
    _, excepted = split(objective.protected_paths)
    return Steering(
        tools=tools_of(objective.base_case),
        excepted=excepted,
        delivered=frozenset(_delivered(objective)),
    )


def tools_of(base_case: BaseCase) -> tuple[Tool, ...]:
    """The tools that its commands may run, in a fixed order."""
    lines = [
        check.value
        for _, _, check in checks(items(base_case))
        if check.type in _COMMANDS and check.value
    ]
    found = {word for line in lines for word in words(line)}
    return tuple(
        tool for tool, name in _NAMES.items() if any(name.fullmatch(word) for word in found)
    )


def _delivered(objective: Objective) -> Iterator[str]:
    for _, _, check in checks(items(objective.base_case)):
        if check.type is CheckType.FILE and check.value:
            yield posixpath.normpath(check.value.strip())
    for word in objective.deliverables.split():
        yield posixpath.normpath(word.strip(_ENDS) or ".")
