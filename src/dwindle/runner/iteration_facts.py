"""What `meta.json` says about an iteration that is on the branch."""

from __future__ import annotations

from typing import Any

from dwindle.ports.in_place import Done
from dwindle.runner.tree_iteration import Bench, Came, Task


def facts_of(bench: Bench, task: Task, came: Came, done: Done) -> dict[str, Any]:
    iteration, guard = done.iteration, came.guard
    return {
        "run_id": iteration.run,
        "iter_n": iteration.number,
        "selected_leaf_id": iteration.node,
        "selected_leaf_path": [*(step.atom for step in task.order.path), task.order.atom],
        "mode": task.mode,
        "classification": iteration.kind,
        "executor_kind": bench.agent.name,
        "exit_status": came.agent.exit_code,
        "exit_signal": came.agent.signal,
        "timed_out": came.timed_out,
        "duration_ms": round(came.agent.seconds * 1000),
        "failure": came.crash,
        "tokens": came.usage.tokens,
        "usd": came.usage.usd,
        "tree_edit": "refused" if came.problems else "taken" if came.judged.edit else "none",
        "guard": {
            "verdict": iteration.guard,
            "command": list(bench.guard.command),
            "exit_status": None if guard is None else guard.exit_code,
            "duration_ms": 0 if guard is None else round(guard.seconds * 1000),
            "tests": None if came.judgement is None else came.judgement.tests,
        },
        "set_aside": came.set_aside,
        "notes": list(came.notes),
        "containment": {
            "strength": bench.containment.strength,
            "mechanism": bench.containment.mechanism,
        },
        "commit_sha": done.commit,
    }
