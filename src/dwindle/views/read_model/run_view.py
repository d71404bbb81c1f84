"""A run as one picture, for everything that shows runs: `watch`, `report` and the page.

What there is (the shapes are in `shapes`, all of them JSON as they are, all text in them plain):

    runs(root) -> list[RunLine]                       every run on record, the newest first (`runs`)
    current_run(root, kind=None) -> str | None        the run of the plan that is here now (`runs`)

    Follower(root, run)                               reads nothing yet
        .poll() -> Change | None                      what was added since; None if nothing
        .picture() -> Picture                         everything, as of the last poll
        .head() -> Head                               only what is small
        .plan -> Plan | None                          to ask the kernel about
        .nodes, .sessions, .lines                     parts of the picture, by id, by nonce, listed
        .is_running() -> bool                         a runner holds the plan right now

    parts_of(root, run, session) -> list[Part]        what is kept of a session (`attempt_files`)
    read_part(root, run, session, name, ...) -> Text  one of them, bounded, plain
    last_lines(root, run, session, count) -> list[str]

`poll` reads the bytes that were added to the journal and folds them; at 1,000 atoms that is a few
milliseconds. It is cheap to call often: without news it costs two `stat`s. A `Follower` belongs to
one thread. It never writes, never locks, and needs no runner: past runs are folded the same way.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from dwindle.adapters.store.journal import JournalDamaged
from dwindle.adapters.store.journal_tail import Tail
from dwindle.app.paths import JOURNALS
from dwindle.app.plans.load import PLAN_FILES
from dwindle.app.plans.next_step import next_step
from dwindle.app.spending.account import RunSpending
from dwindle.kernel.graph import view
from dwindle.kernel.measure import measure
from dwindle.kernel.model import EXIT_CODES, Answer, Plan, PlanKind, RunStatus
from dwindle.text.escape import excerpt
from dwindle.text.terminal import without_rulers
from dwindle.views.read_model.fold import EVENTS, Fold
from dwindle.views.read_model.nodes import Nodes, resolved_count
from dwindle.views.read_model.proof import base_case_of, certificate_of
from dwindle.views.read_model.runs import current_run, is_at_work, runs
from dwindle.views.read_model.shapes import (
    BudgetView,
    EventView,
    Head,
    NodeView,
    Phase,
    RunChange,
    RunPicture,
    SessionView,
)

__all__ = ["Follower", "current_run", "runs"]

DAMAGED: Final = "another program changed it, so the rest of it is not shown"


LOOK_EVERY: Final = 0.5
AT_WORK: Final = ("running", "paused", "stopping")
"""Phases in which a runner has the plan."""


class Follower:
    def __init__(self, root: Path, run: str) -> None:
        """StoreFailed if this can be no run's name."""
        self._root = root
        self.run = run
        self._tail = Tail(root / JOURNALS, run)
        self._begin()

    def _begin(self) -> None:
        self._fold = Fold(self._root, self.run)
        self._nodes = Nodes()
        self._phase: Phase | None = None
        self._damage = ""
        self._had_journal = self._tail.path.exists()
        self._looked = -LOOK_EVERY
        self._at_work = False

    @property
    def plan(self) -> Plan | None:
        return self._fold.plan

    @property
    def kind(self) -> PlanKind:
        return self._fold.kind

    @property
    def nodes(self) -> Mapping[str, NodeView]:
        """By id, parents before children; as of the last poll."""
        return self._nodes.by_id

    @property
    def sessions(self) -> Mapping[int, SessionView]:
        """By nonce, in the order of their starts."""
        return self._fold.sessions.by_nonce

    @property
    def lines(self) -> Sequence[EventView]:
        """The last events."""
        return self._fold.lines

    @property
    def is_damaged(self) -> bool:
        """Another program changed the journal: nothing more will be read from it."""
        return bool(self._damage)

    @property
    def notes(self) -> list[str]:
        """What could not be read, or cannot be trusted."""
        return [*self._fold.notes, *([self._damage] if self._damage else [])]

    def is_running(self) -> bool:
        """Looked at twice a second at most: it takes reading a table of all locks."""
        now = time.monotonic()
        if now - self._looked >= LOOK_EVERY:
            self._looked = now
            self._at_work = is_at_work(self._root, self.run, self._fold.kind)
        return self._at_work

    # --- following -------------------------------------------------------------------------------

    def poll(self) -> RunChange | None:
        """What is different since the last call; the first time, everything there is."""
        reset = self._tail.is_another()
        if not self._had_journal and self._tail.path.exists():
            reset = True
        if reset:
            self._begin()
        points, marks = len(self._fold.series.points), len(self._fold.series.marks)
        added = self._read()
        phase = self.phase()
        if not added and phase == self._phase and not reset:
            return None
        self._phase = phase
        plan = self._fold.plan
        nodes, removed = ([], []) if plan is None else self._nodes.update(plan)
        sessions = self._fold.sessions
        changed, sessions.changed = list(sessions.changed), {}
        return RunChange(
            reset=reset,
            head=self.head(),
            nodes=nodes,
            removed=removed,
            sessions=[sessions.by_nonce[nonce].copy() for nonce in changed],
            points=self._fold.series.points[points:],
            marks=self._fold.series.marks[marks:],
            events=self._fold.lines[-added:][-EVENTS:] if added else [],
        )

    def _read(self) -> int:
        """How many events were added."""
        count = 0
        if self._damage:
            return 0
        try:
            for number, event in self._tail.added():
                self._fold.take(number, event)
                count += 1
        except JournalDamaged as damage:
            where = f"{JOURNALS}/{damage.path.name}, line {damage.line}"
            self._damage = excerpt(f"{where}: {damage.reason}; {DAMAGED}")
        return count

    def phase(self) -> Phase:
        plan = self._fold.plan
        if plan is None or plan.control.status is RunStatus.PENDING:
            return "pending"
        if plan.control.status is RunStatus.COMPLETED:
            return "completed"
        if plan.control.status is RunStatus.STOPPED:
            return "stopped"
        if not self.is_running():
            return "cut_short" if plan.sessions or self._fold.unfinished_tree else "resting"
        if plan.control.stop_requested:
            return "stopping"
        return "paused" if plan.control.redirect_requested else "running"

    # --- all of it -------------------------------------------------------------------------------

    def head(self) -> Head:
        fold, plan = self._fold, self._fold.plan
        head = Head(
            run=self.run,
            kind=fold.kind.value,
            phase=self._phase or self.phase(),
            stop_code="",
            exit_code=None,
            reason="",
            next="",
            revision=self._tail.last,
            iteration=0,
            max_iterations=0,
            seconds=0.0,
            at=fold.at,
            atoms=0,
            open=0,
            resolved=0,
            left=0,
            parked=0,
            failing=0,
            ready=0,
            running=[session["nonce"] for session in fold.sessions.running()],
            gauge=0,
            first_gauge=fold.first_gauge,
            work=0,
            most_work=fold.most_work,
            bound=0,
            tokens=0,
            usd=0.0,
            questions=[],
        )
        if plan is None:
            return head
        control, seen = plan.control, view(plan)
        head["stop_code"] = control.stop_code or ""
        head["exit_code"] = None if control.stop_code is None else EXIT_CODES[control.stop_code]
        head["reason"] = excerpt(without_rulers(control.stop_reason or ""))
        head["next"] = "" if head["phase"] in AT_WORK else excerpt(next_step(plan))
        head["iteration"] = control.iteration
        head["max_iterations"] = plan.limits.max_iterations
        head["seconds"] = plan.spent.seconds
        head["atoms"] = len(plan.atoms)
        head["open"] = seen.open_count
        head["resolved"] = resolved_count(plan)
        head["left"] = sum(name in seen.buried for name in plan.atoms)
        head["parked"], head["failing"] = self._nodes.counts
        head["ready"] = len(seen.ready)
        now = fold.series.latest(plan, fold.at)
        head["gauge"], head["work"], head["bound"] = now["gauge"], now["work"], now["bound"]
        head["tokens"] = plan.spent.tokens
        head["usd"] = plan.spent.usd
        head["questions"] = [
            excerpt(question.item)
            for question in plan.verification.questions
            if question.answer is Answer.OPEN
        ]
        return head

    def picture(self) -> RunPicture:
        fold, plan = self._fold, self._fold.plan
        certificate, problem = certificate_of(self._root, self.run)
        if plan is not None and not self._nodes.by_id:
            self._nodes.update(plan)
        points = list(fold.series.points)
        if plan is not None and (not points or points[-1]["n"] != plan.control.revision):
            points.append(fold.series.latest(plan, fold.at))
        return RunPicture(
            format=1,
            head=self.head(),
            goal="" if plan is None else excerpt(plan.objective.goal),
            plan_file=PLAN_FILES[fold.kind],
            branch=f"runner/{self.run}",
            nodes=list(self._nodes.by_id.values()),
            sessions=[session.copy() for session in fold.sessions.by_nonce.values()],
            points=points,
            marks=list(fold.series.marks),
            events=fold.lines[-EVENTS:],
            budgets=[] if plan is None else budgets_of(plan),
            spending=_spending(fold.account.spending()),
            trail=[] if plan is None else [_flat(asdict(entry)) for entry in plan.trail],
            corrections=[] if plan is None else [_flat(asdict(c)) for c in plan.corrections],
            base_case=[] if plan is None else base_case_of(plan),
            certificate=certificate,
            measure={} if plan is None else measure(plan)._asdict(),
            notes=[*self.notes, *([problem] if problem else [])],
        )


def budgets_of(plan: Plan) -> list[BudgetView]:
    """What is limited, the most telling first; None is without limit."""
    limits, spent = plan.limits, plan.spent
    pairs: list[tuple[str, float, float | None]] = [
        ("iterations", plan.control.iteration, limits.max_iterations),
        ("seconds", spent.seconds, limits.max_wall_seconds),
        ("usd", spent.usd, limits.max_cost_usd),
        ("tokens", spent.tokens, limits.max_tokens),
        ("atoms", spent.created, limits.max_atoms),
        ("verifications", spent.verifications, limits.max_verifications),
        ("backjumps", spent.backjumps, limits.max_backjumps),
        ("winds", spent.winds, limits.max_winds),
        ("redirects", spent.redirects, limits.max_redirects),
        ("forgiven", spent.forgiven, limits.max_forgiven),
    ]
    return [
        BudgetView(name=name, spent=used, limit=limit)
        for name, used, limit in pairs
        if used or limit != 0  # a tree has no redirects, choices or rounds to spend
    ]


def _spending(spent: RunSpending) -> dict[str, Any]:
    return {
        "run": asdict(spent.run),
        "by_role": {excerpt(role): asdict(total) for role, total in spent.by_role.items()},
        "by_atom": {excerpt(atom): asdict(total) for atom, total in spent.by_atom.items()},
    }


def _flat(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: excerpt(found) if isinstance(found, str) else found for name, found in fields.items()
    }
