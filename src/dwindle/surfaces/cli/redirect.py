"""dwindle redirect: change direction, while the loop runs or while it rests.

Typed edits are tried on the plan before anything is ended, and what they do to it is said first.
Each scope of edits is one redirect, and there is a limited number of those.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from dwindle import wiring
from dwindle.adapters.disk import Locked
from dwindle.adapters.journals import event_codec
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    ChangeObjective,
    Edit,
    ForceChoice,
    NewAtom,
    OverrideBinding,
    Redirected,
    RemoveAtom,
    SetLimit,
)
from dwindle.kernel.graph import view
from dwindle.kernel.model import (
    AtomId,
    BaseCase,
    Check,
    CheckType,
    CorrectionType,
    GroupId,
    Plan,
    PlanKind,
    TrailType,
)
from dwindle.runner.control import Line
from dwindle.runner.redirecting import preview, undone
from dwindle.surfaces import running
from dwindle.surfaces.cli.output import complain, say
from dwindle.surfaces.plan_files import repository
from dwindle.surfaces.refusal import Refused

EFFECT = {
    CorrectionType.OBJECTIVE_CHANGE: "the Trail is cleared and every budget but the redirects "
    "is refilled",
    CorrectionType.DAG_ADJUSTMENT: "the Trail is kept and a correction is added to it",
    CorrectionType.CONSTRAINT_CHANGE: "the Trail is kept",
    CorrectionType.BINDINGS_OVERRIDE: "the Trail is kept",
}


def redirect(  # noqa: PLR0913 - one for each edit
    *,
    goal: str | None = None,
    base_case: str | None = None,
    reopen: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    add_atom: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    depends_on: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    under: str | None = None,
    choice_of: str | None = None,
    remove_atom: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    select: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=())] = (),
    bind: Annotated[tuple[str, ...], Parameter(negative=())] = (),
    why: str = "",
    yes: bool = False,
) -> int:
    """Change direction.

    Args:
        goal: Another goal.
        base_case: Another base case: one command that has to succeed.
        reopen: With another goal: a resolved atom that must be done again.
        add_atom: A further atom: what is to be done.
        depends_on: What the added atoms depend on.
        under: The atom of which the added ones become a part.
        choice_of: The group of which the added ones become a choice.
        remove_atom: An atom that is not wanted any more.
        select: GROUP=ATOM: take this choice.
        set_: LIMIT=VALUE, such as max_iterations=40.
        bind: ATOM=SUMMARY: what a resolved atom really came to.
        why: A sentence for the record.
        yes: Do not ask.
    """
    edits: tuple[Edit, ...] = (
        *_objective(goal, base_case, reopen),
        *(
            AddAtom(
                new=NewAtom(description=what, depends_on=depends_on),
                parent=AtomId(under) if under else None,
                group=GroupId(choice_of) if choice_of else None,
            )
            for what in add_atom
        ),
        *(RemoveAtom(atom=AtomId(name)) for name in remove_atom),
        *(ForceChoice(group=GroupId(g), choice=AtomId(c)) for g, c in _pairs(select, "--select")),
        *(SetLimit(name=name, value=_value(text)) for name, text in _pairs(set_, "--set")),
        *(OverrideBinding(atom=AtomId(a), summary=s) for a, s in _pairs(bind, "--bind")),
    )
    if not edits:
        raise Refused("there is nothing to change", hint="`dwindle redirect --help` has the edits")
    root = Path(repository(str(Path.cwd())) or Path.cwd())
    events = tuple(_events(edits, why or " ".join(sys.argv[2:])))
    _said(_plan(root), events)
    if not yes and not _agreed():
        raise Refused("nothing was changed")
    line = Line.to(root / ".runner") if (root / ".runner").is_dir() else None
    if line is None:
        return _at_rest(root, events)
    for event in events:
        answer = line.ask(event_codec.encode(event))
        if answer is None or not answer.get("ok"):
            raise Refused(str((answer or {}).get("why", "the run is gone")))
    return say("redirected; the run goes on")


def _at_rest(root: Path, events: Sequence[Redirected]) -> int:
    try:
        asyncio.run(running.redirect_at_rest(root, events))
    except IllegalEvent as refusal:
        raise Refused(str(refusal)) from None
    except Locked as error:
        raise Refused(str(error), hint="the run that holds it does not listen yet") from None
    return say("redirected; `dwindle run` goes on from here")


# --- from words to edits -------------------------------------------------------------------------


def _objective(
    goal: str | None, base_case: str | None, reopen: tuple[str, ...]
) -> Iterator[ChangeObjective]:
    if goal is None and base_case is None and not reopen:
        return
    check = None
    if base_case is not None:
        check = BaseCase(check=Check(type=CheckType.COMMAND, value=base_case))
    yield ChangeObjective(goal=goal, base_case=check, reopen=tuple(AtomId(name) for name in reopen))


def _pairs(texts: tuple[str, ...], option: str) -> Iterator[tuple[str, str]]:
    for text in texts:
        name, found, value = text.partition("=")
        if not found or not name.strip() or not value.strip():
            raise Refused(f"{text!r} is not NAME=VALUE", where=option)
        yield name.strip(), value.strip()


def _value(text: str) -> int | float | str | bool:
    kinds: tuple[Callable[[str], int | float], ...] = (int, float)
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text, text)


def _events(edits: Sequence[Edit], why: str) -> Iterator[Redirected]:
    """One redirect for each scope, in the order of the contract."""
    scopes: dict[CorrectionType, tuple[type, ...]] = {
        CorrectionType.OBJECTIVE_CHANGE: (ChangeObjective,),
        CorrectionType.CONSTRAINT_CHANGE: (SetLimit,),
        CorrectionType.DAG_ADJUSTMENT: (AddAtom, RemoveAtom, ForceChoice),
        CorrectionType.BINDINGS_OVERRIDE: (OverrideBinding,),
    }
    for scope, kinds in scopes.items():
        mine = tuple(edit for edit in edits if isinstance(edit, kinds))
        if mine:
            yield Redirected(type=scope, edits=mine, description=why)


# --- what it will do -----------------------------------------------------------------------------


def _plan(root: Path) -> Plan:
    path = root / running.PLAN_FILE
    if not path.is_file():
        raise Refused("there is no plan yet", where=running.PLAN_FILE, hint="`dwindle align`")
    plan = wiring.load(PlanKind.GRAPH, path.read_bytes()).plan
    if plan is None:
        raise Refused("the plan is not valid", hint="`dwindle validate` says why")
    return plan


def _said(plan: Plan, events: Sequence[Redirected]) -> None:
    """The state, then the effect; a refusal comes before anything is ended."""
    failures = [e for e in plan.trail if e.type is TrailType.FAILURE][-3:]
    complain(f"goal: {plan.objective.goal}")
    complain(f"open: {view(plan).open_count}; iteration {plan.control.iteration}")
    for entry in failures:
        complain(f"  {entry.atom} failed: {' '.join(entry.reason.split())[:90]}")
    for event in events:
        try:
            after = preview(plan, event)
        except IllegalEvent as refusal:
            raise Refused(str(refusal)) from None
        again = undone(plan, after)
        complain(f"{event.type}: {EFFECT[event.type]}")
        if again:
            complain(f"  done again, and taken off the branch: {', '.join(again)}")
        plan = replace(after)


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return True
    return input("Go on? [y/N] ").strip().lower() in ("y", "yes")
