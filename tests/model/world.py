"""Everything that can happen next to a plan: the runner's steps and every whim of the world.

`moves` lists the events that may be applied to a plan. The runner does what `decide` says, one
event at a time, and the world may cut in between any two of them: agents succeed, fail, give up,
propose; sessions are interrupted; verifications end in every way; a person stops, resumes,
redirects and confirms. A `Suite` says which of these are switched on, so that the product stays
small enough to be walked in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.model.rewrites import rewrites

from dwindle.kernel.actions import (
    Backjump,
    BeginWind,
    CheckEarly,
    Decision,
    FailChoice,
    Kill,
    Probe,
    Settle,
    Verify,
    Work,
)
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    AddAtom,
    AlternativesProposed,
    AtomResolved,
    AttemptFailed,
    Backjumped,
    ChangeObjective,
    ChoiceFailed,
    Confirmed,
    DeclaredInfeasible,
    Decomposed,
    EarlyChecked,
    Edit,
    Event,
    ForceChoice,
    Gap,
    Interruption,
    NewAtom,
    OverrideBinding,
    ProbeEnded,
    Redirected,
    RedirectRequested,
    RemoveAtom,
    Retry,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionReaped,
    SessionStarted,
    SetLimit,
    Settled,
    StopRequested,
    VerificationEnded,
    WindBegan,
)
from dwindle.kernel.graph import view
from dwindle.kernel.measure import spare_fuel
from dwindle.kernel.model import (
    ROOT,
    Answer,
    AtomId,
    CorrectionType,
    Dispatch,
    Limits,
    Plan,
    Role,
    RunStatus,
    Session,
    Status,
    StopCode,
)
from dwindle.kernel.shape import subtree
from dwindle.kernel.winds import pays_for_switch


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A set of limits, of plans, and of things that may happen."""

    name: str
    happens: tuple[str, ...] = ()
    """Out of: infeasible, grow, worker_grow, late, interrupt, rate, gaps, nothing_judged, ask,
    early, stop, pause, lost, objective, add, remove, force, retry, rewrite, limits, override."""
    attempts: int = 1
    probes: int = 0
    rounds: int = 1
    redirects: int = 0
    forgiven: int = 0
    fuel: int = 0
    backjumps: int = 1
    winds: int = 0
    width: int = 1
    dispatch: Dispatch = Dispatch.REFILL
    depth: int = 3
    stalls: int | None = None
    """max_stall_count; None: so high that it never matters."""
    iterations: int | None = None
    dependencies: int = 1
    speculative: bool = False
    unwritten: bool = False
    only_groups: bool = False
    own_attempts: bool = False
    """The first atom has an attempt more than the others."""
    turns: bool = False
    """Every atom has two attempts of its own, so that the ways of a choice take turns."""
    probe_first: bool = False
    """The first atom asks for a probe."""
    runner_first: bool = False
    """The runner starts all it can before the world moves, as it does in truth."""
    at_most: int = field(default=99)
    """Plans with more atoms than this are left out."""

    def limits(self) -> Limits:
        return Limits(
            max_iterations=self.iterations or 10**6,
            max_parallel_agents=self.width,
            max_stall_count=self.stalls or 10**6,
            max_atoms=self.fuel,
            max_depth=self.depth,
            max_attempts=self.attempts,
            max_probes=self.probes,
            max_verifications=self.rounds,
            max_redirects=self.redirects,
            max_forgiven=self.forgiven,
            max_backjumps=self.backjumps,
            max_winds=self.winds,
            dispatch=self.dispatch,
            early_verify="early" in self.happens,
            stated=("max_atoms",),
        )


def moves(plan: Plan, decision: Decision, suite: Suite) -> Iterator[Event]:
    yield from _runner(plan, decision, suite)
    if suite.runner_first and (decision.actions or decision.stop):
        return
    if plan.control.status is RunStatus.RUNNING:
        for atom, session in plan.sessions.items():
            yield from _session(plan, atom, session, suite)
    yield from _person(plan, suite)


# --- the runner ----------------------------------------------------------------------------------


def _runner(plan: Plan, decision: Decision, suite: Suite) -> Iterator[Event]:
    if plan.control.status is not RunStatus.RUNNING:
        return
    if decision.stop is not None:
        yield RunEnded(code=decision.stop.code, reason="r")
        return
    for action in decision.actions:
        match action:
            case Work():
                yield SessionStarted(atom=action.atom, role=Role.WORKER)
                return
            case Probe():
                yield SessionStarted(atom=action.atom, role=Role.PROBE)
                return
            case Verify():
                yield SessionStarted(atom=ROOT, role=Role.VERIFIER)
            case CheckEarly():
                yield EarlyChecked(passed=True)
                yield EarlyChecked(passed=False)
            case Settle():
                yield Settled()
            case BeginWind():
                yield WindBegan(reason="r")
            case Kill():
                yield from _kill(plan, action)
            case FailChoice():
                yield ChoiceFailed(group=action.group, choice=action.choice, reason="r")
                if "lost" in suite.happens:
                    if plan.limits.max_backjumps > plan.spent.backjumps:
                        for atom in _lossable(plan, action.choice):
                            yield ChoiceFailed(
                                group=action.group,
                                choice=action.choice,
                                reason="r",
                                unreplayed=(atom,),
                            )
                    elif pays_for_switch(plan):
                        yield WindBegan(reason="r")
                    else:
                        yield StopRequested(reason="r", code=StopCode.ATOM_EXHAUSTED)
            case Backjump():
                lost = _lossable(plan, None) if "lost" in suite.happens else ()
                for unreplayed in ((), *((a,) for a in lost if a not in action.drops)):
                    yield Backjumped(
                        group=action.group, atom=action.atom, reason="r", unreplayed=unreplayed
                    )


def _kill(plan: Plan, action: Kill) -> Iterator[Event]:
    if action.atom != ROOT and action.atom not in view(plan).live:
        yield SessionReaped(atom=action.atom, nonce=action.nonce)
    else:
        yield SessionInterrupted(atom=action.atom, nonce=action.nonce, cause=Interruption.STOP)


def _lossable(plan: Plan, without: AtomId | None) -> tuple[AtomId, ...]:
    """Resolved live leaves whose commit may turn out not to replay."""
    seen = view(plan)
    gone = set(subtree(seen.shape, without)) if without is not None else set()
    return tuple(
        n
        for n, a in plan.atoms.items()
        if a.status is Status.RESOLVED
        and n in seen.live
        and n not in seen.shape.kids
        and n not in gone
    )


# --- agents --------------------------------------------------------------------------------------


def _session(plan: Plan, atom: AtomId, session: Session, suite: Suite) -> Iterator[Event]:
    nonce = session.nonce
    if session.role is Role.VERIFIER:
        yield from _verification(nonce, suite)
    elif session.role is Role.WORKER:
        yield AtomResolved(atom=atom, nonce=nonce, summary="s")
        yield AttemptFailed(atom=atom, nonce=nonce, reason="r")
        if "infeasible" in suite.happens:
            yield DeclaredInfeasible(atom=atom, nonce=nonce, reason="r")
    else:
        yield ProbeEnded(atom=atom, nonce=nonce)
        yield AttemptFailed(atom=atom, nonce=nonce, reason="r")
        if "infeasible" in suite.happens:
            yield DeclaredInfeasible(atom=atom, nonce=nonce, reason="r")
    grows = "grow" if session.role is Role.PROBE else "worker_grow"
    if grows in suite.happens and atom in view(plan).live:
        yield from _growth(plan, atom, nonce)
    if "late" in suite.happens:
        yield AtomResolved(atom=atom, nonce=nonce - 1, summary="of an earlier session")
    if "interrupt" in suite.happens:
        yield SessionInterrupted(atom=atom, nonce=nonce, cause=Interruption.RUNNER_DIED)
    if "rate" in suite.happens:
        yield SessionInterrupted(atom=atom, nonce=nonce, cause=Interruption.RATE_LIMIT)


def _verification(nonce: int, suite: Suite) -> Iterator[Event]:
    yield VerificationEnded(nonce=nonce, passed=True)
    if "gaps" in suite.happens:
        yield VerificationEnded(nonce=nonce, passed=False, gaps=(Gap(item="i", evidence="e"),))
    if "nothing_judged" in suite.happens or "gaps" not in suite.happens:
        yield VerificationEnded(nonce=nonce, passed=False)
    if "ask" in suite.happens:
        yield VerificationEnded(nonce=nonce, passed=True, questions=("q",))


def _growth(plan: Plan, atom: AtomId, nonce: int) -> Iterator[Event]:
    """One or two children, side by side or one after the other; one or two alternatives."""
    if atom == ROOT:
        return
    room = spare_fuel(plan)
    one, two = NewAtom(description="n"), NewAtom(description="n", depends_on=("#1",))
    if room >= 1:
        other = next((a for a in plan.atoms if a != atom), atom)
        linked = NewAtom(description="n", depends_on=(other,))
        yield Decomposed(atom=atom, nonce=nonce, children=(linked,), reason="r")
        yield Decomposed(atom=atom, nonce=nonce, children=(one,), reason="r")
        yield AlternativesProposed(atom=atom, nonce=nonce, alternatives=(one,), reason="r")
    if room >= 2:
        yield Decomposed(atom=atom, nonce=nonce, children=(one, one), reason="r")
        yield Decomposed(atom=atom, nonce=nonce, children=(one, two), reason="r")
        yield AlternativesProposed(atom=atom, nonce=nonce, alternatives=(one, one), reason="r")


# --- people --------------------------------------------------------------------------------------


def _person(plan: Plan, suite: Suite) -> Iterator[Event]:
    control, happens = plan.control, suite.happens
    if control.status is RunStatus.COMPLETED:
        return
    if control.status is RunStatus.RUNNING and not control.stop_requested:
        if "stop" in happens:
            yield StopRequested(reason="r")
        if "restart" in happens and not plan.sessions:
            yield RunStarted()
        if "pause" in happens:
            yield RedirectRequested(active=not control.redirect_requested)
    if control.status is RunStatus.STOPPED and ("stop" in happens or "ask" in happens):
        yield RunStarted()
    for question in plan.verification.questions:
        if question.answer is Answer.OPEN:
            yield Confirmed(item=question.item, answer=Answer.YES)
            yield Confirmed(item=question.item, answer=Answer.NO)
    if plan.limits.max_redirects > plan.spent.redirects:
        yield from _redirects(plan, happens)


def _redirects(plan: Plan, happens: tuple[str, ...]) -> Iterator[Event]:
    def redirect(kind: CorrectionType, *edits: Edit) -> Redirected:
        return Redirected(type=kind, edits=edits, description="d")

    adjust, limit = CorrectionType.DAG_ADJUSTMENT, CorrectionType.CONSTRAINT_CHANGE
    if "objective" in happens:
        change = CorrectionType.OBJECTIVE_CHANGE
        yield redirect(change, ChangeObjective(goal="another"))
        for name, atom in plan.atoms.items():
            if atom.status is Status.RESOLVED and name in view(plan).live:
                yield redirect(change, ChangeObjective(goal="another", reopen=(name,)))
    if "limits" in happens:
        counters = ("max_verifications", "max_backjumps", "max_forgiven", "max_atoms", "max_winds")
        for counted in counters:
            value = getattr(plan.limits, counted)
            yield redirect(limit, SetLimit(name=counted, value=value + 1))
            yield redirect(limit, SetLimit(name=counted, value=value - 1))
        yield redirect(limit, SetLimit(name="max_attempts", value=plan.limits.max_attempts + 1))
        yield redirect(limit, SetLimit(name="max_attempts", value=1))
        yield redirect(limit, SetLimit(name="max_probes", value=1 - plan.limits.max_probes))
        yield redirect(
            limit, SetLimit(name="max_parallel_agents", value=3 - plan.limits.max_parallel_agents)
        )
    new = NewAtom(description="n")
    if "add" in happens:
        yield redirect(adjust, AddAtom(new=new))
        for name in plan.atoms:
            yield redirect(adjust, AddAtom(new=new, parent=name))
            yield redirect(adjust, AddAtom(new=NewAtom(description="n", depends_on=(name,))))
        for group in plan.groups:
            yield redirect(adjust, AddAtom(new=new, group=group))
    if "remove" in happens:
        for name in plan.atoms:
            yield redirect(adjust, RemoveAtom(atom=name))
    if "force" in happens:
        for forced in plan.groups.values():
            for choice in forced.choices:
                yield redirect(adjust, ForceChoice(group=forced.id, choice=choice))
    if "retry" in happens:
        for node in (ROOT, *plan.atoms, *plan.groups):
            yield redirect(adjust, Retry(node=node))
    if "rewrite" in happens:
        for edit in rewrites(plan):
            yield redirect(adjust, edit)
    if "override" in happens:
        for name in plan.bindings:
            yield redirect(
                CorrectionType.BINDINGS_OVERRIDE, OverrideBinding(atom=name, summary="other")
            )


MAY_BE_REFUSED = (Redirected, Decomposed, AlternativesProposed)
"""What people and agents ask for may be refused; everything else the runner does must be legal."""

__all__ = ["MAY_BE_REFUSED", "IllegalEvent", "Suite", "moves"]
