"""Repositories with a planner in them, as talkative as a script makes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.surfaces.command import repository, write

CHECK = {"type": "command", "value": "sh check.sh"}
OBJECTIVE = {
    "goal": "Make done",
    "background_intent": "It is missing",
    "deliverables": "A file named done",
    "definition_of_done": "The check passes",
    "base_case": {"checklist": [{"item": "It is done", "check": CHECK}]},
}
DRAFT: dict[str, Any] = {
    "objective": OBJECTIVE,
    "atoms": [{"id": "A1", "description": "Write done"}],
}
SETTINGS = '[agents.planner]\nbackend = "scripted"\nscript = ".runner/script.json"\n'


def project(folder: Path, settings: str = SETTINGS) -> Path:
    """A repository whose check is red."""
    folder.mkdir()
    write(folder, "check.sh", "test -f done\n")
    repository(folder)
    write(folder, ".runner/config.toml", settings)
    return folder


def answers(folder: Path, occasion: str, *entries: dict[str, Any]) -> Path:
    """The planner reports these, one after the other."""
    script = json.dumps({"planner": {occasion: list(entries)}})
    return write(folder, ".runner/script.json", script)


def reports(folder: Path, occasion: str, *found: dict[str, Any]) -> Path:
    return answers(folder, occasion, *({"report": report} for report in found))


def order(folder: Path, number: int) -> dict[str, Any]:
    """What the n-th session was told."""
    kept = folder / f".runner/iterations/planning/{number:04}/order.json"
    found: dict[str, Any] = json.loads(kept.read_text("utf-8"))
    return found


def sessions(folder: Path) -> list[str]:
    logs = folder / ".runner/iterations/planning"
    return sorted(path.name for path in logs.iterdir()) if logs.is_dir() else []
