"""One thing that is wrong with a plan or a file, with facts enough to mend it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    where: tuple[str | int, ...]
    """The path to it, as in the file: ("atoms", 3, "depends_on")."""
    what: str
    hint: str = ""
    line: int | None = None
    """Counted from 1; filled in by whoever knows the text."""
    unaligned: bool = False
    """The plan is not aligned yet, rather than wrong: `run` stops at the gate."""
    warning: bool = False
    """Worth saying, but no reason to refuse."""
