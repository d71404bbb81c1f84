"""The shipped kernel does nothing that the proved table does not allow.

It is walked at random, and every event that it accepts must be an instance of a row; on the way the
proved bound on sessions must fall at every start and rise at nothing but a redirect.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proof.sessions import Shade, sessions_left
from proof.table import Constants, Counters, event_admits

from dwindle.kernel import actions, events
from dwindle.kernel.branches import BackjumpRung, backjumped
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.graph import max_attempts, probes_left, unfailed, view
from dwindle.kernel.measure import luby, measure
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Check,
    CheckType,
    Control,
    CorrectionType,
    Decomposition,
    Dispatch,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Plan,
    Role,
    RunStatus,
    Spent,
    Status,
)
from dwindle.kernel.transitions import apply

OBJECTIVE = Objective(
    goal="walk",
    base_case=BaseCase(check=Check(type=CheckType.COMMAND, value="true")),
    background_intent="b",
    deliverables="d",
    definition_of_done="d",
)


def plan_of(
    atoms: str,
    groups: dict[str, str] | None = None,
    decompositions: dict[str, str] | None = None,
    *,
    race: bool = False,
    limits: Limits | None = None,
) -> Plan:
    """Atoms as "A1 A2<g,A1": the id and what it depends on. "A3 A4" are a group's choices."""
    group_of = {c: GroupId(g) for g, line in (groups or {}).items() for c in line.split()}
    made: dict[AtomId, Atom] = {}
    for word in atoms.split():
        name, _, needs = word.partition("<")
        made[AtomId(name)] = Atom(
            id=AtomId(name),
            description=name,
            depends_on=tuple(needs.split(",")) if needs else (),
            or_group=group_of.get(name),
        )
    return Plan(
        objective=OBJECTIVE,
        limits=limits or Limits(),
        spent=Spent(created=len(made)),
        control=Control(),
        atoms=made,
        groups={
            GroupId(g): OrGroup(
                id=GroupId(g),
                choices=tuple(AtomId(c) for c in line.split()),
                selected=AtomId(line.split()[0]),
                speculative=race,
            )
            for g, line in (groups or {}).items()
        },
        decompositions=tuple(
            Decomposition(
                parent=AtomId(parent), children=tuple(AtomId(c) for c in line.split()), reason="r"
            )
            for parent, line in (decompositions or {}).items()
        ),
    )


PLANS = (
    plan_of("A1"),
    plan_of("A1 A2<A1 A3", decompositions={"A1": "A3"}),
    plan_of("A1 A2 A3<g A4<A3", {"g": "A1 A2"}),
    plan_of("A1 A2 A3<g A4<A3", {"g": "A1 A2"}, race=True),
    plan_of("A1 A3<g", {"g": "A1 A2 A4"}),  # A2 and A4 are named and not written
    plan_of("A1 A2 A3<g A4<g", {"g": "A1 A2", "h": "A3 A4"}),
    plan_of("A1 A2 A3 A4<g", {"g": "A1 A2"}, {"A1": "A3"}, race=True),
)


# --- what the proof speaks of, read off a plan ---------------------------------------------------


def constants(plan: Plan) -> Constants:
    limits = plan.limits
    usual = max(limits.max_attempts, *(a.max_attempts or 1 for a in plan.atoms.values()))
    times = max((luby(number) for number in range(1, limits.max_winds + 1)), default=1)
    return Constants(
        a=max(usual * times, *(a.allowed or 0 for a in plan.atoms.values())),
        p=limits.max_probes,
        N=limits.max_atoms,
        V0=limits.max_verifications,
        J0=limits.max_backjumps,
        L0=limits.max_forgiven,
        W0=limits.max_winds,
    )


def proved_bound(plan: Plan) -> int:
    """The smaller of the two readings."""
    seen, limits = view(plan), constants(plan)
    leaves = [a for n, a in plan.atoms.items() if n not in seen.buried and n not in seen.shape.kids]
    untried = sum(
        max(0, len(unfailed(g)) - 1) for n, g in plan.groups.items() if n not in seen.buried
    )
    asleep = sum(probes_left(plan, a) for a in leaves if a.status is Status.RESOLVED)
    own = sum(max_attempts(plan, a, seen.shape) for a in leaves)
    now = Counters(*measure(plan))
    return min(
        sessions_left(now, Shade(untried, own, asleep), limits, fewest=1),
        sessions_left(now, Shade(untried, limits.a * len(leaves), asleep), limits, fewest=limits.a),
    )


# --- a world that does anything ------------------------------------------------------------------


def news_of(plan: Plan, name: AtomId) -> list[events.Event]:
    """Every kind of end that a session may come to."""
    session = plan.sessions[name]
    two = tuple(events.NewAtom(description=d) for d in ("x", "y"))
    gap = events.Gap(item="it", evidence="no")
    forgiven: list[events.Event] = [
        events.SessionInterrupted(atom=name, nonce=session.nonce, cause=cause)
        for cause in (events.Interruption.STOP, events.Interruption.RATE_LIMIT)
    ]
    if session.role is Role.VERIFIER:
        return [
            events.VerificationEnded(nonce=session.nonce, passed=False, gaps=(gap,)),
            events.VerificationEnded(nonce=session.nonce, passed=False),
            events.VerificationEnded(nonce=session.nonce, passed=True),
            *forgiven,
        ]
    ends: list[events.Event] = [
        events.AttemptFailed(atom=name, nonce=session.nonce, reason="no"),
        events.DeclaredInfeasible(atom=name, nonce=session.nonce, reason="no"),
        events.Decomposed(atom=name, nonce=session.nonce, children=two, reason="r"),
        events.AlternativesProposed(atom=name, nonce=session.nonce, alternatives=two, reason="r"),
        events.AlternativesProposed(
            atom=name, nonce=session.nonce, alternatives=two[:1], reason="r"
        ),
        *forgiven,
    ]
    if session.role is Role.WORKER:
        return [events.AtomResolved(atom=name, nonce=session.nonce, summary="s"), *ends]
    return [events.ProbeEnded(atom=name, nonce=session.nonce), *ends]


def wished(plan: Plan) -> list[events.Event]:
    """What the kernel asks for, as the news that it happened."""
    decision = decide(plan)
    if decision.stop is not None and plan.control.status is RunStatus.RUNNING:
        return [events.RunEnded(code=decision.stop.code, reason=decision.stop.reason)]
    return [event for action in decision.actions for event in carried_out(plan, action)]


def carried_out(plan: Plan, action: actions.Action) -> list[events.Event]:
    match action:
        case actions.Work():
            return [events.SessionStarted(atom=action.atom, role=Role.WORKER)]
        case actions.Probe():
            return [events.SessionStarted(atom=action.atom, role=Role.PROBE)]
        case actions.Verify():
            return [events.SessionStarted(atom=AtomId(""), role=Role.VERIFIER)]
        case actions.Kill():
            return [events.SessionReaped(atom=action.atom, nonce=action.nonce)]
        case actions.Settle():
            return [events.Settled()]
        case actions.FailChoice():
            done = events.ChoiceFailed(group=action.group, choice=action.choice, reason="r")
            lost = replace(done, unreplayed=tuple(plan.atoms)[-1:])
            return [done, lost, events.WindBegan(reason="to pay for what it loses")]
        case actions.Backjump():
            return [events.Backjumped(group=action.group, atom=action.atom, reason="r")]
        case actions.BeginWind():
            return [events.WindBegan(reason="r")]
    return [events.EarlyChecked(passed=False)]


def person(plan: Plan) -> list[events.Event]:
    if plan.control.status in {RunStatus.PENDING, RunStatus.STOPPED}:
        return [events.RunStarted(), redirect(events.SetLimit(name="max_backjumps", value=3))]
    forced = [
        redirect(events.ForceChoice(group=g.id, choice=c))
        for g in plan.groups.values()
        for c in g.choices
    ]
    more = redirect(events.AddAtom(new=events.NewAtom(description="more")))
    return [events.StopRequested(reason="enough"), more, *forced]


def redirect(edit: events.SetLimit | events.ForceChoice | events.AddAtom) -> events.Redirected:
    scope = (
        CorrectionType.CONSTRAINT_CHANGE
        if isinstance(edit, events.SetLimit)
        else CorrectionType.DAG_ADJUSTMENT
    )
    return events.Redirected(type=scope, edits=(edit,), description="d")


def possible(plan: Plan) -> list[events.Event]:
    found = [e for name in plan.sessions for e in news_of(plan, name)] + wished(plan)
    if plan.control.status is not RunStatus.RUNNING:
        found += person(plan)
    return found


LIMITS = st.builds(
    Limits,
    max_iterations=st.just(500),
    max_parallel_agents=st.integers(1, 3),
    max_stall_count=st.just(100),
    max_atoms=st.integers(5, 9),
    max_attempts=st.integers(1, 3),
    max_probes=st.integers(0, 2),
    max_verifications=st.integers(1, 2),
    max_redirects=st.integers(0, 2),
    max_forgiven=st.integers(0, 2),
    max_backjumps=st.integers(0, 3),
    max_winds=st.integers(0, 3),
    dispatch=st.sampled_from(list(Dispatch)),
)


@settings(max_examples=300)
@given(data=st.data(), shape=st.sampled_from(PLANS), limits=LIMITS)
def test_every_accepted_event_is_an_instance_of_a_row(
    data: st.DataObject, shape: Plan, limits: Limits
) -> None:
    plan, resumes = apply(replace(shape, limits=limits), events.RunStarted()), 0
    for _ in range(60):
        offered = possible(plan)
        if data.draw(st.integers(0, 19)) == 19:
            offered = person(plan)
        if not offered or resumes > 2:
            break
        event = data.draw(st.sampled_from(offered))
        try:
            after = apply(plan, event)
        except IllegalEvent:
            continue
        old, new = tuple(measure(plan)), tuple(measure(after))
        kind = type(event).__name__
        assert event_admits(kind, old, new, constants(after)), (kind, old, new)
        if kind != "Redirected":
            paid = kind == "SessionStarted"
            assert proved_bound(after) + paid <= proved_bound(plan), (kind, old, new)
        plan, resumes = after, resumes + (kind == "RunStarted")


@pytest.mark.parametrize("shape", PLANS)
def test_in_a_run_of_bad_luck_every_wind_is_an_instance_of_its_row(shape: Plan) -> None:
    """Every session and check fails: one thing after the other until nothing is left to try."""
    limits = Limits(max_iterations=500, max_stall_count=100, max_atoms=9, max_winds=3)
    plan = apply(replace(shape, limits=limits), events.RunStarted())
    begun = 0
    while plan.control.status is RunStatus.RUNNING:
        failed = [
            events.AttemptFailed(atom=name, nonce=session.nonce, reason="no")
            for name, session in plan.sessions.items()
        ]
        event = (failed or wished(plan))[0]
        after = apply(plan, event)
        old, new = tuple(measure(plan)), tuple(measure(after))
        kind = type(event).__name__
        assert event_admits(kind, old, new, constants(after)), (kind, old, new)
        assert proved_bound(after) + (kind == "SessionStarted") <= proved_bound(plan)
        plan, begun = after, begun + (kind == "WindBegan")
    assert begun == 3


def test_probes_asleep_on_resolved_leaves_wake_at_a_backjump() -> None:
    """The plan behind `dormant_is_needed` in Sessions.v: without them, 6 would become 7."""
    limits = Limits(
        max_atoms=4,
        max_attempts=1,
        max_probes=1,
        max_verifications=1,
        max_forgiven=0,
        max_backjumps=1,
        max_winds=0,
        max_redirects=0,
    )
    plan = plan_of("A1 A2 A3<g A4<A3", {"g": "A1 A2"}, race=True, limits=limits)
    atoms = {n: replace(a, attempts=1) for n, a in plan.atoms.items()}
    for name in (AtomId("A1"), AtomId("A3")):
        atoms[name] = replace(atoms[name], status=Status.RESOLVED)
    plan = replace(plan, atoms=atoms, control=Control(status=RunStatus.RUNNING))
    step = BackjumpRung(AtomId("A4"), GroupId("g"), AtomId("A1"))
    after = backjumped(plan, step, "r", "")
    assert tuple(measure(plan)) == (0, 0, 0, 1, 0, 1, 2, 2, 3, 0, 1)
    assert tuple(measure(after)) == (0, 0, 0, 1, 0, 0, 1, 6, 5, 0, 1)
    assert (proved_bound(plan), proved_bound(after)) == (8, 7)
