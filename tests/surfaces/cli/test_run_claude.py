"""Runs with a program that talks like claude: found, told what it may spend, and warned about."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.adapters.agents.claude_lines import FAKE, fake_claude
from tests.surfaces.command import dwindle, write
from tests.surfaces.small_runs import DRAFT, journal_of, plan_of, project

pytestmark = pytest.mark.slow

THREE = DRAFT.replace(
    "  base_case:", "  constraints: {max_parallel_agents: 3, max_cost_usd: 9}\n  base_case:"
).replace(
    "    description: Write done\n",
    """\
    description: Write done
  - id: A2
    description: Write two
  - id: A3
    description: Write three
""",
)
WORK = (
    "touch done at-$$; sleep 1; "
    'echo \'{"success": true, "summary": "s", "artifacts": []}\' > "$DWINDLE_REPORT"'
)


def test_three_at_once_are_not_promised_the_same_dollars(tmp_path: Path) -> None:
    folder = project(tmp_path / "here", THREE)
    fake_claude(tmp_path, WORK).rename(tmp_path / "real")
    program = write(
        tmp_path,
        "claude",
        f'#!/bin/sh\necho "$@" >> {tmp_path}/said\nexec {tmp_path}/real "$@"\n',
    )
    program.chmod(0o755)
    write(
        folder,
        ".runner/config.toml",
        f'[agents.worker]\nbackend = "claude"\ncommand = ["{program}"]\n[sandbox]\n'
        "enabled = false\n",
    )
    said = dwindle(folder, "run", ANTHROPIC_API_KEY="canary", HOME=str(tmp_path))
    assert plan_of(folder).spent.sessions >= 3, said
    told = re.findall(r"--max-budget-usd (\S+)", (tmp_path / "said").read_text())
    assert told[:3] == ["3.0000", "3.0000", "3.0000"]


def test_what_is_found_on_the_path_does_everything_and_is_warned_about_once(tmp_path: Path) -> None:
    folder = project(tmp_path / "here")
    (folder / ".runner/config.toml").unlink()
    (tmp_path / "bin").mkdir()
    fake_claude(tmp_path / "bin", WORK, program=FAKE.replace("2.1.197", "9.9.9"))
    said = dwindle(
        folder,
        "run",
        "--no-sandbox",
        ANTHROPIC_API_KEY="canary-key",
        HOME=str(tmp_path),
        PATH=f"{tmp_path}/bin:{os.environ['PATH']}",
    )
    assert said.code == 0, said
    warning = "warning: claude 9.9.9 was not tried with this, 2.1.197 to "
    assert said.out.count(warning) == 1
    assert [e["event"]["kind"] for e in journal_of(folder)].count("AtomResolved") == 1


def test_the_command_line_stands_above_what_is_found(tmp_path: Path) -> None:
    folder = project(tmp_path / "here")
    (folder / ".runner/config.toml").unlink()
    fake_claude(tmp_path, "exit 1")
    path = f"{tmp_path}:{os.environ['PATH']}"
    said = dwindle(folder, "run", "--agent", "scripted:.runner/script.yaml", PATH=path)
    assert said.code == 0, said
