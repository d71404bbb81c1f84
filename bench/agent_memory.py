"""What eight sessions at a time add to the memory of the runner.

The programs are shell scripts that print what claude or codex print in a long session, 20 MB each,
as fast as it is read. All that a run does around them goes on eight times at once in one process.
What the kernel counts as the peak of that process in the meantime, less what it held after one
session had gone by, is what the eight have added; the goal is under 40 MB, so the ratio is to that.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))  # as a script, only this folder is on it

from bench._runs import line, scratch
from bench.agent_overhead import runner_of
from bench.agent_stream import block
from tests.adapters.agents import claude_lines, codex_lines

from dwindle.adapters.agents.claude.agent import ClaudeAgent
from dwindle.adapters.agents.codex.agent import CodexAgent
from dwindle.ports.agent import Agent
from dwindle.ports.work import WorkerReport
from dwindle.runner.session import Finished
from dwindle.testing.agents import DONE, ORDER

GOAL_MB = 40
AT_ONCE = 8
BYTES = 20_000_000


def program(folder: Path, name: str, begins: bytes, middle: bytes, ends: bytes) -> Path:
    """Prints the middle again and again; it finds the parts where it works, as HOME is hidden."""
    tree = folder / "tree"
    tree.mkdir()
    for part, text in (("begins", begins), ("middle", middle), ("ends", ends)):
        (tree / part).write_bytes(text)
    made = folder / name
    times = BYTES // len(middle) + 1
    made.write_text(
        f"#!/bin/sh\ncat >/dev/null\ncat begins\nn=0\n"
        f"while [ $n -lt {times} ]; do cat middle; n=$((n+1)); done\ncat ends\n",
        "utf-8",
    )
    made.chmod(0o755)
    return made


def agent_of(name: str, folder: Path) -> Agent:
    (folder / "home" / ".codex").mkdir(parents=True)
    ours = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "OPENAI_API_KEY": "k"}
    if name == "claude":
        ends = claude_lines.result(structured_output=DONE)
        made = program(folder, name, claude_lines.init() + b"\n", block(), ends + b"\n")
        return ClaudeAgent(program=str(made), sandboxed=True, ours=ours)
    ran = b"\n".join([codex_lines.ran("tests/test_1.py::test_1 PASSED\n" * 500)] * 30) + b"\n"
    said = claude_lines.line(**DONE).decode()
    ends = b"\n".join((codex_lines.said(said), codex_lines.completed(input_tokens=9), b""))
    made = program(folder, name, b"\n".join((*codex_lines.BEGUN, b"")), ran, ends)
    return CodexAgent(program=str(made), ours=ours)


def status(name: str) -> float:
    """Of this process, in megabytes."""
    found = Path("/proc/self/status").read_text("ascii").splitlines()
    words = next(text.split() for text in found if text.startswith(f"{name}:"))
    return int(words[1]) * 1024 / 1_000_000


def begin_anew() -> None:
    """From here on the peak is what it is now, or more."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")


async def added(agent: Agent, folder: Path) -> float:
    runner = runner_of(agent, folder)
    tree = folder / "tree"

    def believed(results: list[Finished]) -> None:
        for result in results:
            if not (isinstance(result.report, WorkerReport) and result.report.success):
                raise SystemExit(f"no report: {result}")

    believed([await runner.run(ORDER, tree, folder / "logs/0")])
    before = status("VmRSS")
    begin_anew()
    numbers = range(1, AT_ONCE + 1)
    believed(
        await asyncio.gather(*(runner.run(ORDER, tree, folder / f"logs/{n}") for n in numbers))
    )
    return status("VmHWM") - before


def main() -> None:
    if sys.argv[1:]:
        name, folder = sys.argv[1], Path(sys.argv[2])
        print(asyncio.run(added(agent_of(name, folder), folder)))
        return
    for name in ("claude", "codex"):
        with scratch() as folder:
            asked = [sys.executable, __file__, name, str(folder)]
            ran = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=True)
        megabytes = float(ran.stdout)
        line(f"agent_memory_{name}", megabytes, "MB", megabytes / GOAL_MB, 1)


if __name__ == "__main__":
    main()
