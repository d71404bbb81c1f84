"""What it costs to ask: `dwindle --version`, `status` and `hook`, beside `python -c pass`.

    python bench/startup.py [ROUNDS]

The peer is the same interpreter doing nothing. Each figure is the median processor time of a whole
process, user and system, over at least nine rounds in which all take turns: on a busy machine
wall-clock time says more about the neighbours.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dwindle.app.host.lease import plan_stamp
from dwindle.app.host.open_hosted import run_summary
from dwindle.app.plans.load import load_graph

ROUNDS = 21
ATOMS = 100
LIMITS = {
    "version": 2,
    "status": 10,
    "hook_without_a_loop": 8,
    "hook_of_a_coordinator": 8,
}
SESSION = "bench"
ENDED = json.dumps(
    {
        "session_id": SESSION,
        "hook_event_name": "SubagentStop",
        "agent_type": "dwindle:aot-coordinator",
        "agent_id": "a1",
    }
).encode()

HEAD = """\
---
objective:
  goal: "Move the billing module to the new client"
  base_case:
    type: command
    value: "make test"
  background_intent: "The old client goes away"
  deliverables: "Billing on the new client"
  definition_of_done: "Tests pass"
  constraints:
    max_iterations: 200
    max_parallel_agents: 3
    max_stall_count: 3

control:
  status: pending
  iteration: 0
  stall_count: 0
  prev_pending_count: -1
  stop_requested: false
  stop_reason: null
  redirect_requested: false

atoms:
"""
TAIL = """
decompositions: []

or_groups: {}

bindings: {}

trail: []

corrections: []
---

# Original Prompt
"""


def plan(atoms: int) -> str:
    """A plan in which a third of the atoms are free and the others wait for two each."""
    lines = []
    for number in range(1, atoms + 1):
        needs = [f"A{n}" for n in (number - 1, number - 7) if n > 0 and number % 3]
        lines += [
            f"  - id: A{number}",
            f'    description: "Move part {number} and keep its tests green"',
            "    status: pending",
            f"    depends_on: [{', '.join(needs)}]",
        ]
    return HEAD + "\n".join(lines) + "\n" + TAIL


def processor_seconds(command: Sequence[str], folder: Path) -> float:
    """User and system time of one process, from its start to its end."""
    process = subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert process.stdin is not None  # noqa: S101 - it was asked for
    here = json.loads(ENDED) | {"cwd": str(folder)}
    process.stdin.write(json.dumps(here).encode())  # only a hook reads it
    process.stdin.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def main(rounds: int = ROUNDS) -> None:
    program = str(Path(sys.executable).with_name("dwindle"))
    with tempfile.TemporaryDirectory() as name:
        ours = Path(name, "ours")
        _write(ours, plan(ATOMS))
        looping = Path(name, "looping")
        _write(
            looping, plan(ATOMS).replace("status: pending\n  iter", "status: running\n  iter", 1)
        )
        (looping / ".runner").mkdir()
        # Told over and over, it would stop the run: every call finds the same note.
        note = {"session": SESSION, "until": 1e12, "started": -1, "summary": summary(looping)}
        commands = {
            "peer": ((sys.executable, "-c", "pass"), ours),
            "version": ((program, "--version"), ours),
            "status": ((program, "status"), ours),
            "hook_without_a_loop": ((program, "hook"), ours),
            "hook_of_a_coordinator": ((program, "hook"), looping),
        }
        times: dict[str, list[float]] = {what: [] for what in commands}
        for turn in range(max(9, rounds) + 1):
            for what, (command, folder) in commands.items():
                (looping / ".runner/host.json").write_text(json.dumps(note), encoding="utf-8")
                used = processor_seconds(command, folder)
                if turn:  # the first one compiles
                    times[what].append(used)
    medians = {what: statistics.median(used) for what, used in times.items()}
    for what, limit in LIMITS.items():
        ratio = medians[what] / medians["peer"]
        value = f"{medians[what] * 1000:.1f}"
        print(f"startup_{what} {value} ms ratio={ratio:.2f} limit={limit}")


def summary(folder: Path) -> dict[str, object]:
    """What the last command of a session leaves for its hook."""
    loaded = load_graph((folder / ".claude/aot-loop-state.md").read_bytes())
    assert loaded.plan is not None  # noqa: S101 - it is ours
    return asdict(run_summary(loaded.plan, plan_stamp(folder)))


def _write(folder: Path, text: str) -> None:
    file = folder / ".claude" / "aot-loop-state.md"
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
