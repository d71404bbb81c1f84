"""One iteration of a tree plan, as its commit names it.

The subject of the commit is the only record of an iteration that travels with the repository: the
run, its number and what was charged are read back from it. So it is written and read in one place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What an iteration was, told from the difference that it made and from nothing else."""

    DECOMPOSE = "decompose"
    """Nothing changed outside of `.runner/`."""
    EXECUTE = "execute"


class Guarded(StrEnum):
    PASS = "pass"  # noqa: S105 - a verdict, not a secret
    FAIL = "fail"
    SKIPPED = "skipped"


TESTS: Final = "Dwindle-Tests"
"""A line at the end of the message: how many tests the guard has to run from now on."""
_SUBJECT: Final = re.compile(
    r"chore\(loop\): run (?P<run>[0-9A-Z]{1,64}) iter (?P<number>[0-9]{4,9}) "
    r"node (?P<node>[A-Za-z0-9][A-Za-z0-9_.-]{0,63}) "
    r"(?P<kind>decompose|execute) guard=(?P<guard>pass|fail|skipped)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    run: str
    number: int
    node: str
    kind: Kind
    guard: Guarded

    @property
    def subject(self) -> str:
        return (
            f"chore(loop): run {self.run} iter {self.number:04} node {self.node} "
            f"{self.kind} guard={self.guard}"
        )

    def message(self, tests: int | None = None, did: Sequence[str] = ()) -> str:
        """The whole of it; `did` says for people what was done, a line each.

        Each line gets a dash, so that git takes none of an agent's words for the line about tests.
        """
        lines = "".join(f"- {' '.join(line.split())}\n" for line in did)
        counted = "" if tests is None else f"{TESTS}: {tests}\n"
        return "\n".join((f"{self.subject}\n", *filter(None, (lines, counted))))

    @classmethod
    def of(cls, subject: str) -> Iteration | None:
        """What a commit's subject says; None if it is not that of an iteration."""
        found = _SUBJECT.fullmatch(subject)
        if found is None:
            return None
        return cls(
            run=found["run"],
            number=int(found["number"]),
            node=found["node"],
            kind=Kind(found["kind"]),
            guard=Guarded(found["guard"]),
        )
