"""The folder of one iteration: what was there, what was said, what came of it.

It belongs to this machine and is never committed. Two files in it are more than a record: when an
edit of the tree is refused, the text and the reasons are kept for the repair, which may come after
a restart. They are written before the iteration's commit, so that whoever finds the commit finds
them too; the folder of an iteration that is done again begins empty.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from dwindle.kernel.problem import Problem
from dwindle.ports.legible import legible, legible_bytes
from dwindle.ports.process import Secret
from dwindle.ports.secrecy import told_bytes
from dwindle.runner.tree_prompt import Refusal

REFUSED: Final = "tree.refused.json"
REASONS: Final = "refusal.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationLog:
    folder: Path
    secrets: tuple[Secret, ...] = ()
    """Kept out of what others wrote."""

    @property
    def executor(self) -> Path:
        return self.folder / "executor.log"

    @property
    def guard(self) -> Path:
        return self.folder / "guard.log"

    def begin(self, before: bytes) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.write("tree.before.json", before)
        self.executor.touch()  # there also if nothing is said

    def write(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)

    def keep(self, name: str, content: bytes) -> None:
        """What somebody else wrote: for reading, and safe to be shown as it is."""
        self.write(name, legible_bytes(told_bytes(content, self.secrets)))

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
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _json(facts: Mapping[str, Any]) -> bytes:
    return legible(json.dumps(facts, ensure_ascii=False, indent=2)).encode() + b"\n"
