"""One adversary in a repository of its own: run the real command, then judge what is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dwindle.kernel.model import Plan
from dwindle.testing.adversaries import PROGRAM, Adversary, Way
from dwindle.testing.adversaries.here import placed
from dwindle.torture.commands import ORDINARY, called
from dwindle.torture.damage import COMPLETED, PLAN_COMPLETED, RUN, TrialRepository
from dwindle.torture.scenes import SETTINGS, Setting

SECONDS: Final = 120.0
"""Every run must have ended by then."""
FILE_BYTES: Final = 32 << 20
ITERATIONS: Final = 4
HOLE_BYTES: Final = 4 << 30
"""For a file with nothing in it."""
OUTSIDE: Final = "a file of another project\n"

NODE: Final = {
    "acceptance": [],
    "attempts": 0,
    "children": [],
    "goal": "find the answer",
    "order": 0,
    "passes": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """The result of a trial; the adversary has lost if it was tried and nothing is `broken`."""

    name: str
    tries: str
    happened: str
    way: Way = Way.GRAPH
    broken: tuple[str, ...] = ()
    was_tried: bool = True
    """Its program got as far as its attack."""
    seconds: float = 0.0
    possible: str = ""
    """Why it may win, and does: documented, and not held against anybody."""
    missing: str = ""
    """What is not installed, so that nothing could be tried."""

    @property
    def passed(self) -> bool:
        return self.was_tried and not self.broken


@dataclass(slots=True, kw_only=True)
class Trial:
    """`folder` is empty; `command` calls `dwindle`, `program` is the agent that it runs."""

    adversary: Adversary
    folder: Path
    way: Way | None = None
    """The first of the adversary's ways if not given."""
    command: Sequence[str] = ORDINARY
    program: Path = PROGRAM
    seconds: float = SECONDS
    repository: TrialRepository = field(init=False)

    def __post_init__(self) -> None:
        self.repository = TrialRepository(
            adversary=self.adversary,
            way=self.way or self.adversary.ways[0],
            folder=self.folder,
            token=f"torture-{os.urandom(8).hex()}",
        )

    @property
    def _setting(self) -> Setting:
        return SETTINGS[self.adversary.scene]

    def result(self) -> TrialResult:
        """Make the repository, run the adversary, judge what is left."""
        repository = self.repository
        self._make()
        aligned = self._align()
        before = repository.user_state()
        began = time.monotonic()
        code = self._run()
        if self.adversary.wedges and code is not None:
            again = self._run()
            code = code if again == code else again
        seconds = time.monotonic() - began
        broken = tuple(repository.violations(before, aligned, code))
        repository.kill_leftovers()
        possible = self.adversary.possible.get(repository.way, "")
        won = possible and set(broken) <= {COMPLETED, PLAN_COMPLETED}
        return TrialResult(
            name=self.adversary.name,
            tries=self.adversary.tries,
            happened=repository.summary(code),
            way=repository.way,
            broken=() if won else broken,
            was_tried=repository.was_tried(),
            seconds=round(seconds, 1),
            possible=possible if won and broken else "",
        )

    # --- the repository --------------------------------------------------------------------------

    def _make(self) -> None:
        repository, adversary, setting = self.repository, self.adversary, self._setting
        repository.outside.mkdir(parents=True)
        repository.deeds.mkdir()
        (repository.outside / "secret.txt").write_text(OUTSIDE, "utf-8")
        files = {**setting.files, **adversary.ground}
        ignored = ["__pycache__/", *(f"/{name}/" for name in (*setting.ignored, *adversary.share))]
        if repository.way.is_tree:
            node = {**NODE, "max_attempts": adversary.attempts}
            leaf = {**node, "id": "leaf", "title": "leaf"}
            root = {**node, "id": "root", "title": "root", "children": [leaf]}
            files[".runner/tree.json"] = json.dumps({"root": root, "version": 1}, indent=2)
            runner = ("journal", "iterations", "outbox", "worktrees")
            ignored += [f"/.runner/{name}/" for name in runner]
        files.setdefault(".gitignore", "".join(f"{line}\n" for line in ignored))
        files[".runner/config.toml"] = self._settings()
        for name, content in files.items():
            path = repository.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._placed(content), "utf-8")
        repository.git("init", "--quiet", "--initial-branch=main")
        repository.git("add", "--all")
        repository.git("add", "--force", ".runner/config.toml")
        if adversary.setup:
            self._call("sh", "-e", "-c", self._placed(adversary.setup), seconds=SECONDS)
        repository.git("commit", "--quiet", "--message=first")
        repository.git("branch", "work")

    def _placed(self, text: str) -> str:
        return placed(text, self.repository.outside, self.repository.deeds)

    @property
    def _lines(self) -> tuple[str, ...]:
        return tuple(map(self._placed, self.adversary.lines)) or (self._setting.line,)

    def _settings(self) -> str:
        repository, adversary = self.repository, self.adversary
        command = (
            *(sys.executable, "-P", str(self.program), adversary.name),
            *("--token", repository.token),
            *("--outside", str(repository.outside)),
            *("--deeds", str(repository.deeds)),
        )
        guard = f"command = {json.dumps(' && '.join(self._lines))}\n"
        if repository.way is Way.TREE_STRICT:
            guard += f"work_paths = {json.dumps(self._setting.work_paths)}\n"
        text = (
            f'[agents]\nbackend = "command"\ncommand = {json.dumps(command)}\n\n'
            f"[guard]\n{guard}\n"
            f"[limits]\nfile_bytes = {FILE_BYTES if adversary.is_program else HOLE_BYTES}\n"
            f"max_iterations = {ITERATIONS if adversary.is_program else adversary.attempts}\n"
            "iteration_timeout_seconds = 60\n"
        )
        if share := (*self._setting.share, *adversary.share):
            text += f"\n[workspace]\nshare = {json.dumps(share)}\n"
        if adversary.is_judged:
            text += f"\n[sandbox]\nwritable = {json.dumps([str(repository.deeds)])}\n"
        return text

    def _align(self) -> Plan | None:
        if self.repository.way.is_tree:
            return None
        draft = self.folder / "draft.yaml"
        draft.write_text(json.dumps(self._draft()), "utf-8")
        words = ("align", f"--from={draft}", "--yes", "--run-id", RUN)
        said = self._call(*self.command, *words, seconds=SECONDS)
        if said is None or said.returncode:
            raise RuntimeError(f"the plan could not be made: {said.stderr if said else 'too slow'}")
        return self.repository.plan()

    def _draft(self) -> dict[str, Any]:
        adversary = self.adversary
        atom: dict[str, Any] = {"id": "A1", "description": "make it right"}
        if adversary.checked:
            atom["check"] = {"type": "command", "value": "sh check.sh"}
        objective: dict[str, Any] = {
            "goal": "the checks hold",
            "background_intent": "to see who can be trusted",
            "deliverables": adversary.delivers,
            "definition_of_done": "the checks hold",
            "base_case": {
                "checklist": [
                    {"item": line, "check": {"type": "command", "value": line}}
                    for line in self._lines
                ]
            },
            "constraints": {
                "max_iterations": 8,
                "max_attempts": adversary.attempts,
                "max_probes": 0,
                "max_winds": 0,
                "max_verifications": adversary.rounds,
                "max_atoms": 8,
                "session_timeout_seconds": adversary.seconds,
            },
        }
        if self.repository.way is Way.GRAPH_STRICT:
            objective["work_paths"] = list(self._setting.work_paths)
        return {"objective": objective, "atoms": [atom]}

    # --- the run ---------------------------------------------------------------------------------

    def _run(self) -> int | None:
        words = ["run"]
        if self.repository.way.is_tree:
            words += ["--run-id", RUN]
        if not self.adversary.sandboxed:
            words.append("--no-sandbox")
        said = self._call(*self.command, *words, seconds=self.seconds)
        return None if said is None else said.returncode

    def _call(self, *words: str, seconds: float) -> subprocess.CompletedProcess[str] | None:
        """None if it had to be killed."""
        return called(words, self.repository.root, self.folder / "dwindle.log", seconds)
