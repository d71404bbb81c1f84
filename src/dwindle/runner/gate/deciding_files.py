"""Files that decide a check of the base case and that the commit of alignment does not have.

A test or a script that an agent writes decides what the agent wants it to decide. So alignment asks
about a check that names a file which is not there, and where a file like that was written in the
run, the certificate says so and a person has to confirm it. A file that the plan names as a
deliverable was asked for: it needs no second word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dwindle.kernel.base_case import COMMANDS, checks, items
from dwindle.kernel.model import BaseCase, Check, Objective
from dwindle.runner.gate.path_patterns import split
from dwindle.runner.gate.steering import delivered_paths
from dwindle.toolchains.named_paths import NamedPath, named_paths
from dwindle.toolchains.test_files import decides

SCRIPTS = (".sh", ".bash", ".zsh", ".bats", ".ps1")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenJudge:
    """A path that decides, that was not there at alignment and that agents wrote."""

    path: str
    is_delivered: bool
    """The plan names it as a deliverable, or runs a tool that reads it, where there was none."""

    @property
    def question(self) -> str:
        return question_about(self.path)


def question_about(path: str) -> str:
    """What a person has to confirm about a file that decides and that an agent wrote."""
    return f"{path} decides, and an agent wrote it: it checks what was agreed"


def paths_of(check: Check) -> tuple[NamedPath, ...]:
    """The paths that a check names, in its command and in its control."""
    lines = [check.value or ""] if check.type in COMMANDS else []
    lines += [check.control] if check.control else []
    return tuple(named for line in lines for named in named_paths(line))


def written_judges(
    objective: Objective, ground: Collection[str], changed: Collection[str]
) -> tuple[WrittenJudge, ...]:
    """`ground` are the files at alignment, `changed` those in which a commit differs from it."""
    found: dict[str, WrittenJudge] = {}
    for named in _deciding(objective.base_case):
        if named.is_in(ground):
            continue
        files = tuple(path for path in named.found_in(changed) if path not in ground)
        if files:
            delivered = named.is_implied or is_delivered(objective, named, files)
            path = named.path if named.path in files or len(files) > 1 else files[0]
            found.setdefault(path, WrittenJudge(path=path, is_delivered=delivered))
    return tuple(found.values())


def is_delivered(objective: Objective, named: NamedPath, files: Collection[str] = ()) -> bool:
    """Does the plan name it, or every file below it, as a deliverable?"""
    asked = delivered_paths(objective)
    if any(place in asked for place in (named.path, *named.others)):
        return True
    return bool(files) and asked.issuperset(files)


def pinned_work(objective: Objective, pins: Collection[str]) -> tuple[str, ...]:
    """The pins that may be what the work has to change: no test, no script, no configuration.

    A command such as `grep -q X src/a.py` pins the file that it only looks at. A path that the user
    protects by name was meant.
    """
    protected, _ = split(objective.protected_paths)
    judges = {
        place for named in _deciding(objective.base_case) for place in (named.path, *named.others)
    }
    return tuple(
        pin
        for pin in pins
        if pin not in judges
        and not protected.covers(pin)
        and not decides(pin)
        and not pin.endswith(SCRIPTS)
    )


def _deciding(base_case: BaseCase) -> Iterator[NamedPath]:
    for _, _, check in checks(items(base_case)):
        yield from (named for named in paths_of(check) if named.decides)
