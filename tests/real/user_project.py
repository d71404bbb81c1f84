"""A person's desk: a repository, a program on PATH with its login, and `dwindle` as a command.

Nothing is set up for `dwindle`: which program there is, it finds out by itself. What the model says
is written in the tongue of the program that asks it, so that one story can be told to all of them.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real.model import Api, Lane, ModelServer, Step, ToolCall
from tests.real.programs import Program
from tests.real.stage import Stage
from tests.surfaces.command import PLAIN, Ended, dwindle, repository, write
from tests.surfaces.on_a_terminal import OnATerminal
from tests.surfaces.small_runs import RUN

JOURNAL = f".runner/journal/{RUN}.jsonl"
LOGS = f".runner/iterations/{RUN}"
KEY = "sk-canary-of-a-person-0123456789"
"""What the person pays with; it must turn up nowhere."""
SYSTEM = "/usr/bin:/bin"

PLANS = """\
objective:
  goal: {goal}
  background_intent: A user asked for it
  deliverables: Files such as greet.sh
  definition_of_done: The checks pass
  constraints: {limits}
  base_case:
    checklist:
      - item: It is there
        check: {{type: command, value: sh check.sh}}
{more}atoms:
{atoms}"""


def draft(atoms: str, *, limits: Mapping[str, Any] | None = None, more: str = "") -> str:
    found = json.dumps({"max_parallel_agents": 1, **(limits or {})})
    return PLANS.format(goal="Greet people", limits=found, more=more, atoms=atoms)


def done(*artifacts: str) -> dict[str, Any]:
    return {"success": True, "summary": "it is there", "artifacts": list(artifacts)}


ONE = draft("  - {id: A1, description: Write greeting.txt}\n")


@dataclass(slots=True)
class Desk:
    stage: Stage
    program: Program
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._bin.mkdir()
        (self._bin / self.program.name).symlink_to(self.program.path)

    @property
    def _bin(self) -> Path:
        return self.stage.root / "bin"

    @property
    def folder(self) -> Path:
        return self.stage.work

    @property
    def is_codex(self) -> bool:
        return self.program.name == "codex"

    @property
    def key_name(self) -> str:
        return "OPENAI_API_KEY" if self.is_codex else "ANTHROPIC_API_KEY"

    @property
    def api(self) -> Api:
        return Api.OPENAI if self.is_codex else Api.ANTHROPIC

    # --- what the model says ---------------------------------------------------------------------

    def runs(self, command: str) -> Step:
        if self.is_codex:
            return Step(tools=(ToolCall("exec_command", {"cmd": command}),))
        return Step(tools=(ToolCall("Bash", {"command": command}),))

    def writes(self, name: str, content: str) -> Step:
        """With the tool that is made for it, where there is one."""
        if self.is_codex:
            patch = f"*** Begin Patch\n*** Add File: {name}\n+{content}\n*** End Patch\n"
            return self.runs(f"apply_patch <<'END'\n{patch}END")
        written = {"file_path": f"{{{{cwd}}}}/{name}", "content": f"{content}\n"}
        return Step(tools=(ToolCall("Write", written),))

    def reports(self, report: Mapping[str, Any]) -> Step:
        if self.is_codex:
            return Step(json.dumps(report))
        return Step(tools=(ToolCall("StructuredOutput", report),))

    def lane(self, user: str, *steps: Step) -> Lane:
        return Lane(name=user, user=user, steps=steps, repeats=True)

    def makes(self, user: str, name: str, content: str = "hello") -> Lane:
        """A worker that writes one file and says that it is done."""
        return self.lane(user, self.writes(name, content), self.reports(done(name)))

    # --- what the person does --------------------------------------------------------------------

    def environment(self, model: ModelServer | None) -> dict[str, str]:
        here = {**self.stage.environment(model), "PATH": f"{self._bin}:{SYSTEM}"}
        if model is not None:
            here[self.key_name] = KEY
            if self.is_codex:
                here["OPENAI_BASE_URL"] = f"{model.url}/v1"
        return {**here, **self.variables}

    def calls(self, model: ModelServer | None, *words: str) -> Ended:
        return dwindle(self.folder, *words, **self.environment(model))

    def sits_at(self, model: ModelServer, *words: str) -> OnATerminal:
        """The same, on a terminal."""
        return OnATerminal(self.folder, *words, size=(80, 24), **self.environment(model))

    def aligned(self, plan: str, check: str = "test -s greeting.txt\n") -> None:
        write(self.folder, "check.sh", check)
        repository(self.folder)
        write(self.folder, ".runner/draft.yaml", plan)
        words = ("--from", ".runner/draft.yaml", "--yes", "--run-id", RUN)
        said = self.calls(None, "align", *words)
        assert said.code == 0, said

    # --- what there is to see --------------------------------------------------------------------

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Of this kind, in the journal."""
        lines = map(json.loads, (self.folder / JOURNAL).read_text("utf-8").splitlines())
        return [line["event"] for line in lines if line.get("event", {}).get("kind") == kind]

    def committed(self, ref: str = "HEAD") -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", ref).splitlines()

    def git(self, *words: str) -> str:
        asked = ("git", *words)
        done = subprocess.run(asked, cwd=self.folder, env=PLAIN, check=True, capture_output=True)
        return done.stdout.decode("utf-8", "replace")
