"""Align: check the draft, run the base case once, and write the plan.

No plan is written until the user has seen everything, so they can leave at any time; what they
typed is in a file (see `kept_draft`). Then the plan file is written in one durable step, and the
file it replaces is kept beside it.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path

from dwindle.adapters.formats.draft.plan import Draft, decode_draft
from dwindle.adapters.formats.graph.spelling import texts
from dwindle.adapters.formats.graph.writer import GraphWriter
from dwindle.adapters.git import repository as repositories
from dwindle.adapters.git.worktrees.provision import check_share
from dwindle.adapters.store.disk import DirectoryLock, DurableFile, RealDisk, make_directory
from dwindle.app.align.answers import Answers, answers_in, document
from dwindle.app.align.dialogue import (
    DraftPlanner,
    NoTerminal,
    Terminal,
    draft_text_from,
    is_yes,
    review_draft,
)
from dwindle.app.align.goal import as_one_atom
from dwindle.app.align.judge_checks import JudgedChecks, judge_checks
from dwindle.app.align.kept_draft import DRAFT_FILE, KeptDraft
from dwindle.app.align.planner import planner_of
from dwindle.app.align.planning import Drafting
from dwindle.app.align.summary import checked_rows, outlook_rows
from dwindle.app.console import USAGE, complain
from dwindle.app.environments import write_provision
from dwindle.app.open_run.shared import Site, new_run_id, site_of, valid_settings
from dwindle.app.paths import PLAN_FILE, journal_path
from dwindle.app.plans.load import load, load_draft
from dwindle.app.plans.plan_files import read
from dwindle.app.plans.problem_list import problem_lines
from dwindle.app.refusal import Refused
from dwindle.app.settings import SETTINGS_FILE, settings_for
from dwindle.kernel.model import EXIT_CODES, Plan, PlanKind, Problem, RunStatus, StopCode
from dwindle.runner import alignment
from dwindle.runner.alignment import RUN_ID, Alignment, Baseline
from dwindle.runner.gate.deciding_files import pinned_work
from dwindle.runner.gate.pins import pins_of
from dwindle.runner.gate.work_paths import proposed_work_paths
from dwindle.text.terminal import one_line

LEFT = EXIT_CODES[StopCode.STOPPED_BY_USER]
NOT_ALIGNED = EXIT_CODES[StopCode.NOT_ALIGNED]
GO_ON = "`dwindle align` offers to go on from it"
DIALOGUE = "the dialogue"
"""In the place of a file name, where the draft comes from a dialogue."""
GREEN = "THE BASE CASE IS GREEN ALREADY, before any work: passing it would prove nothing."
STUCK = "These checks cannot tell whether the work is done; their failing proves nothing:"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignedPlan:
    """A plan that is written."""

    source: str
    ready: Alignment
    kept: str | None
    """The name under which the plan before it is kept."""


class UserLeft(Exception):
    """The user left the dialogue."""

    def __init__(self, kept: str = "") -> None:
        super().__init__(kept)
        self.kept = kept
        """The file with the draft, if there is one."""


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
    given: Answers | None = None
    """A goal and its checks, instead of a file with a draft."""
    yes: bool = False
    planner: bool = True
    replace: bool = False
    already_green_ok: bool = False
    cannot_run_yet_ok: bool = False
    run_id: str | None = None
    json: bool = False
    agents: Mapping[str, object] = field(default_factory=dict)
    """The planner's agent, as `agent_overrides` reads it."""


def align_plan(request: AlignRequest, terminal: Terminal | None) -> AlignedPlan:
    """Raises UserLeft, DraftRefused, Refused, Locked, StoreFailed; then no plan is written."""
    if request.run_id is not None and not RUN_ID.fullmatch(request.run_id):
        hint = "26 digits and capital letters; leave it out for a new one"
        raise Refused(f"{one_line(request.run_id)!r} is no run id", where="--run-id", hint=hint)
    has_draft = request.source is not None or request.given is not None
    if terminal is None and (not has_draft or not request.yes):
        raise Refused(
            "cannot ask: this is not a terminal",
            hint="write a draft and run `dwindle align --from FILE --yes`;\n"
            "  `dwindle help state-file` has its fields, and status, depends_on and empty\n"
            "  sections may be left out",
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
    kept = KeptDraft(found)
    try:
        source, draft, ready = _agreement(request, terminal, site, run_id, kept)
    except (UserLeft, EOFError, KeyboardInterrupt):
        raise UserLeft(DRAFT_FILE if kept.is_ours else "") from None
    except BaseException:
        if kept.is_ours:
            complain(f"The draft is kept: {DRAFT_FILE}; {GO_ON}")
        raise
    was = place.write(ready, _body(draft), replace=request.replace)
    kept.remove()
    return AlignedPlan(source=source, ready=ready, kept=was)


def _agreement(
    request: AlignRequest, terminal: Terminal | None, site: Site, run_id: str, kept: KeptDraft
) -> tuple[str, Draft, Alignment]:
    """The name of the source, the draft as it was accepted, and what its checks say now."""
    asks = terminal if not request.yes else None
    source = DIALOGUE if request.source is None else str(request.source)
    if request.source is not None and request.source.resolve() == kept.path:
        kept.take_up(stays=True)
    planner = _planner(request, terminal, site, kept)
    files = asyncio.run(_files(site.repository))
    not_work = () if request.source is None else (os.path.relpath(request.source, site.root),)
    text = _first_text(request, asks, planner, kept)
    if request.source is None or asks is not None:
        text = with_work_paths(text, files)
        kept.keep(text)
    while True:
        if asks is not None:
            text = _accepted_text(asks, text, source, planner, kept)
        draft, warnings = _judged(text, source)
        draft, about_pins = _without_pins_of_work(draft, files, asks)
        assert draft.plan is not None  # noqa: S101 - else DraftRefused was raised
        if not request.json:
            complain("Running the base case once, in a fresh checkout...")
        ready, judged = asyncio.run(_alignment(draft.plan, run_id, site, not_work))
        while asks is not None and _provided(judged, site, asks):
            site = site_of(site.repository, valid_settings(site.root, request.agents))
            ready, judged = asyncio.run(_alignment(draft.plan, run_id, site, not_work))
        located = draft.located((*ready.warnings, *about_pins))
        ready = changed(ready, warnings=(*warnings, *located))
        if _is_red(ready, judged, source, request, asks):
            return source, draft, _with_objections(ready, draft, judged)


def _with_objections(ready: Alignment, draft: Draft, judged: JudgedChecks) -> Alignment:
    """What speaks against checks that the user accepts all the same is a warning."""
    if not judged.objections:
        return ready
    stuck = draft.located(tuple(one.warning for one in judged.objections))
    baseline = ready.baseline
    if baseline is Baseline.RED:
        baseline = Baseline.COULD_NOT_RUN
    return changed(ready, baseline=baseline, warnings=(*ready.warnings, *stuck))


def _without_pins_of_work(
    draft: Draft, files: Sequence[str], terminal: Terminal | None
) -> tuple[Draft, tuple[Problem, ...]]:
    """Ask, or warn, about pins that may be what the work has to change."""
    assert draft.plan is not None  # noqa: S101 - else DraftRefused was raised
    objective = draft.plan.objective
    found = pinned_work(objective, pins_of(objective, files))
    if terminal is None:
        return draft, tuple(map(_pin_warning, found))
    free = []
    for path in found:
        terminal.say(f"A check names {path}, which is no test and no script, and so pins it.")
        if is_yes(terminal, "May agents change it?"):
            free.append(f"!{path}")
    paths = (*objective.protected_paths, *free)
    plan = changed(draft.plan, objective=changed(objective, protected_paths=paths))
    return changed(draft, plan=plan), ()


def _pin_warning(path: str) -> Problem:
    return Problem(
        where=("objective", "base_case"),
        what=f"a check names {path}, which is no test and no script, and so pins it: "
        "no agent may change it",
        hint=f'if the work has to, add protected_paths: ["!{path}"] to the objective, or later '
        f"`dwindle redirect --unpin {shlex.quote(path)}`",
        warning=True,
    )


async def _alignment(
    plan: Plan, run_id: str, site: Site, not_work: Collection[str]
) -> tuple[Alignment, JudgedChecks]:
    share = site.settings.workspace.share
    await check_share(site.repository, share)
    if missing := [name for name in share if not (site.root / name).exists()]:
        what = f"{', '.join(missing)} is not there, and [workspace] share names it"
        raise Refused(what, where=SETTINGS_FILE, hint="make it, or take it out of share")
    ready = await alignment.align(plan, run_id, site.surroundings(), not_work=not_work)
    return ready, await judge_checks(ready, site)


def _provided(judged: JudgedChecks, site: Site, terminal: Terminal) -> bool:
    """Offer to write what fresh checkouts lack into the settings; whether that was done."""
    if judged.provision is None:
        return False
    terminal.say("\n".join(judged.lines()))
    if not is_yes(terminal, f"Write these lines into {SETTINGS_FILE} and try again?"):
        return False
    if write_provision(site.root, judged.provision):
        return True
    terminal.say(f"{SETTINGS_FILE} cannot be edited by a program; write them yourself.")
    return False


# --- the draft -----------------------------------------------------------------------------------


async def _files(repository: repositories.Repository) -> tuple[str, ...]:
    return await repository.tracked(await repository.head())


def _first_text(
    request: AlignRequest,
    terminal: Terminal | None,
    planner: Drafting | None,
    kept: KeptDraft,
) -> str:
    """The draft to begin with: from a file, of one sentence, or of a dialogue."""
    if request.source is not None:
        return read(str(request.source)).decode(errors="surrogateescape")
    if request.given is not None:
        kept.keep(document(request.given))
        proposed = None if planner is None else planner.propose(request.given)
        if planner is not None and proposed is None:
            planner.terminal.say("So the goal is one atom, which agents may split.")
        return proposed or document(as_one_atom(request.given))
    assert terminal is not None  # noqa: S101 - or it would have been refused
    earlier = None
    if kept.exists():
        terminal.say(f"There is a draft that was not finished: {DRAFT_FILE}")
        word = terminal.ask("Go on from it? [Y/n] ").strip().lower()
        earlier = kept.take_up() if word in ("", "y", "yes") else None
    given = Answers() if earlier is None else answers_in(earlier)
    if given is None:  # it has come further than the questions
        assert earlier is not None  # noqa: S101 - else there are no answers
        return earlier
    return draft_text_from(terminal, planner, kept.keep, given)


def _judged(text: str, source: str) -> tuple[Draft, tuple[Problem, ...]]:
    """The draft and warnings; raises DraftRefused."""
    draft, problems = load_draft(text.encode(errors="surrogateescape"))
    if draft.plan is None or not all(problem.warning for problem in problems):
        raise DraftRefused(source, problems)
    return draft, (*problems, _counters_warning(source)) if draft.counted else problems


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


def _planner(
    request: AlignRequest, terminal: Terminal | None, site: Site, kept: KeptDraft
) -> Drafting | None:
    """The planner; None if there is none, which is no reason to stop."""
    if request.source or not request.planner:
        return None
    speaks = NoTerminal() if terminal is None or request.yes else terminal
    try:
        found = planner_of(site)
    except Refused as refusal:
        speaks.say(f"There is no planner: {refusal.what}.")
        return None
    return None if found is None else Drafting(found, speaks, kept)


def _accepted_text(
    terminal: Terminal, text: str, source: str, planner: DraftPlanner | None, kept: KeptDraft
) -> str:
    def faults(draft: str) -> Sequence[str]:
        _, problems = load_draft(draft.encode(errors="surrogateescape"))
        return list(problem_lines(source, [p for p in problems if not p.warning]))

    def outlook(draft: str) -> Sequence[str]:
        plan = load_draft(draft.encode(errors="surrogateescape"))[0].plan
        return [] if plan is None else outlook_rows(plan)

    chosen = review_draft(
        terminal, text, faults, planner, outlook=outlook, keep=kept.keep, path=kept.path
    )
    if chosen is None:
        raise UserLeft
    return chosen


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


def _is_red(
    ready: Alignment,
    judged: JudgedChecks,
    source: str,
    request: AlignRequest,
    terminal: Terminal | None,
) -> bool:
    """A base case that is not red before the work, or for no good reason, proves nothing after it.

    False: the user wants to change the draft.
    """
    told: list[str] = []
    flags: list[str] = []
    if ready.baseline is Baseline.ALREADY_GREEN and not request.already_green_ok:
        told.append(GREEN)
        flags.append("--already-green-ok")
    if judged.objections and not request.cannot_run_yet_ok:
        told += [STUCK, *judged.lines()]
        flags.append("--cannot-run-yet-ok")
    if not told:
        return True
    said = "\n".join([*problem_lines(source, ready.warnings), *checked_rows(ready), *told])
    if terminal is not None:
        terminal.say(said)
        return is_yes(terminal, "Go on all the same?")
    complain(said)
    raise Refused("nothing was written", hint=f"change the base case, or add {' '.join(flags)}")


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
