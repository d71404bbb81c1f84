"""Files that `git status` leaves out: ignored ones, and those that are flagged in the index.

Ignored files are the person's own, often secret ones. An agent may expose them: it takes a line out
of a `.gitignore`, writes one that says otherwise, or adds a file by force. The runner commits no
file that was there and ignored when the iteration began. Git does not list the content of a folder
that is ignored as a whole, so all of it counts, also files that are made in there later.

An agent may add rules, but a list of caches that it rewrote must not lead to the caches being
committed. So its new lines stay, and the old ones come after them and win.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dwindle.adapters.git.command import Git

RULES = ".gitignore"
LISTED = 5
_FLAGGED = re.compile(r"[a-zS] ")
"""How `git ls-files -v` shows them."""
_FLAGS = ("--no-assume-unchanged", "--no-skip-worktree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ignored:
    paths: frozenset[str] = frozenset()
    """As `git status` lists them: a folder ends with a slash."""

    @classmethod
    def of(cls, lines: Iterable[str]) -> Ignored:
        return cls(paths=frozenset(line[3:] for line in lines if line.startswith("!! ")))

    def holds(self, path: str) -> bool:
        if not self.paths:
            return False
        parts = path.split("/")
        above = ("/".join(parts[:depth]) + "/" for depth in range(1, len(parts)))
        return path in self.paths or any(folder in self.paths for folder in above)

    def among(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if self.holds(path)]


def rules_in(paths: Sequence[str]) -> list[str]:
    """Where the files stand, or should, that say what is ignored."""
    parts = (path.split("/") for path in paths)
    found = ("/".join(one[: one.index(RULES) + 1]) for one in parts if RULES in one)
    return list(dict.fromkeys(found))


def with_old_rules(new: bytes, old: bytes) -> bytes:
    """What was added, and after it all that was there before: of two rules the later one wins."""
    known = old.splitlines()
    added = [line for line in new.splitlines() if line.strip() and line not in known]
    return b"".join(line + b"\n" for line in added) + old


def note(paths: Sequence[str], rules: Sequence[str]) -> str:
    """For the log of the iteration."""
    more = f" and {len(paths) - LISTED} more" if len(paths) > LISTED else ""
    shown = ", ".join(paths[:LISTED]) + more
    back = f"; the old rules in {', '.join(rules)} hold again" if rules else ""
    return f"ignored by git when the iteration began, and therefore not committed: {shown}{back}"


# --- flags in an index ----------------------------------------------------------------------------
#
# `git status` is silent about files that are marked `assume-unchanged` or `skip-worktree`. A run is
# not: it compares files with commits, and would take a difference there for an agent's work.


async def flagged_paths(git: Git) -> tuple[str, ...] | None:
    """What an index says not to look at; None if git cannot read it."""
    said = await git.ask("ls-files", "-z", "-v")
    if said.code:
        return None
    return tuple(line[2:] for line in said.lines if _FLAGGED.match(line))


async def clear_flags(git: Git, paths: Sequence[str]) -> None:
    """Let an index say no more that these are not to be looked at."""
    given = b"".join(os.fsencode(path) + b"\0" for path in paths)
    for flag in _FLAGS if given else ():
        await git.tell("update-index", flag, "-z", "--stdin", given=given)


def with_flag_hints(lines: Sequence[str], hidden: Sequence[str]) -> Iterator[str]:
    """Lines of a status, with a word on those that the person's own git does not show."""
    for line in lines:
        if line[3:] in hidden:
            how = f"git update-index {' '.join(_FLAGS)} -- {line[3:]}"
            yield f"{line} (git was told not to look at it; `{how}` shows it)"
        else:
            yield line
