"""Parse what a branch says about the run of a tree: its iterations, and its versions of the tree.

A branch leads back to the beginning of the repository, which may be a hundred thousand commits ago.
The commits of a run are at its end, and their numbers begin with 1. So this module reads them in
portions, from the end, until iteration 1 or until `LOOK_BACK` commits had no iteration.

Every reader here is a generator: it yields what it asks git and is sent git's output. So the runner
(with its event loop, through `read_with`) and the commands that only ask (`app/ask_git`, without
asyncio) share the parsing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from dwindle.ports.in_place import Done, History
from dwindle.ports.iteration import TESTS, Iteration
from dwindle.ports.workspace import WorkspaceFailed

if TYPE_CHECKING:
    from dwindle.adapters.git.command import Git

T = TypeVar("T")
TREE_FILE: Final = ".runner/tree.json"
HEADS: Final = "refs/heads/"
RUNNER: Final = f"{HEADS}runner/"
RUN_ID: Final = re.compile(r"[0-9A-Z]{1,64}")
PROTECTED: Final = ("main", "master")
"""Branches that no run commits on."""
LOOK_BACK: Final = 2_000
"""First-parent commits without an iteration after which the reader gives up."""
_PORTION: Final = 200
_LARGEST_PORTION: Final = 20_000
_MAX_DIGITS: Final = 10
_LOG: Final = ("log", "--first-parent", "-z")
_FORMAT: Final = f"--format=%H %P%n%s%n%(trailers:key={TESTS},valueonly,separator=%x2C)"


class GitQuestion(NamedTuple):
    """Arguments of a git command that changes nothing, and its standard input."""

    words: tuple[str, ...]
    stdin: bytes = b""


Reader = Generator[GitQuestion, bytes, T]


async def read_with(git: Git, reader: Reader[T]) -> T:
    """Let git answer all that a reader asks."""
    try:
        question = next(reader)
        while True:
            said = await git.tell(*question.words, given=question.stdin)
            question = reader.send(said.out)
    except StopIteration as end:
        result: T = end.value
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCommit:
    commit: str
    parent: str
    """The first one; empty for the first commit of a repository."""
    subject: str
    tests: int | None
    """The number of tests that the message states."""

    def iteration(self, run: str) -> Iteration | None:
        found = Iteration.of(self.subject)
        return found if found is not None and found.run == run else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchHistory:
    """Everything since the run began, oldest first."""

    run: str
    start: str
    """The commit that the run began at; empty if its first commit has no parent."""
    commits: tuple[BranchCommit, ...]
    trees: Mapping[str, bytes]
    """The tree file by commit, the start included; commits without the file are left out."""

    @property
    def summary(self) -> History:
        found = ((one, one.iteration(self.run)) for one in self.commits)
        return History(
            done=tuple(
                Done(iteration=iteration, commit=one.commit, parent=one.parent, tests=one.tests)
                for one, iteration in found
                if iteration is not None
            ),
            trees=self.trees,
            start=self.start,
        )


def run_of(ref: str) -> str | None:
    """The run that a branch is named after."""
    name = ref.removeprefix(RUNNER)
    return name if ref.startswith(RUNNER) and RUN_ID.fullmatch(name) else None


def last_iteration() -> Reader[Iteration | None]:
    """The last iteration on the branch of HEAD, of any run."""
    out = yield GitQuestion((*_LOG, f"-{LOOK_BACK}", "--format=%s", "HEAD", "--"))
    subjects = out.decode(errors="replace").split("\0")
    return next((found for one in subjects if (found := Iteration.of(one))), None)


def branch_history(run: str, tip: str, since: str | None = None) -> Reader[BranchHistory]:
    """From the first iteration of a run to a commit, or from a commit `since` on."""
    commits, start = yield from _commits(run, tip, since)
    named = [*([start] if start else []), *(one.commit for one in commits)]
    trees = yield from file_contents(TREE_FILE, named)
    return BranchHistory(run=run, start=start, commits=commits, trees=trees)


def file_contents(path: str, commits: Iterable[str]) -> Reader[dict[str, bytes]]:
    """The content of a file by commit; commits without the file are left out."""
    found = yield from contents(f"{commit}:{path}" for commit in commits)
    return {name.partition(":")[0]: content for name, content in found.items()}


def contents(names: Iterable[str], largest: int = sys.maxsize) -> Reader[dict[str, bytes]]:
    """By `COMMIT:PATH`; what is no file there, or a larger one, is left out."""
    asked = list(names)
    stdin = "".join(f"{name}\n" for name in asked).encode("utf-8", "surrogateescape")
    shape = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    out = yield GitQuestion(("cat-file", shape), stdin)
    blob_of = {}
    for name, line in zip(asked, out.decode(errors="replace").splitlines(), strict=True):
        blob, _, facts = line.partition(" ")
        if facts.startswith("blob ") and int(facts.removeprefix("blob ")) <= largest:
            blob_of[name] = blob
    blobs = list(dict.fromkeys(blob_of.values()))
    if not blobs:
        return {}
    stdin = "".join(f"{blob}\n" for blob in blobs).encode()
    out = yield GitQuestion(("cat-file", "--batch=%(objectsize)"), stdin)
    found = dict(zip(blobs, _sized(out), strict=True))
    return {name: found[blob] for name, blob in blob_of.items()}


def _sized(out: bytes) -> Iterator[bytes]:
    """The contents in the output of `cat-file --batch=%(objectsize)`."""
    at = 0
    while at < len(out):
        end = out.index(b"\n", at)
        size = int(out[at:end])
        yield out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1


def _commits(run: str, tip: str, since: str | None) -> Reader[tuple[tuple[BranchCommit, ...], str]]:
    """The commits since the run began, oldest first; and the commit before them."""
    found: list[BranchCommit] = []
    last, at, portion = 0, tip, _PORTION
    while at and (since is not None or len(found) - last < LOOK_BACK):
        out = yield GitQuestion((*_LOG, f"-{portion}", _FORMAT, at, "--"))
        for one in _parsed(out):
            if one.commit == since:
                return tuple(reversed(found)), since
            found.append(one)
            at = one.parent
            iteration = one.iteration(run)
            if iteration is not None:
                last = len(found)
                if iteration.number == 1 and since is None:
                    return tuple(reversed(found)), at
        portion = min(portion * 10, _LARGEST_PORTION)
    if since is not None:
        raise WorkspaceFailed(f"{since} is not on the branch of run {run}")
    if not last:  # no iteration yet: the run begins with the next commit
        return (), tip
    return tuple(reversed(found[:last])), found[last - 1].parent


def _parsed(out: bytes) -> Iterator[BranchCommit]:
    for record in out.decode(errors="replace").split("\0"):
        ids, _, message = record.partition("\n")
        commit, _, parents = ids.partition(" ")
        subject, _, tests = message.partition("\n")
        if commit:
            yield BranchCommit(
                commit=commit,
                parent=parents.partition(" ")[0],
                subject=subject,
                tests=int(tests) if tests.isdecimal() and len(tests) < _MAX_DIGITS else None,
            )
