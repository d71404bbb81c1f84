"""A session of the real claude, put together by the adapter alone.

It is run by the containment that a run would use; only the model is ours.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.real.model import Lane, ModelServer, Step, ToolCall
from tests.real.programs import Program
from tests.real.stage import Stage

from dwindle.adapters.agents.claude.agent import ClaudeAgent
from dwindle.adapters.sandbox import ProcessGroup, choose
from dwindle.kernel.model import Role
from dwindle.ports.agent import Place
from dwindle.ports.process import Command, Containment, Ended
from dwindle.ports.work import (
    Order,
    Purpose,
    Report,
    Result,
)
from dwindle.testing.agents import ORDER

PROBE = replace(ORDER, role=Role.PROBE, purpose=Purpose.LOOK)
VERIFIER = replace(ORDER, role=Role.VERIFIER, purpose=Purpose.JUDGE)
SUBSCRIPTION = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-canary"}


def bash(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command})


def reports(report: dict[str, Any]) -> ToolCall:
    return ToolCall("StructuredOutput", report)


def lane(*steps: Step | ToolCall | str) -> Lane:
    """A tool call alone is a step, and so is a text."""

    def step(one: Step | ToolCall | str) -> Step:
        if isinstance(one, ToolCall):
            return Step(tools=(one,))
        return Step(one) if isinstance(one, str) else one

    return Lane(steps=tuple(map(step, steps)), repeats=True)


@dataclass(slots=True)
class Play:
    """One session: the adapter and the program are real."""

    stage: Stage
    program: Program
    model: ModelServer | None = None
    sandboxed: bool = True
    containment: Containment | None = None
    prompt: str = "Do it.\n"
    ended: Ended | None = None
    command: Command | None = None

    @property
    def place(self) -> Place:
        return Place(workspace=self.stage.work, outbox=self.stage.root / "outbox")

    def agent(self, ours: dict[str, str], **agent: Any) -> ClaudeAgent:
        world = {"PATH": os.environ["PATH"], **self.stage.environment(self.model), **ours}
        return ClaudeAgent(
            **{
                "program": str(self.program.path),
                "sandboxed": self.sandboxed,
                "ours": world,
                "retries": 1,
                **agent,
            }
        )

    def session(
        self,
        order: Order = ORDER,
        *,
        ours: dict[str, str] | None = None,
        before: Sequence[str] = (),
        after: Sequence[str] = (),
        **agent: Any,
    ) -> Result:
        """`before` and `after` stand around the command line, for what no setting of ours does."""
        place = self.place
        place.outbox.mkdir(exist_ok=True)
        place.order.write_text("{}", "utf-8")
        place.prompt.write_text(self.prompt, "utf-8")
        session = self.agent(ours or {}, **agent).session(order, place)
        command = session.command
        self.command = replace(command, argv=(*before, *command.argv, *after))
        self.ended = asyncio.run(self.runner().run(self.command, session.watch))
        return session.conclude(self.ended)

    def runner(self) -> Containment:
        if self.containment is not None:
            return self.containment
        if not self.sandboxed:
            return ProcessGroup(mark=self.stage.mark)
        found = choose(mark=self.stage.mark)
        if found.mechanism != "bubblewrap":
            pytest.skip("our sandbox takes bubblewrap")
        return found


def played(play: Play, script: Lane, order: Order = ORDER, **session: Any) -> Report:
    with ModelServer(script) as play.model:
        return play.session(order, **session).report


def bodies(play: Play) -> str:
    assert play.model is not None
    return json.dumps([request.body for request in play.model.requests])
