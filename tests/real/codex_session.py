"""A session of the real codex, started by our adapter, with a scripted model behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real.model import Lane, ModelServer, Request, Step, ToolCall
from tests.real.programs import Program
from tests.real.stage import Stage

from dwindle.adapters.agents.codex.agent import CodexAgent
from dwindle.adapters.sandbox.choice import choose
from dwindle.ports.agent import Place
from dwindle.ports.process import Command, Containment, Ended
from dwindle.ports.work import NoReport, Order, Report, Result
from dwindle.testing.agents import ORDER, set_up

CANARY = "sk-canary-of-codex-0123456789"
"""A key that must turn up nowhere."""
MODEL = "gpt-5.5"


def shell(command: str) -> ToolCall:
    return ToolCall("exec_command", {"cmd": command})


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    result: Result
    ended: Ended
    command: Command
    place: Place
    requests: tuple[Request, ...]

    @property
    def report(self) -> Report:
        return self.result.report

    @property
    def trouble(self) -> NoReport:
        assert isinstance(self.report, NoReport), self.report
        return self.report

    @property
    def seen(self) -> list[str]:
        """What the model got to see of its tools' work."""
        return [result.text for result in self.requests[-1].conversation.tool_results]

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.place.workspace.iterdir())


def variables(stage: Stage, model: ModelServer | None) -> dict[str, str]:
    """What a person has in their environment."""
    here = {"PATH": "/usr/bin:/bin", **stage.environment(None)}
    if model is not None:
        here |= {"OPENAI_API_KEY": CANARY, "OPENAI_BASE_URL": f"{model.url}/v1"}
    return here


def play(
    stage: Stage,
    program: Program,
    *steps: Step,
    order: Order = ORDER,
    own_sandbox: bool = False,
    is_down: bool = False,
    containment: Containment | None = None,
    prompt: str = "Write it.\n",
    place: Place | None = None,
    ours: Mapping[str, str] | None = None,
    **options: Any,
) -> Played:
    """In our sandbox, or in codex's own; with a model that has gone away, if `is_down`."""
    place = place or set_up(stage.root / "session", order, prompt)
    with ModelServer(Lane(steps=steps or (Step("unasked"),))) as model:
        agent = CodexAgent(
            program=str(program.path),
            own_sandbox=own_sandbox,
            ours={**variables(stage, model), **(ours or {})},
            **{"model": MODEL, "retries": 1, **options},
        )
        session = agent.session(order, place)
        command = session.command
        runner = containment or (stage.bare() if own_sandbox else choose(mark=stage.mark))
        ended = None if is_down else asyncio.run(runner.run(command, session.watch))
    if ended is None:
        ended = asyncio.run(runner.run(command, session.watch))
    return Played(
        result=session.conclude(ended),
        ended=ended,
        command=command,
        place=place,
        requests=tuple(model.requests),
    )


def holding(root: Path, word: str) -> list[str]:
    """The files below `root` that hold the word."""
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and word.encode() in path.read_bytes()
    )
