"""What we add to a session of claude or codex, from the order to the report.

Ours is all that a run does around it: order, prompt and outbox written, the command put together,
the program started in the sandbox that a run would choose, every line of its output understood and
logged, the report read and checked, the outbox taken back. The peer starts the same program with
the same words, environment and input as bare as Python can, and reads what it prints. The
difference of the best rounds is ours alone; the goal is under 60 ms, so the ratio is to that.

The programs are shell scripts that print what claude and codex print for a short session, so that
their own time is next to nothing. Where the real ones are installed (`make real-agents`, or
DWINDLE_REAL_CACHE), they are measured as well, with a scripted model on loopback; a second of their
own goes by in each round, so that this difference is less exact, and is only printed.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import line, remark, scratch
from tests.adapters.agents import claude_lines, codex_lines
from tests.real import programs
from tests.real.model import Lane, ModelServer, Step, ToolCall

from dwindle.adapters.agents.claude.agent import ClaudeAgent
from dwindle.adapters.agents.codex.agent import CodexAgent
from dwindle.adapters.process.environment import environment
from dwindle.adapters.sandbox import choose
from dwindle.kernel.model import Role
from dwindle.ports.agent import Agent, Place
from dwindle.ports.process import Command
from dwindle.ports.work import WorkerReport
from dwindle.runner.session import AgentRunner
from dwindle.testing.agents import DONE, ORDER

GOAL = 0.060
ROUNDS = 40
REAL_ROUNDS = 6


def script(folder: Path, name: str, *lines: bytes) -> Path:
    """A program that reads its prompt and prints these."""
    told = "\n".join(text.decode() for text in lines)
    program = folder / name
    program.write_text(f"#!/bin/sh\ncat >/dev/null\ncat <<'EOT'\n{told}\nEOT\n", "utf-8")
    program.chmod(0o755)
    return program


def fakes(folder: Path) -> Iterator[tuple[str, Agent]]:
    # As if codex had been started before: else it sets up its home in every session.
    (folder / "home" / ".codex").mkdir(parents=True)
    ours = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "OPENAI_API_KEY": "k"}
    said = [claude_lines.said("I will look at the next file. " * 20)] * 20
    claude = script(
        folder,
        "claude",
        *(claude_lines.init(), *said, claude_lines.result(structured_output=DONE)),
    )
    yield "claude", ClaudeAgent(program=str(claude), ours=ours)
    ran = [codex_lines.ran("tests/test_1.py::test_1 PASSED\n" * 20)] * 20
    ends = (codex_lines.said(json.dumps(DONE)), codex_lines.completed(input_tokens=9))
    codex = script(folder, "codex", *codex_lines.BEGUN, *ran, *ends)
    yield "codex", CodexAgent(program=str(codex), ours=ours)


def real(folder: Path, model: ModelServer) -> Iterator[tuple[str, Agent]]:
    (folder / ".codex").mkdir(parents=True)
    ours = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "k",
        "OPENAI_BASE_URL": f"{model.url}/v1",
        "OPENAI_API_KEY": "k",
    }
    wanted: tuple[tuple[Callable[[], programs.Program], type[Any], dict[str, Any]], ...] = (
        (programs.claude, ClaudeAgent, {}),
        (programs.newer_claude, ClaudeAgent, {}),
        (programs.codex, CodexAgent, {"model": "gpt-5.5"}),
    )
    for find, kind, more in wanted:
        try:
            program = find()
        except programs.NotInstalled as problem:
            remark(f"not measured: {problem}")
            continue
        yield f"real_{program.id}", kind(program=str(program.path), ours=ours, **more)


def runner_of(agent: Agent, folder: Path) -> AgentRunner:
    return AgentRunner(agents={Role.WORKER: agent}, sandbox=choose(), outboxes=folder / "outboxes")


def bare(command: Command) -> None:
    ran = subprocess.run(
        command.argv,
        input=command.stdin,
        capture_output=True,
        cwd=command.cwd,
        env=environment(command.environment, ""),
        check=False,
    )
    if ran.returncode or not ran.stdout:
        raise SystemExit(f"{command.argv[0]}: {ran.stderr.decode()[-500:]}")


def overhead(agent: Agent, folder: Path, rounds: int) -> tuple[float, float]:
    """Seconds that we add, and seconds of the bare program: the best rounds of each."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    agents = runner_of(agent, folder)
    place = Place(workspace=tree, outbox=folder / "bare")
    place.outbox.mkdir()
    place.order.write_text("{}", "utf-8")
    place.prompt.write_text("Write it.\n" * 100, "utf-8")
    command = agent.session(ORDER, place).command
    ours: list[float] = []
    theirs: list[float] = []
    with asyncio.Runner() as runner:
        for turn in range(rounds + 1):
            began = time.perf_counter()
            bare(command)
            between = time.perf_counter()
            result = runner.run(agents.run(ORDER, tree, folder / f"logs/{turn}"))
            ended = time.perf_counter()
            if not (isinstance(result.report, WorkerReport) and result.report.success):
                raise SystemExit(f"no report: {result}")
            if turn:  # the first one warms up
                theirs.append(between - began)
                ours.append(ended - between)
    return min(ours) - min(theirs), min(theirs)


def main(rounds: int = ROUNDS, real_rounds: int = REAL_ROUNDS) -> None:
    with scratch() as folder, ExitStack() as stack:
        for name, agent in fakes(folder):
            added, peer = overhead(agent, folder / f"with-{name}", rounds)
            remark(f"{name}: {added * 1000:.1f} ms over {peer * 1000:.1f} ms")
            line(f"agent_overhead_{name}", added * 1000, "ms", added / GOAL, 1)
        report = Step(tools=(ToolCall("StructuredOutput", DONE),))
        lanes = (
            Lane(name="claude", tools=("StructuredOutput",), steps=(report,)),
            Lane(name="codex", steps=(Step(json.dumps(DONE)),)),
        )
        model = stack.enter_context(ModelServer(*lanes))
        for name, agent in real(folder / "real", model):
            added, peer = overhead(agent, folder / f"with-{name}", real_rounds)
            remark(f"{name}: {added * 1000:.1f} ms over {peer * 1000:.0f} ms")
            line(f"agent_overhead_{name}", added * 1000, "ms", added / GOAL)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
