"""What a run changed, for the person who reviews it before it lands.

Compared are the commit where the run began (of a graph: the commit of alignment) and the end of its
branch; after landing and cleaning up, what `land` recorded. Nothing is written and no lock is
taken, so a run that goes on can be looked at too. Every value is JSON as it is, and every text is
escaped: a terminal or a page can show it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

from dwindle.adapters.formats.tree.plan import decode, to_plan
from dwindle.adapters.git.attempts import REST
from dwindle.adapters.git.command import Git
from dwindle.adapters.git.commit_message import attempt_ref, branch_of
from dwindle.adapters.git.difference import (
    Became,
    ChangedFile,
    changed_by,
    changed_files,
    file_contents,
    patch,
)
from dwindle.adapters.git.landing import landed_ref
from dwindle.adapters.git.merge import Commit, commits_between
from dwindle.adapters.git.repository import Repository, find
from dwindle.adapters.store.disk import RealDisk
from dwindle.adapters.store.journal import read_journal
from dwindle.app.errors import WorkspaceFailed
from dwindle.app.paths import JOURNALS, PLAN_FILE, TREE_FILE, start_of
from dwindle.app.plans.load import load_graph
from dwindle.app.refusal import Refused, refused_by
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    Event,
    IterationCommitted,
    RunStarted,
    SessionStarted,
)
from dwindle.kernel.model import Plan
from dwindle.kernel.shape import shape_of
from dwindle.ports.iteration import Iteration
from dwindle.runner.gate.evidence import PROTECTED, STEERING
from dwindle.runner.modes.tree.guard_files import OUTSIDE, RESTORED
from dwindle.text.escape import escape, excerpt
from dwindle.text.terminal import listed, one_line
from dwindle.toolchains.test_files import is_configuration, is_test
from dwindle.toolchains.test_names import LARGEST, test_names

MOST: Final = 16 << 20
"""Bytes of a patch that are handed out."""
NOT_OF_THE_RUN: Final = ""
"""The atom of commits that a person put on the branch."""
_TITLE: Final = 300
_WHY: Final = 600


class FileChange(TypedDict):
    path: str
    became: str
    """added, changed or removed; a renamed file is removed and added."""
    kind: str
    """test, configuration, plan or other, by its name."""
    added: int | None
    """Lines; None for a binary file."""
    removed: int | None


class AtomChange(TypedDict):
    atom: str
    """Of a tree: the node. Empty: commits that no session made."""
    title: str
    commits: list[str]
    """Oldest first."""
    files: list[FileChange]
    """The sum over its commits; other atoms may have changed the same files."""
    added: int
    removed: int


class NamedTest(TypedDict):
    path: str
    name: str
    """As the file spells it: `TestTill::test_sum`."""


class HeldFast(TypedDict):
    """What a session changed and the gate did not let through."""

    atom: str
    session: int
    """Its number; of a tree: that of the iteration."""
    paths: list[str]
    """Empty where the reason names them."""
    why: str
    ref: str
    """Where git keeps what the session had made; empty if the reason says it."""


class Changes(TypedDict):
    run: str
    base: str
    """The commit that the run began at."""
    tip: str
    """The last commit of the run."""
    files: list[FileChange]
    """From base to tip, in the order of their paths."""
    added: int
    removed: int
    atoms: list[AtomChange]
    """In the order of their first commits."""
    tests_added: list[NamedTest]
    """By name, in files that tell (Python, JavaScript, Rust, Go)."""
    tests_removed: list[NamedTest]
    held: list[HeldFast]
    pins: list[str]
    """Files that no session of the run may change."""


class Patch(TypedDict):
    text: str
    """As git writes it, escaped."""
    is_cut: bool
    """There is more of it."""


def changes_of(start: Path, run: str, *, atom: str | None = None) -> Changes:
    """All that is to be reviewed, but for the lines themselves. Raises Refused.

    Of an atom, and of what it was split into: the sum over its commits.
    """
    try:
        return asyncio.run(_changes(start, run, atom))
    except WorkspaceFailed as error:
        raise refused_by(error) from None


def patch_of(
    start: Path, run: str, *, atom: str | None = None, path: str | None = None, most: int = MOST
) -> Patch:
    """The lines: of the whole run, of an atom and what it was split into, of one file."""
    try:
        return asyncio.run(_patch(start, run, atom, path, most))
    except WorkspaceFailed as error:
        raise refused_by(error) from None


# --- the run -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reviewed:
    """A run as git and the journal have it."""

    repository: Repository
    run: str
    events: tuple[Event, ...]
    base: str
    tip: str
    pins: tuple[str, ...]
    plan: Plan | None
    commits: tuple[Commit, ...]

    @property
    def title_of(self) -> Mapping[str, str]:
        return {} if self.plan is None else {a: d.description for a, d in self.plan.atoms.items()}


async def _reviewed(start: Path, run: str) -> _Reviewed:
    repository = await find(start)
    root = repository.checkout
    events = tuple(read_journal(RealDisk(), root / JOURNALS, run).events(0))
    begun = next((e.aligned for e in events if isinstance(e, RunStarted) and e.aligned), None)
    tip = await _tip(repository, run, events)
    if begun is None or tip is None:
        what = f"nothing of run {one_line(run)} is on a branch"
        raise Refused(what, hint="`dwindle run` does the work; `dwindle log` lists what happened")
    return _Reviewed(
        repository=repository,
        run=run,
        events=events,
        base=begun.commit,
        tip=tip,
        pins=begun.pins,
        plan=await _plan(repository, run, tip),
        commits=await commits_between(repository.git, begun.commit, tip),
    )


async def _tip(repository: Repository, run: str, events: Sequence[Event]) -> str | None:
    """The end of its branch; where that is gone, what was landed, or the last iteration."""
    done = [event.commit for event in events if isinstance(event, IterationCommitted)]
    for name in (branch_of(run), f"{landed_ref(run)}^1", *done[-1:]):
        said = await repository.git.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if said.code == 0:
            return said.text
    return None


async def _plan(repository: Repository, run: str, tip: str) -> Plan | None:
    """For names only: the plan as it is, as the branch has it, or as the run began with it."""
    root = repository.checkout
    for path in (root / PLAN_FILE, start_of(root / JOURNALS, run)):
        if path.is_file():
            plan = load_graph(path.read_bytes()).plan
            if plan is not None and (path.name.startswith(run) or plan.control.run_id == run):
                return plan
    found = await file_contents(repository.git, tip, (TREE_FILE,), LARGEST)
    tree = decode(found[TREE_FILE]).tree if TREE_FILE in found else None
    return None if tree is None else to_plan(tree)


def _atom_of(commit: Commit, run: str) -> str:
    iteration = Iteration.of(commit.text.partition("\n")[0])
    if iteration is not None:
        return iteration.node if iteration.run == run else NOT_OF_THE_RUN
    return commit.atom or NOT_OF_THE_RUN


def _by_atom(commits: Sequence[Commit], run: str) -> dict[str, list[Commit]]:
    found: dict[str, list[Commit]] = {}
    for commit in commits:
        found.setdefault(_atom_of(commit, run), []).append(commit)
    return found


# --- what changed --------------------------------------------------------------------------------


async def _changes(start: Path, run: str, only: str | None) -> Changes:
    found = await _reviewed(start, run)
    git, commits = found.repository.git, found.commits
    if only is not None:
        commits = _commits_of(found, only)
    each = await changed_by(git, [commit.id for commit in commits])
    atoms = {
        atom: _summed(one for commit in some for one in each[commit.id])
        for atom, some in _by_atom(commits, run).items()
    }
    if only is None:
        files = list(await changed_files(git, found.base, found.tip))
        added, removed = await _tests(git, [(found.base, found.tip)], files)
    else:
        files = _summed(one for commit in commits for one in each[commit.id])
        pairs = [(commit.parent, commit.id) for commit in commits]
        added, removed = await _tests(git, pairs, files)
    return Changes(
        run=escape(run),
        base=found.base,
        tip=found.tip,
        files=[_file(one) for one in files],
        added=_lines(one.added for one in files),
        removed=_lines(one.removed for one in files),
        atoms=[
            AtomChange(
                atom=escape(atom),
                title=excerpt(found.title_of.get(atom, ""), _TITLE),
                commits=[one.id for one in _by_atom(commits, run)[atom]],
                files=[_file(one) for one in changed],
                added=_lines(one.added for one in changed),
                removed=_lines(one.removed for one in changed),
            )
            for atom, changed in atoms.items()
        ],
        tests_added=added,
        tests_removed=removed,
        held=[one for one in await _held(found) if only is None or one["atom"] in atoms],
        pins=[escape(path) for path in found.pins],
    )


def _file(one: ChangedFile) -> FileChange:
    return FileChange(
        path=escape(one.path),
        became=one.became,
        kind=_kind(one.path),
        added=one.added,
        removed=one.removed,
    )


def _kind(path: str) -> str:
    if path.startswith(".runner/"):
        return "plan"
    return "test" if is_test(path) else "configuration" if is_configuration(path) else "other"


def _lines(counts: Iterable[int | None]) -> int:
    return sum(count or 0 for count in counts)


def _summed(each: Iterable[ChangedFile]) -> list[ChangedFile]:
    """One entry for each path: what several commits did to it, one after another."""
    found: dict[str, ChangedFile] = {}
    for one in each:
        before = found.pop(one.path, None)
        if before is None:
            found[one.path] = one
        elif not (before.became is Became.ADDED and one.became is Became.REMOVED):
            is_new = before.became is Became.ADDED
            found[one.path] = ChangedFile(
                path=one.path,
                became=Became.ADDED if is_new else one.became,
                added=_sum(before.added, one.added),
                removed=_sum(before.removed, one.removed),
            )
    return sorted(found.values(), key=lambda one: one.path)


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


async def _tests(
    git: Git, pairs: Sequence[tuple[str, str]], files: Sequence[ChangedFile]
) -> tuple[list[NamedTest], list[NamedTest]]:
    """The names that came and those that went, from the first commit of each pair to the other."""
    paths = [one.path for one in files]
    came: set[tuple[str, str]] = set()
    went: set[tuple[str, str]] = set()
    for first, second in pairs:
        before, after = await _names(git, first, paths), await _names(git, second, paths)
        new, gone = after - before, before - after
        came, went = (came - gone) | (new - went), (went - new) | (gone - came)
    return _named(came), _named(went)


async def _names(git: Git, commit: str, paths: Sequence[str]) -> set[tuple[str, str]]:
    found = await file_contents(git, commit, paths, LARGEST)
    return {(path, name) for path, text in found.items() for name in test_names(path, text)}


def _named(tests: Iterable[tuple[str, str]]) -> list[NamedTest]:
    return [NamedTest(path=escape(path), name=escape(name)) for path, name in sorted(tests)]


# --- what the gate did not let through -----------------------------------------------------------


async def _held(found: _Reviewed) -> list[HeldFast]:
    refs, held, number = await found.repository.refs(), [], 0
    numbers: dict[str, int] = {}
    for event in found.events:
        if isinstance(event, SessionStarted):
            number += 1
            numbers[event.atom] = number
        elif isinstance(event, AtomResolved | AttemptFailed):
            session = numbers.get(event.atom, 0)
            why = _why(event)
            if why:
                ref = attempt_ref(found.run, event.atom, session)
                ref += REST if isinstance(event, AtomResolved) else ""
                held.append(
                    HeldFast(
                        atom=escape(event.atom),
                        session=session,
                        paths=[escape(path) for path in event.set_aside],
                        why=excerpt(why, _WHY),
                        ref=ref if ref in refs else "",
                    )
                )
        elif isinstance(event, IterationCommitted):
            iteration = Iteration.of(event.subject)
            held += [
                HeldFast(
                    atom=escape(iteration.node if iteration else ""),
                    session=event.number,
                    paths=[],
                    why=excerpt(note, _WHY),
                    ref="",
                )
                for note in event.notes
                if note.startswith((RESTORED, OUTSIDE))
            ]
    return held


def _why(event: AtomResolved | AttemptFailed) -> str:
    if event.set_aside:
        return "outside of the work paths: set aside, and judged without it"
    reason = event.reason if isinstance(event, AttemptFailed) else ""
    return reason.partition("\n")[0] if reason.startswith((PROTECTED, STEERING)) else ""


# --- the lines -----------------------------------------------------------------------------------


async def _patch(start: Path, run: str, atom: str | None, path: str | None, most: int) -> Patch:
    found = await _reviewed(start, run)
    git, paths = found.repository.git, () if path is None else (path,)
    if atom is None:
        text = await patch(git, found.base, found.tip, most + 1, paths)
    else:
        parts = [
            await patch(git, commit.parent, commit.id, most + 1, paths)
            for commit in _commits_of(found, atom)
        ]
        text = b"".join(parts)
    return Patch(text=escape(text[:most].decode("utf-8", "replace")), is_cut=len(text) > most)


def _commits_of(found: _Reviewed, atom: str) -> tuple[Commit, ...]:
    wanted = [atom]
    if found.plan is not None:
        below = shape_of(found.plan).kids
        for one in wanted:
            wanted += below.get(one, ())
    of_run = found.commits
    commits = tuple(commit for commit in of_run if _atom_of(commit, found.run) in wanted)
    if not commits:
        known = listed(name for name in _by_atom(found.commits, found.run) if name)
        is_atom = found.plan is not None and atom in found.plan.atoms
        what = f"{atom} has no commit on the branch" if is_atom else f"there is no atom {atom}"
        raise Refused(one_line(what), hint=f"there are commits of: {known}")
    return commits
