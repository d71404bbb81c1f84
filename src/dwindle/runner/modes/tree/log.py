"""The log folder of one iteration.

It stays on this machine and is never committed. Two of its files are more than a record: if an edit
of the tree is refused, its text and the reasons are kept for the repair, which may come after a
restart. They are written before the iteration's commit, so they exist if the commit does. An
iteration that is done again begins with an empty folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from dwindle.kernel.model import Problem
from dwindle.ports.process import Secret
from dwindle.ports.removal import remove
from dwindle.runner.modes.tree.prompt import Refusal
from dwindle.text.escape import escape, escape_bytes
from dwindle.text.redact import redact_bytes

EXECUTOR_LOG: Final = "executor.log"
REFUSED: Final = "tree.refused.json"
REASONS: Final = "refusal.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationLog:
    folder: Path
    secrets: tuple[Secret, ...] = ()
    """Redacted in what agents and checks wrote."""

    @property
    def executor(self) -> Path:
        return self.folder / EXECUTOR_LOG

    @property
    def guard(self) -> Path:
        return self.folder / "guard.log"

    def begin(self, before: bytes) -> None:
        with suppress(OSError):
            remove(self.folder)
        self.folder.mkdir(parents=True)
        self.write("tree.before.json", before)
        self.executor.touch()  # exists also if nothing is printed

    def write(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def keep(self, name: str, content: bytes) -> None:
        """What an agent or a check wrote: redacted and escaped, safe to show as it is."""
        self.write(name, escape_bytes(redact_bytes(content, self.secrets)))

    def add_event(self, line: bytes) -> None:
        with (self.folder / "events.jsonl").open("ab") as file:
            file.write(line + b"\n")

    def refuse(self, refusal: Refusal, in_a_row: int) -> None:
        self.keep(REFUSED, refusal.text.encode("utf-8", "replace"))
        listed = [asdict(problem) for problem in refusal.problems]
        facts = {"in_a_row": in_a_row, "problems": listed}
        self.write(REASONS, _json(facts))

    def end(self, facts: Mapping[str, Any]) -> None:
        self.write("meta.json", _json(facts))


def refusal_in(folder: Path) -> tuple[int, Refusal] | None:
    """How many edits in a row had been refused after this iteration, and the last one."""
    try:
        facts = json.loads((folder / REASONS).read_bytes())
        problems = tuple(
            Problem(**{**problem, "where": tuple(problem["where"])})
            for problem in facts["problems"]
        )
        text = (folder / REFUSED).read_bytes().decode("utf-8", "replace")
        return int(facts["in_a_row"]), Refusal(text=text, problems=problems)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _json(facts: Mapping[str, Any]) -> bytes:
    return escape(json.dumps(facts, ensure_ascii=False, indent=2)).encode() + b"\n"
