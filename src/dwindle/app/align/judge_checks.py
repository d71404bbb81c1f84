"""Judge the checks that `align` was given: can each of them tell work that is done from none?

The base case has run once, before any work. A check that is red because a test fails is right. One
that is red because its command, its test file or its script is not there says nothing: the run
would work towards it in vain, or an agent would write the file that decides. So the user gets to
see the end of its output and the cure, and has to say that it is wanted: by an option, or by naming
the file as a deliverable.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from dwindle.adapters.git.in_place.run_branch import ignored_in
from dwindle.adapters.git.repository import GitGround
from dwindle.app.environments import (
    Provision,
    detected_toolchains,
    provision_for,
    provision_of_missed,
)
from dwindle.app.open_run.shared import Site
from dwindle.kernel.base_case import COMMANDS, Verdict
from dwindle.kernel.model import CheckType, Objective, Problem
from dwindle.ports.checks import CheckResult
from dwindle.runner.alignment import Alignment
from dwindle.runner.gate.deciding_files import is_delivered, paths_of
from dwindle.runner.gate.steering import delivered_paths
from dwindle.runner.gate.verification import CheckFinding
from dwindle.text.terminal import one_line
from dwindle.toolchains.environments import Missed, missed_in
from dwindle.toolchains.named_paths import NamedPath

TAIL = 6
"""Lines of the output that are shown."""
NO_PROGRAM = (126, 127)
BY_AGENTS = (
    "if agents are to write {path}, name it in the deliverables (with `dwindle go`: in the goal);"
    " or add --cannot-run-yet-ok, and confirm it in the end"
)
UNCOMMITTED = "git add {path} && git commit -m 'Add {name}'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """A check that cannot tell, why, and what to do."""

    item: str
    whats: tuple[str, ...]
    tail: tuple[str, ...] = ()
    """The end of what it printed."""
    cures: tuple[str, ...] = ()

    @property
    def warning(self) -> Problem:
        """For a plan that is accepted all the same."""
        what = f"{self.item}: {'; '.join(self.whats)}"
        hint = "what agents write to decide it, you confirm in the end; a deliverable is not asked"
        return Problem(where=("objective", "base_case"), what=what, hint=hint, warning=True)

    def lines(self) -> Iterator[str]:
        yield f"{one_line(self.item)}: {'; '.join(map(one_line, self.whats))}"
        yield from (f"    | {one_line(line)}" for line in self.tail)
        yield from (f"    cure: {one_line(cure)}" for cure in self.cures)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChecks:
    """All checks of a base case."""

    objections: tuple[Objection, ...] = ()
    provision: Provision | None = None
    """Settings that would cure some of it."""

    def lines(self) -> list[str]:
        found = [line for one in self.objections for line in one.lines()]
        if self.provision is not None:
            found += [f"{self.provision.why}; for .runner/config.toml:"]
            found += [f"    {line}" for line in self.provision.lines]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What the repository has, in the commit and besides."""

    commit: frozenset[str]
    index: frozenset[str]
    untracked: frozenset[str]
    ignored: tuple[str, ...]
    """Without slashes at their ends."""
    shared: tuple[str, ...]

    def ignores(self, path: str) -> bool:
        return any(path == one or path.startswith(f"{one}/") for one in self.ignored)

    def shares(self, path: str) -> bool:
        return any(path == one or path.startswith(f"{one}/") for one in self.shared)


async def judge_checks(ready: Alignment, site: Site) -> JudgedChecks:
    """What speaks against the checks of an alignment; nothing, if each of them can tell."""
    aligned = ready.plan.control.aligned
    assert aligned is not None  # noqa: S101 - alignment has seen to it
    repository, workspace = site.repository, site.settings.workspace
    ignored = tuple(path.rstrip("/") for path in await ignored_in(repository.git))
    ground = _Ground(
        commit=frozenset(await repository.files(aligned.commit)),
        index=frozenset((await repository.git.tell("ls-files", "-z")).lines),
        untracked=frozenset(await GitGround(repository).untracked()),
        ignored=ignored,
        shared=tuple(path.strip("/") for path in workspace.share),
    )
    objections: list[Objection] = []
    missed: list[Missed] = []
    for finding in ready.seen.findings:
        found = _missed(finding.result)
        lacks = provision_of_missed(found, site.root, ignored, workspace)
        objection = _objection(finding, ready.plan.objective, ground, lacks)
        if objection is not None:
            objections.append(objection)
            missed += found
    lacks = provision_of_missed(missed, site.root, ignored, workspace)
    provision = None
    for toolchain in detected_toolchains(site.root, ground.commit) if objections else ():
        needed = provision_for(toolchain, site.root, ignored, workspace)
        if needed is not None and (missed or any(f in lacks for f in toolchain.folders)):
            provision = provision or needed
    if provision is None and lacks:
        why = f"git ignores {', '.join(lacks)}, and a fresh checkout has none of it"
        provision = Provision(why=why, share=(*workspace.share, *lacks))
    return JudgedChecks(objections=tuple(objections), provision=provision)


def _missed(result: CheckResult) -> tuple[Missed, ...]:
    """What a command did not find, by its output; what the shell says with 127 included."""
    if result.check.type not in COMMANDS or result.verdict is Verdict.PASSED:
        return ()
    named = (path.path for path in paths_of(result.check) if path.decides)
    programs = [Missed(line="", program=path) for path in named]
    return (*missed_in(_output(result)), *(programs if result.exit_code in NO_PROGRAM else ()))


def _objection(
    finding: CheckFinding, objective: Objective, ground: _Ground, lacks: Sequence[str]
) -> Objection | None:
    result = finding.result
    if result.verdict is Verdict.NOT_JUDGED:
        return None
    if result.check.type not in COMMANDS:
        is_stuck = result.verdict is Verdict.COULD_NOT_RUN
        return Objection(item=finding.item, whats=(_sentence(result),)) if is_stuck else None
    if result.verdict is Verdict.PASSED and result.check.type is not CheckType.NOT_COMMAND:
        return None
    trouble = _trouble(result, lacks)
    absent = [n for n in paths_of(result.check) if _is_absent(n, ground, is_stuck=bool(trouble))]
    if absent and all(is_delivered(objective, named) for named in absent):
        if result.exit_code not in NO_PROGRAM or _names_one_of(result, absent):
            return None
        absent = []
    if not absent and (not trouble or _asks_about_deliverable(result, objective, ground)):
        return None
    whats = [what for named in absent for what in _what(named, ground)] or [trouble]
    cures = [cure for named in absent for cure in _cures(named, ground)]
    if not absent and not lacks:
        cures.append("correct the command; or, if the work makes it run, add --cannot-run-yet-ok")
    return Objection(
        item=finding.item,
        whats=tuple(dict.fromkeys(whats)),
        tail=tuple(line for line in _output(result).splitlines() if line.strip())[-TAIL:],
        cures=tuple(dict.fromkeys(cures)),
    )


def _trouble(result: CheckResult, lacks: Sequence[str]) -> str:
    """Why the red of a check is none; empty if a test failed."""
    if result.verdict is Verdict.COULD_NOT_RUN:
        return _sentence(result)
    if result.tests == 0:
        return f"no test ran: {_sentence(result)}"
    found = missed_in(_output(result))
    if lacks and found:
        return f"{', '.join(lacks)} is not in a fresh checkout: {found[-1].line}"
    files = [one for one in found if not one.module]
    if result.tests or not files:
        return ""
    return f"something was not found, and no test has failed: {files[-1].line}"


def _is_absent(named: NamedPath, ground: _Ground, *, is_stuck: bool) -> bool:
    """Does the commit lack what the answer depends on?"""
    if named.is_in(ground.commit) or ground.shares(named.path):
        return False
    if named.is_in(ground.untracked) or (named.path in ground.index):
        return True
    if ground.ignores(named.path):
        return is_stuck and named.decides  # what a build makes is ignored as well
    has_near = bool(_near(named.path, ground.commit))
    return named.decides or (is_stuck and has_near and "." in posixpath.basename(named.path))


def _what(named: NamedPath, ground: _Ground) -> Iterator[str]:
    path = named.path
    if named.is_in(ground.untracked):
        yield f"{path} is not committed (git does not track it), so that no run sees it"
    elif path in ground.index:
        yield f"{path} is added and not committed, so that no run sees it"
    elif ground.ignores(path):
        yield f"git ignores {path}, so that no fresh checkout has it"
    else:
        yield f"{path} is not in the commit"


def _cures(named: NamedPath, ground: _Ground) -> Iterator[str]:
    path, name = named.path, posixpath.basename(named.path)
    if named.is_in(ground.untracked) or path in ground.index:
        yield UNCOMMITTED.format(path=path, name=name)
        return
    if ground.ignores(path):
        yield f"[workspace] share or setup in .runner/config.toml, or commit it: git add -f {path}"
        return
    if near := _near(path, ground.commit):
        yield f"did you mean {near}?"
    if named.decides:
        yield f"write {path} and commit it"
        yield BY_AGENTS.format(path=path)


def _near(path: str, files: Collection[str]) -> str:
    """A file that may have been meant: the same name elsewhere, or nearly the same path."""
    name = posixpath.basename(path)
    same = [file for file in sorted(files) if posixpath.basename(file) == name]
    return next(iter(same or difflib.get_close_matches(path, sorted(files), n=1, cutoff=0.8)), "")


def _asks_about_deliverable(result: CheckResult, objective: Objective, ground: _Ground) -> bool:
    """Did it only miss a file that the work makes, as `grep -q done report.md` does?"""
    lacking = [path for path in delivered_paths(objective) if path not in ground.commit]
    names = (rf"(?<![\w./-]){re.escape(path)}(?![\w/-])" for path in lacking)
    said = _output(result)
    return result.exit_code not in NO_PROGRAM and any(re.search(name, said) for name in names)


def _names_one_of(result: CheckResult, absent: Sequence[NamedPath]) -> bool:
    said = _output(result)
    return any(place in said for named in absent for place in (named.path, *named.others))


def _sentence(result: CheckResult) -> str:
    return result.evidence.partition("\n")[0]


def _output(result: CheckResult) -> str:
    return result.evidence.partition("\n")[2]
