"""What git ignored when an iteration began: the person's own files, often secret ones.

An agent may bring them to light: it takes a line out of a `.gitignore`, writes one that says
otherwise, or adds a file by force. Whatever was there and ignored at the beginning is in no commit
of ours all the same. Of a folder that is ignored as a whole git does not say what is in it, so all
of it counts, also what is made in there later.

What an agent adds to the rules is its own affair, and a list of caches that it rewrote may not lead
to the caches being committed. So its new lines stay, and the old ones come after them and win.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

RULES = ".gitignore"
LISTED = 5


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
