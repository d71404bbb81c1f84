"""Taking over what somebody made of the plan file by hand.

The journal says what the file held before: the plan that the run began with, and all that happened
since. What differs from that is what the person did. As far as it is theirs to change it becomes
redirects, which cost what redirects cost; the text below the front matter is theirs anyway and
costs nothing. Their file is kept beside the logs before ours takes its place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dwindle import wiring
from dwindle.adapters.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.adapters.formats import graph_plan
from dwindle.adapters.formats.graph_writer import GraphWriter
from dwindle.adapters.journals.jsonl import JsonlJournal, path_of
from dwindle.adapters.workspaces.repository import find
from dwindle.kernel.events import Redirected
from dwindle.kernel.model import Plan, RunStatus
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import Ledger, Store, digest
from dwindle.surfaces.at_rest import recorded
from dwindle.surfaces.cli.problem_list import Unsound
from dwindle.surfaces.history import history
from dwindle.surfaces.plan_edits import edited
from dwindle.surfaces.plan_owned import owned_problems
from dwindle.surfaces.plan_place import JOURNALS, PLAN_FILE
from dwindle.surfaces.refusal import Refused
from dwindle.surfaces.running import LOGS
from dwindle.surfaces.taken_up import start_of

KEPT = "plan-as-edited.md"
"""How the person's file is called, in the folder of the run's logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What is to be taken over; nothing has been changed yet."""

    run_id: str
    plan: Plan
    """As it is recorded, with everything that happened."""
    events: tuple[Redirected, ...]
    """None of them: only the text for people was changed, or how it is written."""
    found: bytes
    body: bytes


def looked_at(root: Path, why: str) -> Adoption:
    """What the person changed; Unsound says everything that they may not change."""
    with _locked(root) as file:
        data = file.read()
    decoded = graph_plan.decode(data)
    if decoded.draft is None:
        raise Unsound(PLAN_FILE, decoded.problems)
    run_id = decoded.draft.control.run_id
    if run_id is None or not path_of(root / JOURNALS, run_id).is_file():
        raise Refused(
            "there is nothing to adopt: no run has begun, so that the file is the plan",
            where=PLAN_FILE,
            hint="`dwindle validate` judges it, `dwindle run` starts it",
        )
    if digest(data) in history(root, run_id).content.versions:
        raise Refused(
            "there is nothing to adopt: the plan file is as we left it",
            where=PLAN_FILE,
            hint="edit it first; or say the change by options: `dwindle redirect --help`",
        )
    now, shown = _recorded(root, run_id, decoded.draft.control.revision)
    if now.control.status is RunStatus.COMPLETED:
        hint = "a new goal is a new alignment: `dwindle align`"
        raise Refused("the run is completed", where=PLAN_FILE, hint=hint)
    made = edited(shown, decoded.draft, now, why)
    problems = decoded.judged([*owned_problems(shown, decoded.draft), *made.problems])
    if not all(problem.warning for problem in problems):
        raise Unsound(PLAN_FILE, problems)
    return Adoption(
        run_id=run_id, plan=now, events=tuple(made.events), found=data, body=decoded.body
    )


async def adopt(root: Path, adoption: Adoption, events: Sequence[Redirected]) -> Plan:
    """Record it and make the file ours; Refused if it was changed again meanwhile."""
    repository = await find(root)
    disk = RealDisk()
    with _locked(root) as file:
        if file.read() != adoption.found:
            hint = "look at it, and say it again: `dwindle redirect --adopt`"
            raise Refused("the plan file was changed again meanwhile", where=PLAN_FILE, hint=hint)
        folder = root / LOGS / adoption.run_id
        make_directory(disk, folder)
        DurableFile(disk, folder / KEPT).replace(adoption.found)
        journal = JsonlJournal(disk, root / JOURNALS, adoption.run_id)
        store = Store(journal=journal, file=file, writer=GraphWriter(adoption.body))
        ledger = Ledger(adoption.plan, store)
        try:
            if events:
                await recorded(repository, ledger, adoption.run_id, events)
            ledger.put_back()
            return ledger.plan
        finally:
            ledger.close()


def _recorded(root: Path, run_id: str, revision: int) -> tuple[Plan, Plan]:
    """The plan as the journal has it, and as it was when the file had been written."""
    place = start_of(root / JOURNALS, run_id)
    start = wiring.load_graph(place.read_bytes()).plan if place.is_file() else None
    if start is None:
        raise Refused(
            "the plan that the run began with is not there",
            where=str(place.relative_to(root)),
            hint="without it nobody can tell what was changed; put the plan file back",
        )
    plan = shown = start
    for _, event in history(root, run_id).events():
        plan = apply(plan, event)
        if plan.control.revision == revision:
            shown = plan
    if shown.control.revision != revision:
        shown = plan  # that it was changed is said with the rest
    return plan, shown


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[DurableFile]:
    file = DurableFile(RealDisk(), root / PLAN_FILE)
    if not file.exists():
        hint = "agree on one first: `dwindle align`"
        raise Refused("there is no plan yet", where=PLAN_FILE, hint=hint)
    with DirectoryLock(file.path.parent):
        yield file
