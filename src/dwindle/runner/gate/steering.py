"""What steers the tools of one base case, or of one guard: these files stay as the user agreed.

Where a command runs a known tool, its steering files are those of the commit of alignment and no
others: a worker that changes one, or adds one, has failed its attempt. (In a tree, the runner
restores them before the guard runs: see `guard_files.py`.) Of a file that serves other ends as well
(pyproject.toml, package.json) only the part that steers is protected.

A file that the plan asks for does not steer: an entry `!path` in `protected_paths`, the path of a
`file` check, and every path that `deliverables` names; of a tree, what the settings name.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dwindle.kernel.base_case import COMMANDS, checks, items
from dwindle.kernel.model import BaseCase, CheckType, Objective
from dwindle.runner.gate.path_patterns import Places, split
from dwindle.toolchains import mixed_files, steering_files
from dwindle.toolchains.shell import line_of
from dwindle.toolchains.steering_files import Content, Exists, Reach, reach_of
from dwindle.toolchains.tools import Tool, tools_in

_PUNCTUATION = ".,;:!?()[]{}\"'`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSteering:
    tools: tuple[Tool, ...] = ()
    excepted: Places = field(default_factory=Places)
    delivered: frozenset[str] = frozenset()
    lines: tuple[str, ...] = ()
    """Commands whose recipes have not been followed yet."""
    reach: Reach = field(default_factory=Reach)
    """What the commands lead to, once their recipes have been followed."""
    listed: tuple[str, ...] = ()
    """What agents on a tree may change all the same, as the user wrote it."""
    by_work_paths: bool = False
    """Whether work paths say what steers; see `work_paths.py`."""

    @property
    def files(self) -> frozenset[str]:
        """Recipe files and scripts that the commands lead to, and what would be read instead."""
        return self.reach.files

    @property
    def is_empty(self) -> bool:
        return not self.tools and not self.files

    def steers(self, path: str, exists: Exists = lambda _: True, *, products: bool = True) -> bool:
        """The whole file steers; a package only while the module that it hides exists.

        `products` are files that make may have built: where git ignores them, they do no harm.
        """
        if self._may_begin(path) or self.is_wanted(path):
            return False
        if self.reach.steers(path, products=products):
            return True
        return steering_files.steers(path, self._held, self.reach.ground, exists)

    def is_mixed(self, path: str) -> bool:
        """Only a part of the file steers."""
        if not mixed_files.is_mixed(posixpath.basename(path), self._held):
            return False
        return not self.is_wanted(path) and not self.steers(path)

    def merge(self, path: str, old: bytes | None, new: bytes) -> bytes | None:
        """The new file with the old part that steers; None if there may be no file."""
        name, begins = posixpath.basename(path), self.reach.may_configure_pytest
        return mixed_files.merge(name, old, new, self._held, may_begin=begins)

    async def follow_recipes(self, content: Content, files: Collection[str]) -> ToolSteering:
        """With the tools and files behind `make test` and its like.

        `content` returns a file as it was when the user agreed, and `files` are all there were.
        """
        if not self.lines:
            return self
        reach = await reach_of(self.lines, content, files)
        tools = tuple(tool for tool in Tool if tool in self.tools or tool in reach.tools)
        return replace(self, tools=tools, reach=reach, lines=())

    @property
    def _held(self) -> tuple[Tool, ...]:
        """Without tools whose first recipe is work."""
        return tuple(tool for tool in self.tools if tool not in self.reach.unwritten)

    def _may_begin(self, path: str) -> bool:
        """A first pytest.ini, of which `merge` takes what is harmless."""
        is_ini = posixpath.basename(path) in ("pytest.ini", ".pytest.ini")
        return is_ini and self.reach.may_configure_pytest

    def is_wanted(self, path: str) -> bool:
        """The plan or the settings ask for it."""
        return path in self.delivered or self.excepted.covers(path)


NOTHING_STEERS = ToolSteering()


def steering_of(objective: Objective) -> ToolSteering:
    _, excepted = split(objective.protected_paths)
    lines = tuple(_lines(objective.base_case))
    return ToolSteering(
        tools=tools_in(lines),
        excepted=excepted,
        delivered=delivered_paths(objective),
        lines=lines,
    )


def exempt_files(objective: Objective) -> tuple[str, ...]:
    """What the plan frees from the list of steering files, by a check or by its deliverables."""
    steering = steering_of(objective)
    entries = tuple(entry for entry in objective.protected_paths if entry.startswith("!"))
    found = (p for p in steering.delivered if steering_files.is_steering_name(p))
    return (*entries, *sorted(found))


def steering_for(objective: Objective) -> ToolSteering | None:
    """None with work paths: then the list of steering files decides nothing."""
    return None if objective.work_paths else steering_of(objective)


def steering_of_guard(command: Sequence[str], deliverables: Sequence[str]) -> ToolSteering:
    """Of a tree, whose plan does not say which files its agents may change."""
    line = line_of(command)
    return ToolSteering(
        tools=tools_in((line,)),
        excepted=Places(deliverables),
        lines=(line,),
        listed=tuple(deliverables),
    )


def _lines(base_case: BaseCase) -> Iterator[str]:
    for _, _, check in checks(items(base_case)):
        if check.type in COMMANDS and check.value:
            yield check.value


def delivered_paths(objective: Objective) -> frozenset[str]:
    """The paths of `file` checks, and every word of the deliverables as a path."""
    return frozenset(_deliverables(objective))


def _deliverables(objective: Objective) -> Iterator[str]:
    for _, _, check in checks(items(objective.base_case)):
        if check.type is CheckType.FILE and check.value:
            yield posixpath.normpath(check.value.strip())
    for word in objective.deliverables.split():
        yield posixpath.normpath(word.strip(_PUNCTUATION) or ".")
