"""`dwindle redirect --adopt`: turn a user's edits of the plan file into redirects.

The journal gives the plan as the file had it: the plan at the start of the run, and the events
since. The difference to the file is what the user changed. Changes that a user may make become
redirects and cost what redirects cost; the text below the front matter costs nothing. The user's
file is kept beside the logs before the runner writes its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from dwindle.adapters.formats.graph import plan as graph_plan
from dwindle.adapters.formats.graph.writer import GraphWriter
from dwindle.adapters.git.repository import find
from dwindle.adapters.store.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.adapters.store.journal import JsonlJournal, path_of
from dwindle.app.journal.run_journal import read_run_journal
from dwindle.app.paths import JOURNALS, LOGS, PLAN_FILE, start_of
from dwindle.app.plans.load import load_graph
from dwindle.app.plans.problem_list import Unsound
from dwindle.app.redirect.at_rest import record_redirects
from dwindle.app.redirect.plan_edits import edits_between
from dwindle.app.refusal import Refused
from dwindle.kernel.events import Redirected
from dwindle.kernel.model import RUNNER_OWNED, Plan, Problem, RunStatus
from dwindle.kernel.transitions import apply
from dwindle.runner.ledger import Ledger, Store, digest

KEPT = "plan-as-edited.md"
"""The name of the user's file in the folder of the run's logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """The changes found in the plan file; nothing is recorded yet."""

    run_id: str
    plan: Plan
    """As the journal has it."""
    events: tuple[Redirected, ...]
    """Empty if only the text below the front matter changed, or the spelling."""
    found: bytes
    body: bytes


def adoption_of(root: Path, why: str) -> Adoption:
    """The user's changes; Unsound lists every change that a user may not make."""
    with _locked_file(root) as file:
        data = file.read()
    decoded = graph_plan.decode(data)
    if decoded.draft is None:
        raise Unsound(PLAN_FILE, decoded.problems)
    run_id = decoded.draft.control.run_id
    if run_id is None or not path_of(root / JOURNALS, run_id).is_file():
        raise Refused(
            "there is nothing to adopt: no run has begun, so the file is the plan",
            where=PLAN_FILE,
            hint="`dwindle validate` judges it, `dwindle run` starts it",
        )
    if digest(data) in read_run_journal(root, run_id).content.versions:
        raise Refused(
            "there is nothing to adopt: the plan file is as we left it",
            where=PLAN_FILE,
            hint="edit it first, or use options: `dwindle redirect --help`",
        )
    now, shown = _plans_on_record(root, run_id, decoded.draft.control.revision)
    if now.control.status is RunStatus.COMPLETED:
        hint = "a new goal is a new alignment: `dwindle align`"
        raise Refused("the run is completed", where=PLAN_FILE, hint=hint)
    made = edits_between(shown, decoded.draft, now, why)
    problems = decoded.judged([*owned_problems(shown, decoded.draft), *made.problems])
    if not all(problem.warning for problem in problems):
        raise Unsound(PLAN_FILE, problems)
    return Adoption(
        run_id=run_id, plan=now, events=tuple(made.events), found=data, body=decoded.body
    )


async def adopt(root: Path, adoption: Adoption, events: Sequence[Redirected]) -> Plan:
    """Record the redirects and write the plan file; Refused if it was changed again meanwhile."""
    repository = await find(root)
    disk = RealDisk()
    with _locked_file(root) as file:
        if file.read() != adoption.found:
            hint = "look at it, and repeat the command: `dwindle redirect --adopt`"
            raise Refused("the plan file was changed again meanwhile", where=PLAN_FILE, hint=hint)
        folder = root / LOGS / adoption.run_id
        make_directory(disk, folder)
        DurableFile(disk, folder / KEPT).replace(adoption.found)
        journal = JsonlJournal(disk, root / JOURNALS, adoption.run_id)
        store = Store(journal=journal, file=file, writer=GraphWriter(adoption.body))
        ledger = Ledger(adoption.plan, store)
        try:
            if events:
                await record_redirects(repository, ledger, adoption.run_id, events)
            ledger.put_back()
            return ledger.plan
        finally:
            ledger.close()


def _plans_on_record(root: Path, run_id: str, revision: int) -> tuple[Plan, Plan]:
    """The plan now, and as it was at the revision of the file; both from the journal."""
    place = start_of(root / JOURNALS, run_id)
    start = load_graph(place.read_bytes()).plan if place.is_file() else None
    if start is None:
        raise Refused(
            "the plan that the run began with is not there",
            where=str(place.relative_to(root)),
            hint="without it the changes cannot be found; put the plan file back",
        )
    plan = shown = start
    for _, event in read_run_journal(root, run_id).events():
        plan = apply(plan, event)
        if plan.control.revision == revision:
            shown = plan
    if shown.control.revision != revision:
        shown = plan  # the revision was edited too; `owned_problems` reports it
    return plan, shown


@contextlib.contextmanager
def _locked_file(root: Path) -> Iterator[DurableFile]:
    file = DurableFile(RealDisk(), root / PLAN_FILE)
    if not file.exists():
        hint = "agree on one first: `dwindle align`"
        raise Refused("there is no plan yet", where=PLAN_FILE, hint=hint)
    with DirectoryLock(file.path.parent):
        yield file


# --- fields that belong to the runner ------------------------------------------------------------
#
# Counters bound a run, the Trail is what it turns back along, and the rest of `control` is its
# state. A user changes them by redirects, which the kernel judges and charges. Requests such as
# `stop_requested` mean nothing to a run that is over, so they may differ.

REQUESTS = ("stop_requested", "stop_reason", "redirect_requested")
INSTEAD = {
    "status": "`dwindle run` continues the run, `dwindle stop` ends it",
    "iteration": "`dwindle redirect --set max_iterations=N` allows more",
    "stall_count": "any redirect sets it to 0",
    "created": "`dwindle redirect --set max_atoms=N` allows more",
    "backjumps": "`dwindle redirect --set max_backjumps=N` allows more",
    "winds": "`dwindle redirect --set max_winds=N` allows more",
    "forgiven": "`dwindle redirect --set max_forgiven=N` allows more",
    "verifications": "`dwindle redirect --set max_verifications=N` allows more",
    "seconds": "`dwindle redirect --set max_wall_seconds=N` allows more",
    "tokens": "`dwindle redirect --set max_tokens=N` allows more",
    "usd": "`dwindle redirect --set max_cost_usd=N` allows more",
    "attempts": "`dwindle redirect --set max_attempts=N`, or max_attempts of the atom, allows more",
    "allowed": "max_attempts of the atom allows more",
    "infeasible": "rewrite the atom's description, and it is tried again",
    "probes": "`dwindle redirect --set max_probes=N` allows more",
    "aligned": "a new base case gets new pins: `dwindle redirect --base-case`",
}
PUT_BACK = "put it back as it was"
WHOLE = {
    "trail": ("trail",),
    "corrections": ("corrections",),
    "sessions": ("control", "in_flight"),
    "pace": ("control", "pace"),
    "verification": ("control", "verification"),
}
"""Parts of the plan that belong to the runner as a whole, and where the file has them."""


def owned_problems(ours: Plan, found: Plan) -> Iterator[Problem]:
    """Fields of the runner that were changed; `ours` is the plan that the runner wrote."""
    for one in fields(ours.control):
        now, then = getattr(found.control, one.name), getattr(ours.control, one.name)
        if one.name not in REQUESTS and now != then:
            yield _owned_problem(("control", one.name), one.name)
    for one in fields(ours.spent):
        now, then = getattr(found.spent, one.name), getattr(ours.spent, one.name)
        if now == then or (one.name == "created" and now == len(found.atoms)):
            continue  # a file that does not say how many were created has as many as it lists
        yield _owned_problem(("control", "spent", one.name), one.name)
    for index, (name, atom) in enumerate(found.atoms.items()):
        was = ours.atoms.get(name, atom.unspent())
        for counter in RUNNER_OWNED:
            if getattr(atom, counter) != getattr(was, counter):
                yield _owned_problem(("atoms", index, counter), f"{counter} of {name}", counter)
    for part, where in WHOLE.items():
        if getattr(ours, part) != getattr(found, part):
            yield _owned_problem(where, where[-1])


def _owned_problem(where: tuple[str | int, ...], what: str, name: str | None = None) -> Problem:
    return Problem(
        where=where,
        what=f"{what} belongs to the runner and was changed",
        hint=INSTEAD.get(name or what, PUT_BACK),
    )
