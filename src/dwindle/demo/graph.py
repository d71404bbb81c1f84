"""The demo of a graph plan: from a draft to a landed branch, with explanations.

The steps are the commands that a user would type.
"""

from __future__ import annotations

import asyncio
from contextlib import chdir
from pathlib import Path
from typing import Final

from dwindle.app import run as running
from dwindle.app.align.align import AlignRequest, align_plan
from dwindle.app.align.summary import text_of
from dwindle.app.console import say
from dwindle.app.land import LandRequest, land_run
from dwindle.app.paths import LOGS
from dwindle.demo import stage
from dwindle.kernel.events import (
    AtomResolved,
    AttemptFailed,
    ChoiceFailed,
    Decomposed,
    Event,
    SessionStarted,
)
from dwindle.kernel.model import ROOT, Plan, PlanKind, Role, StopCode
from dwindle.views.terminal.progress import Progress

CERTIFICATE_LINES: Final = 14
"""Down to the checks."""
LOOK_AROUND: Final = ("git log --stat", "dwindle status", "dwindle explain A3", "dwindle verify")


def show(root: Path) -> None:
    """Play the demo; raises WentWrong if it does not end as it should."""
    stage.note(f"A small project in {root}: tests, and none of the code they ask for.")
    draft = stage.shipped_text(PlanKind.GRAPH, "draft.yaml")
    contents = {**stage.project(PlanKind.GRAPH), "draft.yaml": draft}
    stage.make(root, contents, "What the till should do")
    with stage.python_on_path(), chdir(root):
        stage.command(*stage.UNITTEST)
        say(stage.tests(passing=False))

        stage.heading("A draft says what is wanted and how it is checked. Aligning agrees on it.")
        stage.command("dwindle", "align", "--from", "draft.yaml", "--yes")
        agreed = align_plan(AlignRequest(source=Path("draft.yaml"), yes=True), None)
        say(text_of(agreed.ready, agreed.kept))
        stage.note("The check was run first and is red, so that green will mean something.")
        stage.note("A worker that touches a pinned file has failed.")

        stage.heading(f"Now it runs. {stage.sandbox_sentence(root)}")
        stage.command("dwindle", "run", "--verbose")
        halted = asyncio.run(running.run(root, running.RunRequest(), GraphStory(root)))
        if halted.stop is None or halted.stop.code is not StopCode.COMPLETED:
            why = "nothing" if halted.stop is None else halted.stop.reason
            raise stage.WentWrong(f"the run ended without its goal: {why}")
        run = str(halted.plan.control.run_id)

        stage.heading("What was checked, on which commit, and what it took, is written down.")
        certificate = root / LOGS / run / "certificate.txt"
        stage.command("head", f"-{CERTIFICATE_LINES}", str(certificate.relative_to(root)))
        written = certificate.read_text(encoding="utf-8").splitlines()
        say("\n".join(written[:CERTIFICATE_LINES]))

        stage.heading("The result is on a branch of its own; yours is unchanged until you land it.")
        stage.command("dwindle", "land")
        say(land_run(root, LandRequest())["text"])
        stage.command("git", "log", "--oneline")
        say(stage.git(root, "log", "--oneline", "--no-decorate", stage.BRANCH))
        stage.command(*stage.UNITTEST)
        say(stage.tests(passing=True))


class GraphStory(Progress):
    """Progress lines, some of them followed by an explanation."""

    def __init__(self, root: Path) -> None:
        super().__init__(verbose=True)
        self._root = root
        self._explained: set[str] = set()

    def on_event(self, plan: Plan, event: Event) -> None:
        super().on_event(plan, event)
        meaning = self._meaning(plan, event)
        if meaning and meaning not in self._explained:
            self._explained.add(meaning)
            stage.note(meaning, self.say)

    def _meaning(self, plan: Plan, event: Event) -> str:
        match event:
            case SessionStarted(role=Role.VERIFIER):
                return (
                    "Everything is resolved. Now the whole base case, in a fresh checkout\n"
                    "and with the tests as they were agreed on."
                )
            case SessionStarted() if len(plan.sessions) == 2 and ROOT not in plan.sessions:
                return (
                    "Two workers at once, each in a work tree of its own; yours is not touched.\n"
                    "The gauge falls with every line and cannot fall for ever: so the run ends."
                )
            case AttemptFailed(atom="A2"):
                return (
                    "The agent said that it was done. What counts is the check, and that is red.\n"
                    "The next session is told why."
                )
            case AtomResolved(atom="A2"):
                return "The same check is green now. One commit for each resolved atom."
            case Decomposed():
                return (
                    "The agent asked to split its atom. The parts are paid from a budget that\n"
                    "cannot grow, so that no plan grows for ever."
                )
            case AtomResolved(atom="A6"):
                return f"The branch has {self._on_branch(plan)}"
            case ChoiceFailed():
                return (
                    "A part cannot be done, so this way is given up, with all that was done for\n"
                    f"it: the branch has {self._on_branch(plan)}\n"
                    "Nothing is lost: git keeps what was on it under refs/dwindle/attempts/.\n"
                    "Next is the other choice."
                )
        return ""

    def _on_branch(self, plan: Plan) -> str:
        branch = f"runner/{plan.control.run_id}"
        return stage.git(self._root, "ls-tree", "-r", "--name-only", branch, "till/").replace(
            "\n", " "
        )
