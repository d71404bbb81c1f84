"""Align: check the draft, run the base case once, and write the plan.

Nothing is written until the user has seen everything, so they can leave at any time. Then the plan
file is written in one durable step, and the file it replaces is kept beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path

from dwindle.adapters.formats.draft.plan import Draft, decode_draft
from dwindle.adapters.formats.graph.spelling import texts
from dwindle.adapters.formats.graph.writer import GraphWriter
from dwindle.adapters.git import repository as repositories
from dwindle.adapters.git.worktrees.provision import check_share
from dwindle.adapters.store.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.app.align.dialogue import (
    DraftPlanner,
    Terminal,
    draft_text_from,
    is_yes,
    review_draft,
)
from dwindle.app.align.planner import planner_of
from dwindle.app.align.planning import Drafting
from dwindle.app.align.summary import checked_rows
from dwindle.app.console import USAGE, complain
from dwindle.app.open_run.shared import Site, new_run_id, site_of
from dwindle.app.paths import PLAN_FILE, journal_path
from dwindle.app.plans.load import load, load_draft
from dwindle.app.plans.plan_files import read
from dwindle.app.plans.problem_list import problem_lines
from dwindle.app.refusal import Refused
from dwindle.app.settings import SETTINGS_FILE, settings_for
from dwindle.kernel.model import EXIT_CODES, Plan, PlanKind, Problem, RunStatus, StopCode
from dwindle.runner import alignment
from dwindle.runner.alignment import RUN_ID, Alignment, Baseline
from dwindle.runner.gate.work_paths import proposed_work_paths
from dwindle.text.terminal import one_line

LEFT = EXIT_CODES[StopCode.STOPPED_BY_USER]
NOT_ALIGNED = EXIT_CODES[StopCode.NOT_ALIGNED]
DIALOGUE = "the dialogue"
"""In the place of a file name, where the draft comes from a dialogue."""
NOT_RED = {
    Baseline.ALREADY_GREEN: (
        "THE BASE CASE IS GREEN ALREADY, before any work: passing it would prove nothing.",
        "--already-green-ok",
    ),
    Baseline.COULD_NOT_RUN: (
        "The base case could not run, so that its failing proves nothing.",
        "--cannot-run-yet-ok",
    ),
}
"""What to say about it, and the option that accepts it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedPlan:
    """A plan that is written."""

    source: str
    ready: Alignment
    kept: str | None
    """The name under which the plan before it is kept."""


class UserLeft(Exception):
    """The user left the dialogue."""


class DraftRefused(Exception):
    """The draft has problems that keep a run from starting."""

    def __init__(self, source: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(source, problems)
        self.source = source
        self.problems = problems

    @property
    def code(self) -> int:
        return NOT_ALIGNED if any(problem.unaligned for problem in self.problems) else USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignRequest:
    """The options of `dwindle align`."""

    source: Path | None = None
    draft: str = ""
    """A draft, instead of a file with one."""
    yes: bool = False
    planner: bool = True
    replace: bool = False
    already_green_ok: bool = False
    cannot_run_yet_ok: bool = False
    run_id: str | None = None
    json: bool = False
    agents: Mapping[str, object] = field(default_factory=dict)
    """The planner's agent, as `agent_overrides` reads it."""

    @property
    def accepted(self) -> tuple[Baseline, ...]:
        """The baselines that the user accepts."""
        green = (Baseline.ALREADY_GREEN,) if self.already_green_ok else ()
        stuck = (Baseline.COULD_NOT_RUN,) if self.cannot_run_yet_ok else ()
        return (Baseline.RED, *green, *stuck)


def align_plan(request: AlignRequest, terminal: Terminal | None) -> AlignedPlan:
    """Raises Left, Gate, Refused, Locked, StoreFailed; then nothing is written."""
    if request.run_id is not None and not RUN_ID.fullmatch(request.run_id):
        hint = "26 digits and capital letters; leave it out for a new one"
        raise Refused(f"{one_line(request.run_id)!r} is no run id", where="--run-id", hint=hint)
    has_draft = request.source is not None or bool(request.draft)
    if terminal is None and (not has_draft or not request.yes):
        raise Refused(
            "cannot ask: this is not a terminal",
            hint="write a draft and run `dwindle align --from FILE --yes`; docs/state-file.md\n"
            "  has its fields, and status, depends_on and empty sections may be left out",
        )
    if not has_draft and request.yes:
        hint = "add --from FILE, or leave out --yes and answer some questions"
        raise Refused("--yes to what?", hint=hint)
    found = asyncio.run(repositories.find(Path.cwd()))
    place = PlanPlace(found.checkout)
    place.refuse_to_overwrite(replace=request.replace)
    place.refuse_in_use()
    run_id = request.run_id or new_run_id()
    place.refuse_used(run_id)
    settings = settings_for(found.checkout, request.agents)
    if settings.settings is None:
        raise DraftRefused(SETTINGS_FILE, settings.problems)

    site = site_of(found, settings.settings)
    planner = _planner(request, terminal, site)
    files = asyncio.run(_files(found))
    source, draft, warnings = _draft(request, terminal, planner, files)
    assert draft.plan is not None  # noqa: S101 - else DraftRefused was raised
    if not request.json:
        complain("Running the base case once, in a fresh checkout...")
    ready = asyncio.run(_alignment(draft.plan, run_id, site))
    ready = changed(ready, warnings=(*warnings, *draft.located(ready.warnings)))
    _insist_on_red(ready, source, request, terminal)
    kept = place.write(ready, _body(draft), replace=request.replace)
    return AlignedPlan(source=source, ready=ready, kept=kept)


async def _alignment(plan: Plan, run_id: str, site: Site) -> Alignment:
    await check_share(site.repository, site.settings.workspace.share)
    return await alignment.align(plan, run_id, site.surroundings())


# --- the draft -----------------------------------------------------------------------------------


async def _files(repository: repositories.Repository) -> tuple[str, ...]:
    return await repository.tracked(await repository.head())


def _draft(
    request: AlignRequest,
    terminal: Terminal | None,
    planner: DraftPlanner | None,
    files: Sequence[str],
) -> tuple[str, Draft, tuple[Problem, ...]]:
    """The name of its source, the draft, and warnings."""
    source = DIALOGUE if request.source is None else str(request.source)
    if request.draft:
        text = with_work_paths(request.draft, files)
    elif request.source is not None:
        text = read(source).decode(errors="surrogateescape")
        text = text if request.yes else with_work_paths(text, files)
    else:
        assert terminal is not None  # noqa: S101 - or it would have been refused
        text = with_work_paths(draft_text_from(terminal, planner), files)
    data = text.encode(errors="surrogateescape")
    if terminal is not None and not request.yes:
        data = _accepted_text(terminal, text, source, planner)
    draft, problems = load_draft(data)
    if draft.plan is None or not all(problem.warning for problem in problems):
        raise DraftRefused(source, problems)
    if draft.counted:
        problems = (*problems, _counters_warning(source))
    return source, draft, problems


def with_work_paths(text: str, files: Sequence[str]) -> str:
    """The draft with proposed work paths, for the user to see, unless it has some."""
    plan = decode_draft(text.encode(errors="surrogateescape")).plan
    if plan is None or plan.objective.work_paths:
        return text
    proposed = proposed_work_paths(plan, files)
    line = f"  work_paths: {texts(proposed)}  # where workers may change files\n"
    head, found, rest = text.partition("objective:\n")
    changed_text = f"{head}{found}{line}{rest}"
    read_back = decode_draft(changed_text.encode(errors="surrogateescape")).plan
    return changed_text if read_back and read_back.objective.work_paths == proposed else text


def _planner(request: AlignRequest, terminal: Terminal | None, site: Site) -> DraftPlanner | None:
    """The planner; None if there is none, which is no reason to stop."""
    if terminal is None or request.source or request.draft or not request.planner:
        return None
    try:
        found = planner_of(site)
    except Refused as refusal:
        terminal.say(f"There is no planner: {refusal.what}.")
        return None
    return None if found is None else Drafting(found, terminal)


def _accepted_text(
    terminal: Terminal, text: str, source: str, planner: DraftPlanner | None = None
) -> bytes:
    def faults(draft: str) -> Sequence[str]:
        _, problems = load_draft(draft.encode(errors="surrogateescape"))
        return list(problem_lines(source, [p for p in problems if not p.warning]))

    chosen = review_draft(terminal, text, faults, planner)
    if chosen is None:
        raise UserLeft
    return chosen.encode(errors="surrogateescape")


def _counters_warning(source: str) -> Problem:
    return Problem(
        where=("control",),
        what=f"{source} comes from an earlier run; its counters start at 0",
        hint="atoms that were resolved or given up stay so",
        warning=True,
    )


def _body(draft: Draft) -> bytes:
    if draft.body.strip():
        return draft.body
    assert draft.plan is not None  # noqa: S101 - as above
    return f"\n# Original Prompt\n\n{draft.plan.objective.goal.strip()}\n".encode()


def _insist_on_red(
    ready: Alignment, source: str, request: AlignRequest, terminal: Terminal | None
) -> None:
    """A base case that is not red before the work proves nothing after it."""
    if ready.baseline in request.accepted:
        return
    what, flag = NOT_RED[ready.baseline]
    said = "\n".join([*problem_lines(source, ready.warnings), *checked_rows(ready), what])
    if terminal is not None and not request.yes:
        terminal.say(said)
        if is_yes(terminal, "Go on all the same?"):
            return
        raise UserLeft
    complain(said)
    raise Refused("nothing was written", hint=f"change the base case, or add {flag}")


class PlanPlace:
    """Where `align` writes the plan file of a repository; it keeps the plan that was there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.disk = RealDisk()
        self.file = DurableFile(self.disk, self.root / PLAN_FILE)

    def refuse_to_overwrite(self, *, replace: bool) -> None:
        """Called before the user has answered ten questions."""
        if replace or not self.file.exists():
            return
        old = self._old()
        if old is None or old.control.status is not RunStatus.COMPLETED:
            state = "that cannot be read" if old is None else f"that is {old.control.status}"
            raise Refused(
                f"there is a plan {state}",
                where=PLAN_FILE,
                hint="--replace puts another in its place and keeps this one beside it;\n"
                "  `dwindle redirect` changes it and goes on",
            )

    def refuse_in_use(self) -> None:
        """Raises Locked while a run is going on, before the user answers questions in vain."""
        folder = self.file.path.parent
        if folder.is_dir():
            DirectoryLock(folder).release()

    def refuse_used(self, run_id: str) -> None:
        """A journal belongs to one run."""
        if DurableFile(self.disk, journal_path(self.root, run_id)).exists():
            hint = "leave out --run-id for a new one"
            raise Refused(f"{run_id} has been run already", where="--run-id", hint=hint)

    def write(self, ready: Alignment, body: bytes, *, replace: bool) -> str | None:
        """Write the plan; the name under which the old one is kept, if there was one."""
        folder = self.file.path.parent
        make_directory(self.disk, folder)
        with DirectoryLock(folder):
            self.refuse_to_overwrite(replace=replace)
            self.file.sweep()
            name = kept = None
            if self.file.exists():
                old = self._old()
                former = old.control.run_id if old is not None else None
                former = former if former and RUN_ID.fullmatch(former) else None
                name = alignment.kept_name(self.file.path.name, former, self._is_taken)
                kept = DurableFile(self.disk, folder / name)
            alignment.record(ready, writer=GraphWriter(body), file=self.file, kept=kept)
        return None if name is None else str(Path(PLAN_FILE).with_name(name))

    def _old(self) -> Plan | None:
        return load(PlanKind.GRAPH, self.file.read()).plan

    def _is_taken(self, name: str) -> bool:
        return DurableFile(self.disk, self.file.path.with_name(name)).exists()
