"""Work paths: where workers may change files. What lies outside never reaches the branch.

A list of everything that steers a test tool is never complete, and it refuses honest files for
their names. So the rule is turned around: the judge's ground is the commit of alignment, and of a
worker's change only what lies within the work paths is laid over it. The rest is set aside under a
ref, named, and the claim is judged without it: an honest agent that left a stray file loses
nothing, and a cheat loses its lever.

An entry is a path, a folder or a pattern (`src/**`); `!path` takes something out again. A folder or
a pattern never stands for pins, nor for tests and tool configuration of the commit of alignment:
these have to be named by their own paths. Of a manifest (pyproject.toml, package.json) that is
reached by a pattern, dependencies and metadata come from the worker, and what steers tools from the
ground.

New tests, and new files that a test tool reads first, may well be work. They are left out of the
run that decides, and a second run with them has to be green too. Those that an entry or a check
names are part of the first: the person has agreed to be judged by them.

In a tree the ground is the commit where the branch of the run began. Agents work in place there:
`OutsideWorkPaths` stands where a tree without work paths has its list of steering files, so the
runner puts back whatever lies outside, and the recipes and scripts of the guard as well.
"""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from dwindle.kernel.base_case import COMMANDS, checks, items
from dwindle.kernel.model import (
    Aligned,
    BaseCase,
    Check,
    CheckType,
    Objective,
    Plan,
)
from dwindle.runner.gate.path_patterns import Places, split
from dwindle.runner.gate.pins import literal_entries, named_files, pins_of
from dwindle.toolchains.manifests import MANIFESTS, lay_over
from dwindle.toolchains.mixed_files import may_hide_settings
from dwindle.toolchains.shell import line_of, words
from dwindle.toolchains.steering_files import Content, Exists, Reach, reach_of
from dwindle.toolchains.test_files import (
    AS_ALIGNED,
    decides,
    is_bytecode,
    is_package,
    is_test,
    shadows,
)
from dwindle.toolchains.work_areas import usual_areas

_PUNCTUATION = ".,;:!?()[]{}\"'`"
_RUNNER = ".runner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The paths of a worker's change, sorted."""

    kept: tuple[str, ...] = ()
    """These go to the branch."""
    merged: tuple[str, ...] = ()
    """Of these only a part does; they are among the kept ones."""
    set_aside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlay:
    """What of a commit is not laid over the judge's ground."""

    outside: tuple[str, ...] = ()
    """Changed all the same, outside of the work paths."""
    later: tuple[str, ...] = ()
    """New tests and what tools read first: for the second run."""


class WorkPaths:
    """The work paths of one plan, over the files of the commit of alignment."""

    def __init__(self, objective: Objective, aligned: Aligned, ground: Collection[str]) -> None:
        places, excepted = split(objective.work_paths)
        self._places, self._excepted = places, excepted
        self._protected, self._unprotected = split(objective.protected_paths)
        self._named = literal_entries(objective.work_paths)
        self._pins = frozenset(aligned.pins)
        self._ground = frozenset(ground)
        self._base_case = objective.base_case
        self._has_tests = any(map(is_test, self._ground))

    def covers(self, path: str) -> bool:
        """Does a change of this file reach the branch, at least in part?"""
        if self.is_named(path):
            return True
        if not self._places.covers(path) or self._excepted.covers(path) or self._is_pinned(path):
            return False
        if posixpath.basename(path) in AS_ALIGNED or is_bytecode(path):
            return False
        return path not in self._ground or not decides(path) or self.is_merged(path)

    def is_named(self, path: str) -> bool:
        """Does an entry name this very file, and not only a pattern for it?"""
        return path in self._named and not self._is_protected(path)

    def is_merged(self, path: str) -> bool:
        """Does only a part of a change of it reach the branch?"""
        is_manifest = posixpath.basename(path) in MANIFESTS and path in self._ground
        return is_manifest and not self.is_named(path) and not self._is_pinned(path)

    def sort(self, paths: Iterable[str], links_out: Collection[str] = ()) -> Claimed:
        """`links_out` are links that lead out of the tree: no work, wherever they lie."""
        kept: list[str] = []
        aside: list[str] = []
        for path in paths:
            (kept if self.covers(path) and path not in links_out else aside).append(path)
        merged = tuple(path for path in kept if self.is_merged(path))
        return Claimed(kept=tuple(kept), merged=merged, set_aside=tuple(aside))

    def overlay(self, changed: Collection[str]) -> Overlay:
        """`changed` are the paths in which a commit differs from the ground."""
        outside = tuple(path for path in changed if not self.covers(path))
        new = [path for path in changed if path not in self._ground and self.covers(path)]
        if not self._has_tests:
            return Overlay(outside=outside)  # the first tests of a project can only be new ones
        agreed = {*self._named, *named_files(self._base_case, frozenset(new))}
        packages = {posixpath.dirname(p) for p in (*self._ground, *changed) if is_package(p)}
        standard = sys.stdlib_module_names
        later = tuple(
            path
            for path in new
            if path not in agreed and (decides(path) or shadows(path, packages, standard))
        )
        return Overlay(outside=outside, later=later)

    @property
    def fixed(self) -> tuple[str, ...]:
        """The files that stay as they were while a check runs: pins, tests, configuration."""
        return tuple(
            path
            for path in sorted(self._ground)
            if path in self._pins or (decides(path) and not self.covers(path))
        )

    def merge(self, path: str, ground: bytes, new: bytes) -> bytes:
        """A manifest: what steers tools from the ground, the rest from the worker."""
        may_begin = not may_hide_settings(path, self._ground)
        return lay_over(posixpath.basename(path), ground, new, may_begin=may_begin)

    def pinned(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Those that stay as they are because they decide, or because the plan protects them."""
        return tuple(path for path in paths if self._is_pinned(path))

    def _is_pinned(self, path: str) -> bool:
        return path in self._pins or self._is_protected(path)

    def _is_protected(self, path: str) -> bool:
        return self._protected.covers(path) and not self._unprotected.covers(path)


# --- the guard of a tree -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideWorkPaths:
    """What agents of a tree may not change: all that `ToolSteering` is asked, by work paths."""

    paths: WorkPaths
    allowed: Places
    """The deliverables of the guard: work, wherever they lie."""
    lines: tuple[str, ...]
    """Commands whose recipes have not been followed yet."""
    files: frozenset[str] = frozenset()
    """Manifests of the ground; recipe files and scripts that the guard leads to."""
    reach: Reach = field(default_factory=Reach)
    listed: tuple[str, ...] = ()
    """Where agents may change files, as the settings name it."""
    by_work_paths: bool = True
    is_empty: bool = False

    def steers(self, path: str, exists: Exists = lambda _: True, *, products: bool = True) -> bool:
        """No change of it reaches the branch; what is in `.runner/` has rules of its own."""
        del exists
        if is_of_the_runner(path) or self.is_wanted(path):
            return False
        is_recipe = path in self.files or self.reach.steers(path, products=products)
        return (is_recipe and not self.paths.is_merged(path)) or not self.paths.covers(path)

    def is_mixed(self, path: str) -> bool:
        """Only a part of a change of it reaches the branch."""
        covered = self.paths.is_merged(path) and self.paths.covers(path)
        return covered and not self.is_wanted(path)

    def merge(self, path: str, old: bytes | None, new: bytes) -> bytes | None:
        """The new manifest with the old part that steers; None if there may be no file."""
        return self.paths.merge(path, old or b"", new) or old

    async def follow_recipes(self, content: Content, files: Collection[str]) -> OutsideWorkPaths:
        """With the files behind `make test` and its like, as they are before an agent works."""
        reach = await reach_of(self.lines, content, files)
        return replace(self, files=self.files | reach.files, reach=reach, lines=())

    def is_wanted(self, path: str) -> bool:
        """The settings name it by its path, or as a deliverable."""
        return self.paths.is_named(path) or self.allowed.covers(path)


def is_of_the_runner(path: str) -> bool:
    return path == _RUNNER or path.startswith(f"{_RUNNER}/")


def outside_work_paths(
    command: Sequence[str],
    work_paths: Sequence[str],
    deliverables: Sequence[str],
    ground: tuple[str, Sequence[str]],
) -> OutsideWorkPaths:
    """`ground` is the commit where the run began, and all files in it."""
    commit, files = ground
    line = line_of(command)
    check = Check(type=CheckType.COMMAND, value=line)
    objective = Objective(
        goal="",
        base_case=BaseCase(check=check),
        background_intent="",
        deliverables="",
        definition_of_done="",
        protected_paths=tuple(f"!{path}" for path in deliverables),
        work_paths=tuple(work_paths),
    )
    aligned = Aligned(commit=commit, pins=pins_of(objective, files))
    return OutsideWorkPaths(
        paths=WorkPaths(objective, aligned, files),
        allowed=Places(deliverables),
        lines=(line,),
        files=frozenset(path for path in files if posixpath.basename(path) in MANIFESTS),
        listed=(*work_paths, *deliverables),
    )


def fixed_files(plan: Plan, paths: WorkPaths | None) -> tuple[str, ...]:
    """What decides in a checkout of this plan; without work paths, its pins."""
    if paths is not None:
        return paths.fixed
    return plan.control.aligned.pins if plan.control.aligned else ()


def proposed_work_paths(plan: Plan, ground: Collection[str]) -> tuple[str, ...]:
    """A list for a person to accept: where the project has its sources, and what the plan names."""
    found = [*usual_areas(ground), *_named_by(plan, frozenset(ground))]
    return tuple(dict.fromkeys(found))


def _named_by(plan: Plan, ground: Collection[str]) -> Iterator[str]:
    objective = plan.objective
    for atom in plan.atoms.values():
        yield from atom.touches
    for _, _, check in checks(items(objective.base_case)):
        if check.type is CheckType.FILE and check.value:
            yield posixpath.normpath(check.value.strip())
        elif check.type in COMMANDS and check.value:
            # A file that the command needs and that does not exist: an agent has to write it.
            for word in words(check.value):
                path = word.partition("::")[0]
                if _looks_like_file(path) and path not in ground:
                    yield path
    for word in objective.deliverables.split():
        path = word.strip(_PUNCTUATION)
        if path in ground or _looks_like_file(path):
            yield path


def _looks_like_file(word: str) -> bool:
    """A relative path with a folder and a suffix, such as src/a.py; no sentence has one."""
    folder, name = posixpath.split(word)
    is_path = bool(folder) and posixpath.splitext(name)[1] != "" and "." not in folder[:1]
    return is_path and not set(word) & set("<>|&;$`*?\"'=:@~") and posixpath.normpath(word) == word
