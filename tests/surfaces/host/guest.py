"""A session of a host, as `dwindle` sees it: commands in a row, each with the session's id."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.surfaces.command import dwindle, git, repository, write
from tests.surfaces.small_runs import RUN, plan_of

from dwindle.app.host.lease import NOTE
from dwindle.kernel.model import AtomId, Plan, RunStatus
from dwindle.surfaces.host import hook, state_command

COORDINATOR = "dwindle:aot-coordinator"

PLAN = """\
objective:
  goal: Make files
  background_intent: A user asked for them
  deliverables: a.txt and b.txt
  definition_of_done: Both are there
  base_case:
    checklist:
      - item: Both are there
        check: {type: command, value: test -f a.txt -a -f b.txt}
atoms:
  - {id: A1, description: Make a.txt}
  - {id: A2, description: Make b.txt, depends_on: [A1]}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    code: int
    answer: Any

    def __getitem__(self, name: str) -> Any:
        return self.answer[name]


@dataclass(frozen=True, slots=True)
class Guest:
    """One session in one repository."""

    folder: Path
    session: str = "the-session"

    def state(self, *given: str) -> Said:
        with self._here(), contextlib.redirect_stdout(Out()) as out:
            code = state_command.answer(given)
        return Said(code=code, answer=json.loads(out.getvalue()))

    def hears(self, **given: Any) -> Any:
        """What the hook says to this; None if it says nothing."""
        return self.hears_raw(json.dumps({"session_id": self.session, **given}).encode())

    def hears_raw(self, given: bytes) -> Any:
        stdin = mock.Mock(buffer=io.BytesIO(given))
        with self._here(), contextlib.redirect_stdout(Out()) as out:
            before, sys.stdin = sys.stdin, stdin
            try:
                assert hook.answer() == 0
            finally:
                sys.stdin = before
        said = out.getvalue()
        return json.loads(said) if said else None

    def coordinator_ends(self, agent: str = "c1", **given: Any) -> Any:
        known = {"hook_event_name": "SubagentStop", "agent_type": COORDINATOR, "agent_id": agent}
        return self.hears(**known, **given)

    # --- what agents do --------------------------------------------------------------------------

    def starts(self, atom: str) -> Said:
        said = self.state("update-atom", atom, "in_progress")
        assert said.code == 0, said
        return said

    def does(self, atom: str, name: str, content: str = "x\n") -> Said:
        """Start it, write a file, claim success."""
        started = self.starts(atom)
        write(Path(started["worktree"]), name, content)
        return self.state("update-atom", atom, "resolved", "--summary", f"made {name}")

    def waits_until_stopped(self) -> None:
        until_stopped(self.folder)

    @property
    def plan(self) -> Plan:
        return plan_of(self.folder)

    def status(self, atom: str) -> str:
        return str(self.plan.atoms[AtomId(atom)].status)

    @contextlib.contextmanager
    def _here(self) -> Iterator[None]:
        here = {"CLAUDE_CODE_SESSION_ID": self.session, "CLAUDE_PROJECT_DIR": str(self.folder)}
        with mock.patch.dict(os.environ, here), contextlib.chdir(self.folder):
            yield


def until_stopped(folder: Path) -> None:
    """A session that ends has its run stopped by a process that outlives it."""
    end = time.monotonic() + 30
    while (folder / NOTE).exists() or plan_of(folder).control.status is RunStatus.RUNNING:
        assert time.monotonic() < end, "it is not stopped"
        time.sleep(0.05)


class Out(io.StringIO):
    """What is printed; the command chooses how, as for any stdout."""

    def reconfigure(self, **_: object) -> None: ...


def aligned(folder: Path, plan: str = PLAN, *more: str) -> Guest:
    """A session in a repository with a plan that was agreed on."""
    repository(folder)
    write(folder, ".runner/draft.yaml", plan)
    given = ("--from", ".runner/draft.yaml", "--yes", "--run-id", RUN, *more)
    ended = dwindle(folder, "align", *given)
    assert ended.code == 0, ended
    return Guest(folder)


def entered(folder: Path, plan: str = PLAN) -> Guest:
    guest = aligned(folder, plan)
    said = guest.state("enter")
    assert said.code == 0, said
    return guest


__all__ = ["COORDINATOR", "PLAN", "Guest", "Said", "aligned", "entered", "git", "repository"]
