"""What a branch says about the run of a tree, for whoever only asks.

The runner reads the same through the workspaces, with an event loop and a lock. Asking has to be
quick and needs neither; so git is asked here directly, and a test holds the two to the same answer.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dwindle.ports.in_place import Done, History
from dwindle.ports.iteration import Iteration
from dwindle.surfaces.committed import ask_git
from dwindle.surfaces.refusal import Refused

TREE_FILE: Final = ".runner/tree.json"
CONFIG_FILE: Final = ".runner/config.toml"
RUN_ID: Final = re.compile(r"[0-9A-Z]{1,64}")
HEADS: Final = "refs/heads/"
RUNNER: Final = f"{HEADS}runner/"
GUARDED: Final = ("main", "master")
"""Nobody's run stays on one of these."""
LOOK_BACK: Final = 2_000
"""Commits of other people after which no iteration is expected any more."""
PORTION: Final = 200
LOG: Final = ("-c", "log.showSignature=false", "log", "--first-parent", "-z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch that a run is on."""

    run: str
    ref: str
    tip: str

    @property
    def name(self) -> str:
        return self.ref.removeprefix(HEADS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A commit on the branch, and the one before it."""

    commit: str
    parent: str
    subject: str

    def iteration(self, run: str) -> Iteration | None:
        found = Iteration.of(self.subject)
        return found if found is not None and found.run == run else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Everything since the run began, oldest first."""

    run: str
    start: str
    """The commit that the run began at; empty if there is none before its first."""
    steps: tuple[Step, ...]
    trees: Mapping[str, bytes]
    """The tree file by commit, the start's included; none where there is no such file."""

    @property
    def done(self) -> tuple[Done, ...]:
        found = ((step.iteration(self.run), step.commit) for step in self.steps)
        return tuple(Done(iteration=one, commit=commit) for one, commit in found if one)

    @property
    def history(self) -> History:
        return History(done=self.done, trees=tuple(dict.fromkeys(self.trees.values())))


def branch_here(root: Path) -> Branch | None:
    """The run that the checkout is at: on a branch of its own, or on one that it stays on."""
    ref = _said(root, "symbolic-ref", "--quiet", "HEAD")
    if ref.startswith(RUNNER):
        return _branch(root, ref.removeprefix(RUNNER), ref)
    if not ref or ref.removeprefix(HEADS) in GUARDED:
        return None
    words = (*LOG, f"-{LOOK_BACK}", "--format=%s", "HEAD", "--")
    subjects = ask_git(root, *words).stdout.decode(errors="replace").split("\0")
    last = next((found for one in subjects if (found := Iteration.of(one))), None)
    # A branch can also have the iterations of a run because they were landed on it.
    if last is None or not _is_journalled(root, last.run) or _branch_of(root, last.run):
        return None
    return _branch(root, last.run, ref)


def branch_of(root: Path, run: str) -> Branch | None:
    """Where a run is, if its branch is still there or the checkout is at it."""
    here = branch_here(root)
    return here if here is not None and here.run == run else _branch_of(root, run)


def told(root: Path, branch: Branch) -> Told:
    """Read the branch."""
    steps, start = _steps(root, branch.run, branch.tip)
    commits = [*([start] if start else []), *(step.commit for step in steps)]
    return Told(
        run=branch.run,
        start=start,
        steps=steps,
        trees=contents(root, TREE_FILE, commits),
    )


def contents(root: Path, path: str, commits: Iterable[str]) -> dict[str, bytes]:
    """What a file held in these commits; those that do not have it are left out."""
    asked = list(commits)
    names = "".join(f"{commit}:{path}\n" for commit in asked).encode()
    check = "--batch-check=%(objectname) %(objecttype)"
    lines = _answer(root, "cat-file", check, given=names).decode(errors="replace").splitlines()
    at = {c: line.split()[0] for c, line in zip(asked, lines, strict=True) if _is_blob(line)}
    blobs = list(dict.fromkeys(at.values()))
    if not blobs:
        return {}
    given = "".join(f"{blob}\n" for blob in blobs).encode()
    texts = dict(
        zip(
            blobs,
            _pieces(_answer(root, "cat-file", "--batch=%(objectsize)", given=given)),
            strict=True,
        )
    )
    return {commit: texts[blob] for commit, blob in at.items()}


def _pieces(out: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        size = int(out[at:end])
        yield out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _is_blob(line: str) -> bool:
    return line.endswith(" blob")


def _steps(root: Path, run: str, tip: str) -> tuple[tuple[Step, ...], str]:
    """What is on the branch since the run began, oldest first; and the commit before that."""
    found: list[Step] = []
    last, at, portion = 0, tip, PORTION
    while at and len(found) - last < LOOK_BACK:
        words = (*LOG, f"-{portion}", "--format=%H %P%n%s", at, "--")
        for record in _answer(root, *words).decode(errors="replace").split("\0"):
            ids, _, subject = record.partition("\n")
            commit, _, parents = ids.partition(" ")
            if not commit:
                continue
            at = parents.partition(" ")[0]
            found.append(Step(commit=commit, parent=at, subject=subject))
            iteration = found[-1].iteration(run)
            if iteration is not None:
                last = len(found)
                if iteration.number == 1:
                    return tuple(reversed(found)), at
        portion = min(portion * 10, 20_000)
    if not last:
        return (), tip
    return tuple(reversed(found[:last])), found[last - 1].parent


# --- git -----------------------------------------------------------------------------------------


def _branch(root: Path, run: str, ref: str) -> Branch | None:
    if not RUN_ID.fullmatch(run):
        return None
    tip = _said(root, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
    return Branch(run=run, ref=ref, tip=tip) if tip else None


def _branch_of(root: Path, run: str) -> Branch | None:
    return _branch(root, run, f"{RUNNER}{run}")


def _is_journalled(root: Path, run: str) -> bool:
    return os.path.lexists(root / ".runner" / "journal" / f"{run}.jsonl")


def _said(root: Path, *words: str) -> str:
    """The answer, or nothing where git says no."""
    ended = ask_git(root, *words)
    return "" if ended.returncode else ended.stdout.decode(errors="replace").strip()


def _answer(root: Path, *words: str, given: bytes = b"") -> bytes:
    ended = ask_git(root, *words, given=given)
    if ended.returncode:
        said = ended.stderr.decode(errors="replace").strip() or f"exit code {ended.returncode}"
        raise Refused(f"git {words[0]} failed: {said}", where=str(root), hint="try `git fsck`")
    return ended.stdout
