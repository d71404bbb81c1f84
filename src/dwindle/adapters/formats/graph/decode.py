"""From the records of the file to the nouns of the kernel.

The way back is `graph_write`, which goes from the nouns straight to text: a record in between
would be built ten thousand times only to be thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import UNSET, structs

from dwindle.adapters.formats.graph import wire
from dwindle.kernel import model
from dwindle.kernel.model import ROOT, Aligned, AtomId, Counted, GroupId

EXISTS = "exists:"
"""Older files write the value of a file check as `exists: PATH`."""
SMALLEST_GROWTH = 50


def default_max_atoms(created: int) -> int:
    """Let a plan double, and a small one grow by fifty atoms."""
    return created + max(SMALLEST_GROWTH, created)


def plan(state: wire.State) -> model.Plan:
    """Build the plan that a sound front matter describes."""
    spent = _spent(state.control.spent, len(state.atoms))
    return model.Plan(
        objective=_objective(state.objective),
        limits=_limits(state.objective.constraints, spent.created),
        spent=spent,
        control=_control(state.control),
        atoms={AtomId(record.id): _atom(record) for record in state.atoms},
        decompositions=tuple(
            model.Decomposition(
                parent=AtomId(record.parent),
                children=_atom_ids(record.children),
                reason=record.reason,
            )
            for record in state.decompositions
        ),
        groups={GroupId(name): _group(name, record) for name, record in state.or_groups.items()},
        bindings={
            AtomId(name): model.Binding(summary=record.summary, artifacts=record.artifacts)
            for name, record in state.bindings.items()
        },
        trail=tuple(_trail_entry(record) for record in state.trail),
        corrections=tuple(
            model.Correction(**structs.asdict(record)) for record in state.corrections
        ),
        sessions={
            AtomId(record.atom) if record.atom else ROOT: model.Session(
                nonce=record.nonce, number=record.number, role=record.role
            )
            for record in state.control.in_flight
        },
        pace=model.Pace(**structs.asdict(state.control.pace)),
        verification=_verification(state.control.verification),
    )


def _atom_ids(names: Iterable[str]) -> tuple[AtomId, ...]:
    return tuple(AtomId(name) for name in names)


def _objective(record: wire.Objective) -> model.Objective:
    return model.Objective(
        goal=record.goal,
        base_case=_base_case(record.base_case),
        background_intent=record.background_intent,
        deliverables=record.deliverables,
        definition_of_done=record.definition_of_done,
        protected_paths=record.protected_paths,
        work_paths=record.work_paths,
    )


def _base_case(record: wire.BaseCase) -> model.BaseCase:
    if record.checklist is not None:
        return model.BaseCase(checklist=tuple(_item(item) for item in record.checklist))
    if record.type is None:
        return model.BaseCase()
    check = wire.Check(
        type=record.type,
        value=record.value,
        control=record.control,
        timeout_seconds=record.timeout_seconds,
    )
    return model.BaseCase(check=_check(check))


def _item(record: wire.ChecklistItem) -> model.ChecklistItem:
    return model.ChecklistItem(
        item=record.item,
        check=None if record.check is None else _check(record.check),
        group=tuple(_item(item) for item in record.group or ()),
        any_of=tuple(_item(item) for item in record.any_of or ()),
    )


def _check(record: wire.Check) -> model.Check:
    value = record.value
    if value is not None and record.type is model.CheckType.FILE:
        value = value.removeprefix(EXISTS).strip() if value.startswith(EXISTS) else value
    return model.Check(
        type=record.type,
        value=value,
        control=record.control,
        timeout_seconds=record.timeout_seconds,
        rubric=tuple(
            model.Criterion(
                criterion=line.criterion,
                weight=line.weight,
                description=line.description,
                levels=tuple(line.levels.items()),
            )
            for line in record.rubric or ()
        ),
        criteria=record.criteria,
        pass_threshold=record.pass_threshold,
        scope=record.scope,
    )


def _limits(record: wire.Constraints, created: int) -> model.Limits:
    given = {name: value for name, value in structs.asdict(record).items() if value is not UNSET}
    stated = tuple(name for name in wire.OPTIONAL_LIMITS if name in given)
    given.setdefault("max_atoms", default_max_atoms(created))
    return model.Limits(**given, stated=stated)


def _spent(record: wire.Spent, atoms: int) -> model.Spent:
    given = structs.asdict(record)
    if record.created is UNSET:
        given["created"] = atoms
    return model.Spent(**given)


def _control(record: wire.Control) -> model.Control:
    aligned = record.aligned
    return model.Control(
        status=record.status,
        iteration=record.iteration,
        stall_count=record.stall_count,
        prev_pending_count=record.prev_pending_count,
        stop_requested=record.stop_requested,
        stop_reason=record.stop_reason,
        redirect_requested=record.redirect_requested,
        run_id=record.run_id,
        revision=record.revision,
        stop_code=record.stop_code,
        aligned=None
        if aligned is None
        else Aligned(
            commit=aligned.commit,
            pins=aligned.pins,
            tests=tuple(Counted(command=t.command, ran=t.ran) for t in aligned.tests),
            branch=aligned.branch,
        ),
    )


def _verification(record: wire.Verification) -> model.Verification:
    return model.Verification(
        passed=record.passed,
        rounds_without_gaps=record.rounds_without_gaps,
        unmended=record.unmended,
        not_passed=record.not_passed,
        questions=tuple(
            model.Question(**structs.asdict(question)) for question in record.questions
        ),
    )


def _atom(record: wire.Atom) -> model.Atom:
    return model.Atom(
        id=AtomId(record.id),
        description=record.description,
        status=record.status,
        depends_on=record.depends_on,
        or_group=None if record.or_group is None else GroupId(record.or_group),
        check=None if record.check is None else _check(record.check),
        attempts=record.attempts,
        max_attempts=record.max_attempts,
        allowed=record.allowed,
        infeasible=record.infeasible,
        probe=record.probe,
        probes=record.probes,
        touches=record.touches,
    )


def _group(name: str, record: wire.OrGroup) -> model.OrGroup:
    return model.OrGroup(
        id=GroupId(name),
        choices=_atom_ids(record.choices),
        selected=AtomId(record.selected),
        failed=_atom_ids(record.failed),
        speculative=record.speculative,
    )


def _trail_entry(record: wire.TrailEntry) -> model.TrailEntry:
    return model.TrailEntry(
        type=model.TrailType(record.type or model.TrailType.CHOICE),
        or_group=None if record.or_group is None else GroupId(record.or_group),
        selected=None if record.selected is None else AtomId(record.selected),
        atom=record.atom,
        attempt=record.attempt,
        reason=record.reason,
        timestamp=record.timestamp,
    )
