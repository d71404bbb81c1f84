"""Real runs, as small as they can be: one atom, one check, an agent that follows a script."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.surfaces.command import GRAPH_FILE, PLAIN, Ended, dwindle, repository, write

from dwindle.app.plans.load import load_graph
from dwindle.kernel.model import Plan

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
BRANCH = f"runner/{RUN}"
CERTIFICATE = f".runner/iterations/{RUN}/certificate.json"
JOURNAL = f".runner/journal/{RUN}.jsonl"
START = f".runner/journal/{RUN}.start.md"

DRAFT = """\
objective:
  goal: Make the check pass
  background_intent: It does not
  deliverables: A file named done
  definition_of_done: The check passes
  base_case:
    checklist:
      - item: It is done
        check: {type: command, value: sh check.sh}
atoms:
  - id: A1
    description: Write done
"""
NARROW = DRAFT.replace("  base_case:", "  constraints: {max_parallel_agents: 1}\n  base_case:")
"""One session is an iteration, so that `step` rests after the first."""
HOPELESS = DRAFT.replace(
    "  base_case:", "  constraints: {max_attempts: 2, max_winds: 1}\n  base_case:"
)
"""Soon given up where no attempt succeeds, after one wind."""
ASSERTED = DRAFT.replace(
    "atoms:",
    """\
      - item: It reads well
        check: {type: assertion, value: A reader finds it pleasant}
atoms:""",
)
TWO_ASSERTED = ASSERTED.replace(
    "atoms:",
    """\
      - item: It is short
        check: {type: assertion, value: It fits on a page}
atoms:""",
)

SETTINGS = '[agents]\nbackend = "scripted"\nscript = ".runner/script.yaml"\n'
SCRIPT = """\
worker:
  A1:
    - report: {success: false, reason: no pen}
    - do: [{write: {done: "yes"}}]
      report: {success: true, summary: done is written, artifacts: [done]}
  "*":
    - do: [{append: {done: " indeed"}}]
      report: {success: true, summary: fixed, artifacts: [done]}
verifier:
  "*":
    - report: {passed: true, evidence: it was read twice, failures: []}
"""
NEVER = """\
worker:
  "*":
    - report: {success: false, reason: no pen}
"""


def project(
    folder: Path,
    draft: str = DRAFT,
    script: str = SCRIPT,
    *,
    is_made: bool = False,
    settings: str = SETTINGS,
) -> Path:
    """A repository with an aligned plan and an agent for every role."""
    folder.mkdir(exist_ok=True)
    if not is_made:
        write(folder, "check.sh", "test -f done\n")
        repository(folder)
    write(folder, ".runner/config.toml", settings)
    write(folder, ".runner/script.yaml", script)
    write(folder, ".runner/draft.yaml", draft)
    words = ("--from", ".runner/draft.yaml", "--yes", "--run-id", RUN)
    said = dwindle(folder, "align", *words)
    assert said.code == 0, said
    return folder


def completed(folder: Path) -> Path:
    """A project whose run is completed."""
    project(folder)
    ran(folder, 0)
    return folder


def ran(folder: Path, code: int) -> Ended:
    ended = dwindle(folder, "run")
    assert (ended.code, ended.err) == (code, "")
    return ended


def plan_of(folder: Path) -> Plan:
    plan = load_graph((folder / GRAPH_FILE).read_bytes()).plan
    assert plan is not None
    return plan


def journal_of(folder: Path) -> list[dict[str, Any]]:
    """The events on record, with their numbers."""
    lines = (folder / JOURNAL).read_text().splitlines()
    return [found for line in lines if "event" in (found := json.loads(line))]


def asked_git(folder: Path, *words: str) -> str:
    asked = ["git", *words]
    return subprocess.run(
        asked, cwd=folder, env=PLAIN, check=True, capture_output=True, text=True
    ).stdout.strip()


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of the person and of the run, but git's own bookkeeping."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }
