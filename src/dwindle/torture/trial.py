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
from dwindle.testing.adversaries import PROGRAM, Adversary, Scene
from dwindle.torture.damage import RUN, SURROUNDINGS, TESTS, TrialRepository

ORDINARY: Final = (sys.executable, "-m", "dwindle")
SECONDS: Final = 60.0
"""Every run must have ended by then."""
FILE_BYTES: Final = 32 << 20
OUTSIDE: Final = "a file of another project\n"

SUITE: Final = f"{sys.executable} -m pytest -q -p no:cacheprovider"

FILES: Final = {
    "README": "Somebody's project.\n",
    "answer.txt": "0\n",
    "check.sh": "grep -qx 42 answer.txt\n",
}
PYTEST_FILES: Final = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": TESTS,
}
NODE: Final = {
    "acceptance": [],
    "attempts": 0,
    "children": [],
    "goal": "find the answer",
    "max_attempts": 1,
    "order": 0,
    "passes": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialResult:
    """The result of a trial; the adversary has lost if it was tried and nothing is `broken`."""

    name: str
    tries: str
    happened: str
    broken: tuple[str, ...] = ()
    was_tried: bool = True
    """Its program got as far as its attack."""
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        return self.was_tried and not self.broken


@dataclass(slots=True, kw_only=True)
class Trial:
    """`folder` is empty; `command` calls `dwindle`, `program` is the agent that it runs."""

    adversary: Adversary
    folder: Path
    command: Sequence[str] = ORDINARY
    program: Path = PROGRAM
    seconds: float = SECONDS
    repository: TrialRepository = field(init=False)

    def __post_init__(self) -> None:
        token = f"torture-{os.urandom(8).hex()}"
        self.repository = TrialRepository(adversary=self.adversary, folder=self.folder, token=token)

    def result(self) -> TrialResult:
        """Make the repository, run the adversary, judge what is left."""
        repository = self.repository
        self._make()
        aligned = self._align()
        before = repository.user_state()
        began = time.monotonic()
        code = self._run()
        seconds = time.monotonic() - began
        broken = tuple(repository.violations(before, aligned, code))
        repository.kill_leftovers()
        return TrialResult(
            name=self.adversary.name,
            tries=self.adversary.tries,
            happened=repository.summary(code),
            broken=broken,
            was_tried=repository.was_tried(),
            seconds=round(seconds, 1),
        )

    # --- the repository --------------------------------------------------------------------------

    def _make(self) -> None:
        self.repository.outside.mkdir(parents=True)
        (self.repository.outside / "secret.txt").write_text(OUTSIDE, "utf-8")
        files = dict(FILES)
        if self.adversary.scene.needs_pytest:
            files |= PYTEST_FILES
        if self.adversary.scene is Scene.MAKE:
            files["Makefile"] = "check:\n\tsh check.sh\n"
        if self.adversary.scene.is_tree:
            leaf = {**NODE, "id": "leaf", "title": "leaf"}
            root = {**NODE, "id": "root", "title": "root", "children": [leaf]}
            files[".runner/tree.json"] = json.dumps({"root": root, "version": 1}, indent=2)
            files[".gitignore"] = (
                "/.runner/journal/\n/.runner/iterations/\n/.runner/outbox/\n/.runner/worktrees/\n"
            )
        files[".runner/config.toml"] = self._settings()
        for name, content in files.items():
            path = self.repository.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
        self.repository.git("init", "--quiet", "--initial-branch=main")
        self.repository.git("add", "--all", "--force")
        self.repository.git("commit", "--quiet", "--message=first")
        self.repository.git("branch", "work")

    def _settings(self) -> str:
        program = (sys.executable, "-P", str(self.program), self.adversary.name)
        words = (
            *program,
            "--token",
            self.repository.token,
            "--outside",
            str(self.repository.outside),
        )
        guard = SUITE if self.adversary.scene.needs_pytest else "sh check.sh"
        return (
            f'[agents]\nbackend = "command"\ncommand = {json.dumps(words)}\n\n'
            f"[guard]\ncommand = {json.dumps(guard)}\n\n"
            f"[limits]\nfile_bytes = {FILE_BYTES}\nmax_iterations = 4\n"
            "iteration_timeout_seconds = 10\n"
        )

    def _align(self) -> Plan | None:
        if self.adversary.scene.is_tree:
            return None
        draft = self.folder / "draft.yaml"
        draft.write_text(json.dumps(self._draft()), "utf-8")
        words = ("align", f"--from={draft}", "--yes", "--run-id", RUN)
        said = self._call(*self.command, *words, seconds=SECONDS)
        if said is None or said.returncode:
            raise RuntimeError(f"the plan could not be made: {said.stderr if said else 'too slow'}")
        return self.repository.plan()

    def _draft(self) -> dict[str, Any]:
        lines = {
            Scene.PLAIN: ["sh check.sh"],
            Scene.PYTEST: [f"{SUITE} tests/test_calc.py"],
            Scene.MAKE: ["make check"],
        }[self.adversary.scene]
        if self.adversary.name == "fails-last-check":
            lines = ["test -f first.txt", *lines]
        atom: dict[str, Any] = {"id": "A1", "description": "make it right"}
        if self.adversary.checked:
            atom["check"] = {"type": "command", "value": "sh check.sh"}
        return {
            "objective": {
                "goal": "the checks hold",
                "background_intent": "to see who can be trusted",
                "deliverables": "the answer",
                "definition_of_done": "the checks hold",
                "base_case": {
                    "checklist": [
                        {"item": line, "check": {"type": "command", "value": line}}
                        for line in lines
                    ]
                },
                "constraints": {
                    "max_iterations": 8,
                    "max_attempts": self.adversary.attempts,
                    "max_probes": 0,
                    "max_winds": 0,
                    "max_verifications": self.adversary.rounds,
                    "max_atoms": 8,
                    "session_timeout_seconds": self.adversary.seconds,
                },
            },
            "atoms": [atom],
        }

    # --- the run ---------------------------------------------------------------------------------

    def _run(self) -> int | None:
        words = ["run"]
        if self.adversary.scene.is_tree:
            words += ["--run-id", RUN]
        if not self.adversary.sandboxed:
            words.append("--no-sandbox")
        said = self._call(*self.command, *words, seconds=self.seconds)
        return None if said is None else said.returncode

    def _call(self, *words: str, seconds: float) -> subprocess.CompletedProcess[str] | None:
        """None if it had to be killed."""
        log = self.folder / "dwindle.log"
        with log.open("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                words,
                cwd=self.repository.root,
                env={**os.environ, **SURROUNDINGS},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return None
            except BaseException:
                process.kill()
                raise
        text = log.read_text("utf-8", "replace")
        return subprocess.CompletedProcess(words, code, text, text)
