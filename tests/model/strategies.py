"""Hypothesis strategies for the nouns of the kernel.

`plans` makes whole graph plans in every field, well formed but not necessarily sensible: ids are
drawn from a small pool and may name nothing. That is what a file format has to carry; whether the
plan makes sense is another question, which `kernel.problems` answers.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Final

from hypothesis import strategies as st

from dwindle.kernel.model import (
    ROOT,
    Aligned,
    Answer,
    Atom,
    AtomId,
    BaseCase,
    Binding,
    Check,
    ChecklistItem,
    CheckType,
    Control,
    Correction,
    CorrectionType,
    Criterion,
    Decomposition,
    Dispatch,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Pace,
    Plan,
    Question,
    Role,
    RunStatus,
    Session,
    Spent,
    Status,
    StopCode,
    TrailEntry,
    TrailType,
    Verification,
)

MAY_BE_UNSTATED: Final = tuple(
    field.name
    for field in fields(Limits)
    if field.name not in ("max_iterations", "max_parallel_agents", "max_stall_count", "stated")
)
SCORES: Final = (1, 5)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["NO", "12:30", "- a: [", 'say "x"', "back\\slash", "two\nlines", "\u2028\ufeff\x7f\x00", "#"]
)
said = texts.filter(lambda text: bool(text.strip()))
"""Text that is not blank."""
names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,9}", fullmatch=True) | st.sampled_from(
    ["A1", "A2", "A3", "null", "on", "No", "1", "1e5", "2025-01-01", "true", "way"]
)
atom_ids = names.map(AtomId)
group_ids = names.map(GroupId)
counts = st.integers(0, 10**17)
amounts = counts | st.floats(0, 1e12)
paths = st.lists(texts, max_size=3).map(tuple)
lists_of_ids = st.lists(atom_ids, max_size=3).map(tuple)

criteria = st.builds(
    Criterion,
    criterion=texts,
    weight=st.integers(0, 5) | st.floats(0, 5),
    description=st.none() | texts,
    levels=st.dictionaries(st.integers(*SCORES), texts).map(lambda kept: tuple(kept.items())),
)
rubrics = (
    st.lists(criteria, min_size=1, max_size=3)
    .filter(lambda rubric: sum(line.weight for line in rubric) > 0)
    .map(tuple)
)
thresholds = st.integers(*SCORES) | st.floats(*SCORES)
options = {"control": st.none() | texts, "timeout_seconds": st.none() | counts}
values = said.filter(lambda value: not value.startswith("exists:"))
simple_checks = st.builds(Check, type=st.sampled_from([*CheckType][:5]), value=values, **options)
quality_checks = st.builds(
    Check,
    type=st.just(CheckType.QUALITY),
    rubric=rubrics,
    pass_threshold=thresholds,
    scope=st.none() | texts,
    **options,
) | st.builds(
    Check, type=st.just(CheckType.QUALITY), criteria=said, pass_threshold=thresholds, **options
)
checks = simple_checks | quality_checks
items = st.recursive(
    st.builds(ChecklistItem, item=texts, check=checks),
    lambda inner: (
        st.builds(
            ChecklistItem, item=texts, group=st.lists(inner, min_size=1, max_size=3).map(tuple)
        )
        | st.builds(
            ChecklistItem, item=texts, any_of=st.lists(inner, min_size=1, max_size=3).map(tuple)
        )
    ),
    max_leaves=5,
)
legacy_checks = st.builds(
    Check,
    type=st.sampled_from([CheckType.COMMAND, CheckType.FILE, CheckType.ASSERTION]),
    value=values,
    **options,
)
base_cases = st.builds(BaseCase, check=legacy_checks) | st.builds(
    BaseCase, checklist=st.lists(items, min_size=1, max_size=3).map(tuple)
)
objectives = st.builds(
    Objective,
    goal=said,
    base_case=base_cases,
    background_intent=said,
    deliverables=said,
    definition_of_done=said,
    protected_paths=paths,
)
controls = st.builds(
    Control,
    status=st.sampled_from(RunStatus),
    iteration=counts,
    stall_count=counts,
    prev_pending_count=st.integers(-1, 9),
    stop_requested=st.booleans(),
    stop_reason=st.none() | texts,
    redirect_requested=st.booleans(),
    run_id=st.none() | texts,
    revision=counts,
    stop_code=st.none() | st.sampled_from(StopCode),
    aligned=st.none() | st.builds(Aligned, commit=texts, pins=paths, branch=texts),
)
atoms = st.builds(
    Atom,
    id=atom_ids,
    description=texts,
    status=st.sampled_from(Status),
    depends_on=lists_of_ids,
    or_group=st.none() | group_ids,
    check=st.none() | checks,
    attempts=counts,
    max_attempts=st.none() | counts,
    allowed=st.none() | counts,
    infeasible=st.none() | texts,
    probe=st.booleans(),
    probes=counts,
    touches=paths,
)
groups = st.builds(
    OrGroup,
    id=group_ids,
    choices=lists_of_ids,
    selected=atom_ids,
    failed=lists_of_ids,
    speculative=st.booleans(),
)
decompositions = st.builds(Decomposition, parent=atom_ids, children=lists_of_ids, reason=texts)
bindings = st.builds(Binding, summary=texts, artifacts=paths)
trail_entries = st.one_of(
    st.builds(
        TrailEntry,
        type=st.sampled_from([TrailType.CHOICE, TrailType.BACKTRACK]),
        or_group=group_ids,
        selected=atom_ids,
        reason=texts,
        timestamp=texts,
    ),
    st.builds(
        TrailEntry,
        type=st.sampled_from([TrailType.FAILURE, TrailType.USER_CORRECTION]),
        atom=names,
        attempt=st.none() | counts,
        reason=texts,
        timestamp=texts,
    ),
    st.builds(
        TrailEntry, type=st.just(TrailType.WIND), attempt=counts, reason=texts, timestamp=texts
    ),
)
corrections = st.builds(
    Correction,
    timestamp=texts,
    type=st.sampled_from(CorrectionType),
    description=texts,
    trail_cleared=st.booleans(),
)
sessions = st.builds(Session, nonce=counts, number=counts, role=st.sampled_from(Role))
paces = st.builds(
    Pace,
    filling=st.booleans(),
    started=counts,
    generation=st.lists(counts, max_size=3).map(tuple),
    advanced=st.booleans(),
    charged=st.booleans(),
    branch_changed=st.booleans(),
)
verifications = st.builds(
    Verification,
    passed=st.booleans(),
    rounds_without_gaps=counts,
    unmended=counts,
    not_passed=st.lists(texts, max_size=2).map(tuple),
    questions=st.lists(
        st.builds(Question, item=texts, answer=st.sampled_from(Answer), words=texts), max_size=2
    ).map(tuple),
)
spending = st.builds(
    Spent,
    **{
        name: amounts if name in ("seconds", "usd") else counts
        for name in (field.name for field in fields(Spent))
    },
)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    """Limits that a file spells out in part; what it does not has its default."""
    stated = [name for name in MAY_BE_UNSTATED if draw(st.booleans())]
    kinds: dict[str, st.SearchStrategy[object]] = {
        "max_cost_usd": amounts,
        "dispatch": st.sampled_from(Dispatch),
        "early_verify": st.booleans(),
    }
    given = {name: draw(kinds.get(name, counts)) for name in stated}
    always = {name: draw(counts) for name in ("max_iterations", "max_parallel_agents")}
    return Limits(**always, **given, stated=tuple(stated))  # type: ignore[arg-type]


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """A whole graph plan, with at least one atom."""
    listed = draw(st.lists(atoms, min_size=1, max_size=4, unique_by=lambda atom: atom.id))
    spent = draw(spending | st.just(Spent(created=len(listed))))
    bounds = draw(limits())
    if "max_atoms" not in bounds.stated:
        bounds = replace(bounds, max_atoms=spent.created + max(50, spent.created))
    grouped = draw(st.lists(groups, max_size=2, unique_by=lambda group: group.id))
    return Plan(
        objective=draw(objectives),
        limits=bounds,
        spent=spent,
        control=draw(controls | st.just(Control())),
        atoms={atom.id: atom for atom in listed},
        decompositions=tuple(draw(st.lists(decompositions, max_size=2))),
        groups={group.id: group for group in grouped},
        bindings=draw(st.dictionaries(atom_ids, bindings, max_size=2)),
        trail=tuple(draw(st.lists(trail_entries, max_size=3))),
        corrections=tuple(draw(st.lists(corrections, max_size=2))),
        sessions=draw(st.dictionaries(atom_ids | st.just(ROOT), sessions, max_size=2)),
        pace=draw(paces | st.just(Pace())),
        verification=draw(verifications | st.just(Verification())),
    )
