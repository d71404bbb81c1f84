"""dwindle align: the gate. What is wanted, how it is checked, and where to begin.

Nothing is written before everything has been said: the draft is judged, the base case is run once,
and the person has had the chance to leave. Then the plan file is written in one durable step, and
the one that stood there is kept beside it.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dwindle import wiring
from dwindle.adapters.disk import Locked
from dwindle.adapters.formats.config_settings import Settings
from dwindle.adapters.formats.draft_plan import Draft
from dwindle.adapters.workspaces import repository as repositories
from dwindle.adapters.workspaces.furnish import check_share
from dwindle.adapters.workspaces.repository import Repository
from dwindle.kernel.exit_codes import EXIT_CODES
from dwindle.kernel.model import Plan, StopCode
from dwindle.kernel.problem import Problem
from dwindle.ports.store import StoreFailed
from dwindle.ports.workspace import WorkspaceFailed
from dwindle.runner import alignment
from dwindle.runner.alignment import RUN_ID, Alignment, Baseline
from dwindle.surfaces.agent_choice import agent_overrides
from dwindle.surfaces.cli.align_said import checked_rows, facts_of, text_of
from dwindle.surfaces.cli.output import USAGE, complain, say
from dwindle.surfaces.cli.problem_list import problem_lines, summary
from dwindle.surfaces.cli.text import as_json, one_line
from dwindle.surfaces.dialogue import Console, Planner, Terminal, agreed, drafted, is_yes
from dwindle.surfaces.history import root_of_here
from dwindle.surfaces.plan_files import read
from dwindle.surfaces.plan_place import Place
from dwindle.surfaces.planner import planner_of
from dwindle.surfaces.planning import Drafting
from dwindle.surfaces.refusal import Refused, refused_by
from dwindle.surfaces.tree_only import refuse_for_tree

LEFT = EXIT_CODES[StopCode.STOPPED_BY_USER]
NOT_ALIGNED = EXIT_CODES[StopCode.NOT_ALIGNED]
DIALOGUE = "the dialogue"
"""Stands for the name of a file that is none."""
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
"""What is said then, and the option by which a person says that it is all right."""


class Left(Exception):
    """The person did not want to go on."""


class Gate(Exception):
    """The draft is not what a run could start from."""

    def __init__(self, source: str, problems: tuple[Problem, ...]) -> None:
        super().__init__(source, problems)
        self.source = source
        self.problems = problems

    @property
    def code(self) -> int:
        return NOT_ALIGNED if any(problem.unaligned for problem in self.problems) else USAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line."""

    source: Path | None = None
    yes: bool = False
    planner: bool = True
    replace: bool = False
    already_green_ok: bool = False
    cannot_run_yet_ok: bool = False
    run_id: str | None = None
    json: bool = False
    agents: Mapping[str, object] = field(default_factory=dict)
    """Who plans, as `agent_overrides` reads it."""

    @property
    def accepted(self) -> tuple[Baseline, ...]:
        """What the base case may say before any work."""
        green = (Baseline.ALREADY_GREEN,) if self.already_green_ok else ()
        stuck = (Baseline.COULD_NOT_RUN,) if self.cannot_run_yet_ok else ()
        return (Baseline.RED, *green, *stuck)


def align(  # noqa: PLR0913 - one for each option
    *,
    source: Annotated[Path | None, Parameter(name="--from")] = None,
    yes: bool = False,
    no_planner: Annotated[bool, Parameter(negative=())] = False,
    replace: bool = False,
    already_green_ok: bool = False,
    cannot_run_yet_ok: bool = False,
    run_id: str | None = None,
    json: bool = False,
    agent: Annotated[tuple[str, ...], Parameter(negative=())] = (),
) -> int:
    """Agree on a plan and write it.

    Args:
        source: A draft: YAML, or a state file. Nothing is asked that it says.
        yes: Accept it without being shown it.
        no_planner: Ask all questions; no agent is asked to propose a plan.
        replace: Also if the plan that is there is not completed; it is kept.
        already_green_ok: Also if the base case holds before any work.
        cannot_run_yet_ok: Also if the base case cannot run before any work.
        run_id: The id of the run, instead of a new one.
        json: Print one JSON object.
        agent: Who plans, such as claude or codex.
    """
    wish = Wish(
        source=source,
        yes=yes,
        planner=not no_planner,
        replace=replace,
        already_green_ok=already_green_ok,
        cannot_run_yet_ok=cannot_run_yet_ok,
        run_id=run_id,
        json=json,
        agents=agent_overrides(agent),
    )
    if source is None:  # Whoever brings a draft knows which plan they want.
        refuse_for_tree(
            root_of_here(),
            "a tree is not aligned: .runner/GOAL.md says what is wanted",
            "`dwindle run` begins; for a graph plan beside it, `dwindle align --from FILE`",
        )
    sits = sys.stdin.isatty() and sys.stdout.isatty()
    return answer(wish, Console() if sits else None)


def answer(wish: Wish, terminal: Terminal | None) -> int:
    """The exit code; every way to end that is not a success is told here."""
    try:
        return _aligned(wish, terminal)
    except (Left, EOFError, KeyboardInterrupt):
        complain("\ndwindle: nothing was written")
        return LEFT
    except Gate as gate:
        lines = problem_lines(gate.source, gate.problems)
        complain("\n".join([*lines, f"{one_line(gate.source)}: {summary(gate.problems)}"]))
        return gate.code
    except WorkspaceFailed as error:
        raise refused_by(error) from None
    except Locked as error:
        complain(f"dwindle: {error}\n  stop the run first: `dwindle stop`")
        return EXIT_CODES[StopCode.LOCKED]
    except StoreFailed as error:
        complain(f"dwindle: {error}")
        return EXIT_CODES[StopCode.IO_ERROR]


def _aligned(wish: Wish, terminal: Terminal | None) -> int:
    if wish.run_id is not None and not RUN_ID.fullmatch(wish.run_id):
        hint = "26 digits and capital letters; leave it out for a new one"
        raise Refused(f"{one_line(wish.run_id)!r} is no run id", where="--run-id", hint=hint)
    if terminal is None and (wish.source is None or not wish.yes):
        raise Refused(
            "there is nobody to ask: this is no terminal",
            hint="write a draft and say `dwindle align --from FILE --yes`; docs/state-file.md\n"
            "  has its fields, and status, depends_on and empty sections may be left out",
        )
    if wish.source is None and wish.yes:
        hint = "say --from FILE, or leave out --yes and answer some questions"
        raise Refused("--yes to what?", hint=hint)
    found = asyncio.run(repositories.find(Path.cwd()))
    place = Place(found.checkout)
    place.refuse_to_overwrite(replace=wish.replace)
    place.refuse_in_use()
    run_id = wish.run_id or alignment.minted(time.time_ns() // 10**6, secrets.token_bytes(10))
    place.refuse_used(run_id)
    settings = wiring.settings_for(found.checkout, wish.agents)
    if settings.settings is None:
        raise Gate(wiring.SETTINGS_FILE, settings.problems)

    planner = _planner(wish, terminal, found, settings.settings)
    source, draft, warnings = _drafted(wish, terminal, planner)
    assert draft.plan is not None  # noqa: S101 - or it would have stopped at the gate
    if not wish.json:
        complain("Running the base case once, in a fresh checkout...")
    ready = asyncio.run(_looked(draft.plan, run_id, found, settings.settings))
    ready = changed(ready, warnings=(*warnings, *draft.located(ready.warnings)))
    _insist_on_red(ready, source, wish, terminal)
    kept = place.write(ready, _body(draft), replace=wish.replace)
    facts = facts_of(ready, kept)
    if wish.json:
        return say(as_json(facts))
    return say("\n".join([*problem_lines(source, ready.warnings), text_of(ready, kept)]))


async def _looked(plan: Plan, run_id: str, repository: Repository, settings: Settings) -> Alignment:
    await check_share(repository, settings.workspace.share)
    return await alignment.align(plan, run_id, wiring.surroundings(repository, settings))


# --- the draft -----------------------------------------------------------------------------------


def _drafted(
    wish: Wish, terminal: Terminal | None, planner: Planner | None
) -> tuple[str, Draft, tuple[Problem, ...]]:
    """Where it is from, what it says, and what is to be warned about."""
    source = DIALOGUE if wish.source is None else str(wish.source)
    if wish.source is not None:
        data = read(source)
        if terminal is not None and not wish.yes:
            data = _accepted(terminal, data.decode(errors="replace"), source)
    else:
        assert terminal is not None  # noqa: S101 - or it would have been refused
        data = _accepted(terminal, drafted(terminal, planner), source, planner)
    draft, problems = wiring.load_draft(data)
    if draft.plan is None or not all(problem.warning for problem in problems):
        raise Gate(source, problems)
    if draft.counted:
        problems = (*problems, _counted(source))
    return source, draft, problems


def _planner(
    wish: Wish, terminal: Terminal | None, repository: Repository, settings: Settings
) -> Planner | None:
    """Somebody to plan with; never a reason not to go on."""
    if terminal is None or wish.source is not None or not wish.planner:
        return None
    try:
        found = planner_of(repository, settings)
    except Refused as refusal:
        terminal.say(f"There is no planner: {refusal.what}.")
        return None
    return None if found is None else Drafting(found, terminal)


def _accepted(terminal: Terminal, text: str, source: str, planner: Planner | None = None) -> bytes:
    def faults(draft: str) -> Sequence[str]:
        _, problems = wiring.load_draft(draft.encode(errors="surrogateescape"))
        return list(problem_lines(source, [p for p in problems if not p.warning]))

    chosen = agreed(terminal, text, faults, planner)
    if chosen is None:
        raise Left
    return chosen.encode(errors="surrogateescape")


def _counted(source: str) -> Problem:
    return Problem(
        where=("control",),
        what=f"{source} comes from an earlier run; its counters begin anew",
        hint="what was resolved or given up in it stays so",
        warning=True,
    )


def _body(draft: Draft) -> bytes:
    if draft.body.strip():
        return draft.body
    assert draft.plan is not None  # noqa: S101 - as above
    return f"\n# Original Prompt\n\n{draft.plan.objective.goal.strip()}\n".encode()


def _insist_on_red(ready: Alignment, source: str, wish: Wish, terminal: Terminal | None) -> None:
    """A base case that says nothing now would say nothing in the end."""
    if ready.baseline in wish.accepted:
        return
    what, flag = NOT_RED[ready.baseline]
    said = "\n".join([*problem_lines(source, ready.warnings), *checked_rows(ready), what])
    if terminal is not None and not wish.yes:
        terminal.say(said)
        if is_yes(terminal, "Go on all the same?"):
            return
        raise Left
    complain(said)
    raise Refused("nothing was written", hint=f"change the base case, or say {flag}")
