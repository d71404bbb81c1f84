"""A package with an agent, as pip leaves one behind: a module, and what is said of it."""

from __future__ import annotations

from pathlib import Path

ENTRY = "acme = acme_agent:make"
AGENT = '''\
"""An agent of another author: it speaks through a shell."""

from __future__ import annotations

from dataclasses import dataclass, field

from dwindle.adapters.agents.command import CommandAgent
from dwindle.ports.backend import Engagement

REPORTS = {
    "worker": '{"success": true, "summary": "by acme", "artifacts": ["done"], '
    '"usage": {"tokens": 1200, "usd": 0.03}}',
    "probe": '{"feasible": true, "findings": "easy"}',
    "verifier": '{"passed": true, "evidence": "acme has read it", "failures": []}',
    "planner": '{"questions": ["Which one?"]}',
}


def make(wanted: Engagement) -> CommandAgent:
    line = wanted.model or f"touch done 2> /dev/null; echo '{REPORTS[wanted.role]}'"
    return CommandAgent(argv=("sh", "-c", line), name="acme", network=wanted.network)


def stage(line, folder):
    del folder
    return CommandAgent(argv=("sh", "-c", line), name="acme")
'''


def install(
    folder: Path, entries: str = ENTRY, module: str = AGENT, name: str = "acme_agent"
) -> Path:
    """Put it where Python finds it, with this folder on its path."""
    told = folder / f"{name}-1.2.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (told / "entry_points.txt").write_text(f"[dwindle.agents]\n{entries}\n")
    (folder / f"{name}.py").write_text(module)
    return folder
