"""Rules that look right and are not: each is planted again, and must be caught.

The names are those of the counter-examples in `docs/kernel.md`. A rule is planted by replacing
one function of the kernel, wherever it is bound; the model checker then walks one small plan.
Where a rule cannot be planted, because there is nothing left to plant it in, a plain test holds
what the rule got wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.model.model_check import Violation, check_plan
from tests.model.small_plans import plan_from
from tests.model.world import Suite

from dwindle.kernel import (
    branches,
    decide,
    edits,
    effects,
    graph,
    growth,
    measure,
    pace,
    redirects,
    sessions,
    settle,
    structure,
    transitions,
    winds,
)
from dwindle.kernel.actions import Decision, Stop
from dwindle.kernel.errors import NotDwindling
from dwindle.kernel.events import (
    AttemptFailed,
    Decomposed,
    Event,
    Redirected,
    RunStarted,
    SessionInterrupted,
    SessionStarted,
    VerificationEnded,
)
from dwindle.kernel.graph import view
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    Dispatch,
    GroupId,
    OrGroup,
    Plan,
    Problem,
    Status,
    StopCode,
)
from dwindle.kernel.shape import Shape, subtree


def plant(
    patch: pytest.MonkeyPatch, original: Callable[..., Any], naive: Callable[..., Any]
) -> None:
    """Put a naive function in the place of one of the kernel's, wherever that is bound."""
    bound = 0
    for name, module in list(sys.modules.items()):
        if name.startswith(("dwindle.", "tests.model.")):
            for attribute, value in list(vars(module).items()):
                if value is original:
                    patch.setattr(module, attribute, naive)
                    bound += 1
    for kind, value in list(effects.EFFECTS.items()):
        if value is original:
            patch.setitem(effects.EFFECTS, kind, naive)
            bound += 1
    assert bound, f"{original} is nowhere to be found"


@dataclass(frozen=True, kw_only=True)
class Rule:
    name: str
    says: str
    original: Callable[..., Any]
    naive: Callable[..., Any]
    plan: str
    suite: Suite
    caught: str
    """What the checker says."""
    also: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = ()
    """What is planted with it, because the kernel would make up for the rule otherwise."""
    given: Callable[[Plan], Plan] = lambda plan: plan
    """What a file made of the plan before the run."""

    def found(self) -> Violation | None:
        return check_plan(
            self.given(plan_from(self.plan, self.suite.limits())), self.suite
        ).violation


def suite(*happens: str, **options: Any) -> Suite:
    return Suite(name="planted", happens=happens, **options)


# --- the naive functions -------------------------------------------------------------------------

_start, _fail, _decompose = sessions.session_started, sessions.attempt_failed, sessions.decomposed
_interrupt, _resume, _redirect = sessions.interrupted, effects.run_started, redirects.redirected
_verified, _rung, _switch = effects.verification_ended, branches.rung, branches.with_failed_choice
_add, _decide, _win, _jump = growth.with_atoms, decide.decide, settle.race_won, branches.backjumped
_reopen, _force = branches.reopened, edits.with_forced


def failing_is_free(plan: Plan, event: AttemptFailed) -> Plan:
    after = _fail(plan, event)
    atom = after.atoms[event.atom]
    return graph.with_atom(after, replace(atom, attempts=atom.attempts - 1))


def charged_at_the_end(plan: Plan, event: SessionStarted) -> Plan:
    after = _start(plan, event)
    if event.atom == ROOT:
        return after
    return graph.with_atom(after, replace(after.atoms[event.atom], attempts=0))


def all_atoms_resolved(plan: Plan) -> bool:
    return all(a.status is Status.RESOLVED for a in plan.atoms.values())


def no_problems(*_: object) -> Iterator[Problem]:
    return iter(())


def own_dependencies_only(_shape: Shape, unmet: Any, atom: str) -> bool:
    return not unmet.get(atom, 0)


def parents_too(plan: Plan) -> tuple[AtomId, ...]:
    return tuple(n for n, a in plan.atoms.items() if a.status is Status.PENDING)


def nothing_is_everything(plan: Plan, event: Decomposed) -> Plan:
    done = replace(plan.atoms[event.atom], status=Status.RESOLVED)
    return graph.with_atom(plan, done, sessions={})


def atoms_for_free(plan: Plan, *more: Any, **options: Any) -> Plan:
    return replace(_add(plan, *more, **options), spent=plan.spent)


def verifying_is_free(plan: Plan, event: SessionStarted) -> Plan:
    after = _start(plan, event)
    return graph.evolve(after, spent=replace(after.spent, verifications=plan.spent.verifications))


def exhaustion_is_local(plan: Plan, atom: AtomId) -> branches.Rung:
    found = _rung(plan, atom)
    return branches.ProbeRung(atom) if isinstance(found, branches.LastRung) else found


def failed_is_cleared(plan: Plan, group: GroupId, choice: AtomId) -> Plan:
    after = _switch(plan, group, choice)
    return replace(after, groups={n: replace(g, failed=()) for n, g in after.groups.items()})


def ends_at_once(plan: Plan, code: StopCode, reason: str, *, kill: bool) -> Decision:
    return Decision(plan=plan, stop=Stop(code=code, reason=f"{reason}{kill}"))


def never_fenced(_plan: Plan, _event: Event) -> bool:
    return False


def budget_first(plan: Plan) -> Decision:
    running = plan.control.status.value == "running"
    over = decide._out_of_budget(plan) if running else None
    return over or _decide(plan)


def rotates(plan: Plan, rung: branches.BackjumpRung, reason: str, at: str) -> Plan:
    group = rung.group
    before = plan.groups[group]
    after = _jump(plan, rung, reason, at)
    later = before.choices[before.choices.index(before.selected) - 1]
    return replace(
        after,
        groups={**after.groups, group: replace(before, selected=later)},
        spent=plan.spent,
    )


def without_refill(plan: Plan, atoms: Any, *, attempts: bool = True) -> Plan:
    return _reopen(plan, atoms, attempts=attempts and False)


def direct_dependents(plan: Plan, nodes: Any) -> tuple[AtomId, ...]:
    wanted = list(nodes)
    shape = view(plan).shape
    return tuple(a for a in plan.atoms if any(t in wanted for t in shape.needs.get(a, ())))


def losers_fail(plan: Plan, group: GroupId, winner: AtomId, at: str) -> Plan:
    after = _win(plan, group, winner, at)
    won = after.groups[group]
    lost = tuple(c for c in won.choices if c != won.selected)
    return replace(after, groups={**after.groups, group: replace(won, failed=lost)})


def losers_are_reset(plan: Plan, group: GroupId, winner: AtomId, at: str) -> Plan:
    after = _win(plan, group, winner, at)
    won = after.groups[group]
    lost = [
        AtomId(n) for c in won.choices if c != won.selected for n in subtree(view(after).shape, c)
    ]
    return _reopen(after, lost)


def only_dependents_refilled(plan: Plan, rung: branches.BackjumpRung, reason: str, at: str) -> Plan:
    group = rung.group
    after = _jump(plan, rung, reason, at)
    left = graph.unfailed(after.groups[group])
    kept = {c: replace(after.atoms[c], attempts=plan.atoms[c].attempts) for c in left}
    return replace(after, atoms={**after.atoms, **kept})


def recorded_whatever(_plan: Plan, group: OrGroup) -> AtomId | None:
    return group.selected


def forced_stays_failed(plan: Plan, edit: Any, event: Redirected) -> Plan:
    after = _force(plan, edit, event)
    group = replace(after.groups[edit.group], failed=plan.groups[edit.group].failed)
    return replace(after, groups={**after.groups, edit.group: group})


def redirects_are_free(plan: Plan, event: Redirected) -> Plan:
    after = _redirect(plan, event)
    return replace(after, spent=replace(after.spent, redirects=plan.spent.redirects))


def forgiving_is_free(plan: Plan, event: SessionInterrupted) -> Plan:
    after = _interrupt(plan, event)
    return graph.evolve(after, spent=replace(after.spent, forgiven=plan.spent.forgiven))


def resume_refills(plan: Plan, event: RunStarted) -> Plan:
    after = _resume(plan, event)
    return graph.evolve(after, spent=replace(after.spent, forgiven=0))


def last_choice_gives_up(plan: Plan, atom: AtomId) -> branches.Rung:
    found = _rung(plan, atom)
    around = branches.innermost_choice(plan, atom)
    if around is not None and not isinstance(found, branches.SwitchRung):
        return branches.LastRung(atom, around)
    return found


def fixes_after_the_last_round(plan: Plan, event: VerificationEnded) -> Plan:
    return growth.with_fixes(sessions.ended(plan, event), event.gaps)


def whatever_is_ready(plan: Plan) -> tuple[AtomId, ...]:
    return view(plan).ready


def strict_for_everything(before: Any, after: Any, event: Event, *, fenced: bool) -> None:
    if not after < before:
        raise NotDwindling(event, before, after)
    assert not fenced or before


def stall_by_starts(before: Plan, after: Plan, **_: bool) -> Plan:
    """A stall is an end without anything resolved, whatever else is running."""
    count = after.control.stall_count + 1
    if view(after).open_count < view(before).open_count:
        count = 0
    elif len(after.sessions) == len(before.sessions):
        return after
    return graph.evolve(after, control=replace(after.control, stall_count=count))


def stall_by_count(plan: Plan) -> bool:
    return plan.control.stall_count >= plan.limits.max_stall_count


def no_look_at_fuel(_plan: Plan, _event: Redirected) -> None:
    return None


def never_turns_back(_plan: Plan, _atom: AtomId) -> None:
    return None


def finished_is_verified(plan: Plan) -> bool:
    return graph.is_finished(plan)


def kept_charged(plan: Plan) -> Plan:
    atoms = {n: replace(a, status=Status.PENDING) for n, a in plan.atoms.items()}
    return replace(plan, atoms={**plan.atoms, **{n: atoms[n] for n in plan.sessions}}, sessions={})


def as_it_is(plan: Plan, name: AtomId) -> Any:
    return plan.atoms[name]


def never_too_deep(*_: object) -> int:
    return 0


GROUP = "A3<-G1 G1{A1|A2}"

RULES = (
    Rule(
        name="H1",
        says="outside a choice a failed atom is simply pending again",
        original=sessions.attempt_failed,
        naive=failing_is_free,
        plan="A1",
        suite=suite(),
        caught="AttemptFailed does not lower the measure",
    ),
    Rule(
        name="H2",
        says="an attempt is counted when its result arrives",
        original=sessions.session_started,
        naive=charged_at_the_end,
        plan="A1",
        suite=suite("interrupt"),
        caught="SessionStarted does not lower the measure",
    ),
    Rule(
        name="H3",
        says="done means that all atoms are resolved",
        original=graph.is_finished,
        naive=all_atoms_resolved,
        plan="G1{A1|A2}",
        suite=suite(),
        caught="deadlock",
    ),
    Rule(
        name="H4",
        says="one may depend on something inside an alternative",
        original=structure._legality_problems,
        naive=no_problems,
        plan="A4<-A2 G1{A1[A2]|A3}",
        suite=suite(),
        caught="deadlock",
    ),
    Rule(
        name="H5",
        says="cycles are looked for along depends_on only",
        original=structure._cycle_problems,
        naive=no_problems,
        plan="A1[A3<-A4] A2[A4]<-A1",
        suite=suite(),
        caught="deadlock",
    ),
    Rule(
        name="H6",
        says="children do not inherit what their parent waits for",
        original=graph.is_startable,
        naive=own_dependencies_only,
        plan="A1[A2]<-A3 A3",
        suite=suite(),
        caught="started before its dependencies",
    ),
    Rule(
        name="H7",
        says="a decomposed parent may still be worked on",
        original=winds.startable,
        naive=parents_too,
        plan="A1[A2]",
        suite=suite(),
        caught="A1 is not a live leaf",
    ),
    Rule(
        name="H8",
        says="a parent without children is done",
        original=sessions.decomposed,
        naive=nothing_is_everything,
        plan="A1",
        suite=suite("worker_grow", fuel=1),
        caught="A1 went from in_progress to resolved",
    ),
    Rule(
        name="H9",
        says="decomposing costs nothing",
        original=growth.with_atoms,
        naive=atoms_for_free,
        plan="A1",
        suite=suite("worker_grow", fuel=1),
        caught="Decomposed does not lower the measure",
    ),
    Rule(
        name="H10",
        says="verifying costs nothing",
        original=sessions.session_started,
        naive=verifying_is_free,
        plan="A1",
        suite=suite(),
        caught="SessionStarted does not lower the measure",
    ),
    Rule(
        name="H11",
        says="an exhausted group concerns no other node",
        original=branches.rung,
        naive=exhaustion_is_local,
        plan="G1{A1|A2}",
        suite=suite(),
        caught="no probe session left",
    ),
    Rule(
        name="H12",
        says="failed choices get another chance when a group is entered again",
        original=branches.with_failed_choice,
        naive=failed_is_cleared,
        plan="G1{A1|A2}",
        suite=suite(),
        caught="ChoiceFailed does not lower the measure",
    ),
    Rule(
        name="H13",
        says="a stop is recorded before the sessions are gone",
        original=decide._ending,
        naive=ends_at_once,
        plan="A1",
        suite=suite("stop"),
        caught="sessions are still running",
    ),
    Rule(
        name="H14",
        says="a report is a report, whenever it comes",
        original=transitions.is_fenced,
        naive=never_fenced,
        plan="A1",
        suite=suite("late", attempts=2),
        caught="a late report on A1 was believed",
    ),
    Rule(
        name="H15",
        says="the budget is looked at first",
        original=decide.decide,
        naive=budget_first,
        plan="A1",
        suite=suite(iterations=1),
        caught="iteration_limit although nothing is open",
    ),
    Rule(
        name="N1",
        says="a backjump takes the next choice and fails nothing",
        original=branches.backjumped,
        naive=rotates,
        plan=GROUP,
        suite=suite(),
        caught="Backjumped does not lower the measure",
    ),
    Rule(
        name="N2",
        says="what is reopened keeps its attempts as they are",
        original=branches.reopened,
        naive=without_refill,
        plan=GROUP,
        suite=suite(),
        caught="A3 was reopened without an attempt",
    ),
    Rule(
        name="N3",
        says="only direct dependents are reopened",
        original=branches.dependents,
        naive=direct_dependents,
        plan="A3<-G1 A4<-A3 A5<-G1 G1{A1|A2}",
        suite=suite(),
        caught="stale: A4 stays resolved while something it depends on is open",
    ),
    Rule(
        name="N4",
        says="the losers of a race have failed",
        original=settle.race_won,
        naive=losers_fail,
        plan="A3<-G1 G1~{A1|A2}",
        suite=suite(width=2),
        caught="losers of the race G1 were recorded as failed",
    ),
    Rule(
        name="N5",
        says="the losers of a race are wiped clean",
        original=settle.race_won,
        naive=losers_are_reset,
        plan="G1~{A1[A2 A3]|A4}",
        suite=suite(width=2, attempts=2),
        caught="",
    ),
    Rule(
        name="N6",
        says="when the winner is given up the losers race with what they had left",
        original=branches.backjumped,
        naive=only_dependents_refilled,
        plan="A3<-G1 G1~{A1|A2}",
        suite=suite(width=2),
        caught="A2 was reopened without an attempt",
    ),
    Rule(
        name="N7",
        says="the recorded choice is in force even if it has failed",
        original=graph.selected,
        naive=recorded_whatever,
        plan="G1{A1|A2}",
        suite=suite(),
        caught="",
    ),
    Rule(
        name="N8",
        says="a forced choice stays in failed",
        original=edits.with_forced,
        naive=forced_stays_failed,
        plan="G1{A1|A2}",
        suite=suite("force", redirects=1),
        caught="the forced choice A1 is still in failed",
    ),
    Rule(
        name="N9",
        says="redirects are free",
        original=redirects.redirected,
        naive=redirects_are_free,
        plan="G1{A1|A2}",
        suite=suite("force", redirects=1),
        caught="Redirected does not lower the measure",
    ),
    Rule(
        name="N10",
        says="a rate limit is given back for nothing",
        original=sessions.interrupted,
        naive=forgiving_is_free,
        plan="A1",
        suite=suite("rate", forgiven=1),
        caught="SessionInterrupted does not lower the measure",
    ),
    Rule(
        name="N11",
        says="running again refills what can be forgiven",
        original=effects.run_started,
        naive=resume_refills,
        plan="A1",
        suite=suite("stop", forgiven=1),
        caught="RunStarted does not lower the measure",
    ),
    Rule(
        name="N12",
        says="the last choice of a group ends the run at once",
        original=branches.rung,
        naive=last_choice_gives_up,
        plan="G1{A1|A2} G2{A3<-G1|A4<-G1}",
        suite=suite(),
        caught="G1, which A4 was built upon, had A2",
    ),
    Rule(
        name="N13",
        says="growth may use all the fuel there is",
        original=measure.spare_fuel,
        naive=measure.fuel,
        plan="A2 G1{A1|A3?}",
        suite=suite("worker_grow", fuel=1),
        caught="fuel of an unwritten alternative was spent",
    ),
    Rule(
        name="N14",
        says="fix atoms are added after the last verification round",
        original=effects.verification_ended,
        naive=fixes_after_the_last_round,
        plan="A1",
        suite=suite("gaps", fuel=1),
        caught="no verification round is left",
        also=((winds.startable, whatever_is_ready),),
    ),
    Rule(
        name="N17",
        says="every event lowers the measure",
        original=transitions.assert_dwindled,
        naive=strict_for_everything,
        plan="A1",
        suite=suite("stop"),
        caught="does not lower the measure",
    ),
    Rule(
        name="N18",
        says="a stall is a batch after which as much is open as before",
        original=pace.counted_end,
        naive=stall_by_starts,
        plan="A1 A2",
        suite=suite(width=2, attempts=2, stalls=2, runner_first=True),
        caught="stalled while",
        also=((pace.is_stalled, stall_by_count),),
    ),
    Rule(
        name="N19",
        says="a stall is a session that failed",
        original=pace.counted_end,
        naive=stall_by_starts,
        plan="A1 A2 A3",
        suite=suite(width=3, attempts=3, stalls=3, runner_first=True, dispatch=Dispatch.WAVE),
        caught="stalled while",
        also=((pace.is_stalled, stall_by_count),),
    ),
    Rule(
        name="stall-by-count",
        says="so many generations in a row that got nowhere are a stall, whichever atom had a turn",
        original=pace.is_stalled,
        naive=stall_by_count,
        plan="A1 A2 A3",
        suite=suite(attempts=2, stalls=2, runner_first=True),
        caught="stalled while",
    ),
    Rule(
        name="no-backjump",
        says="a run may give up although it could turn back",
        original=branches.backjump_rung,
        naive=never_turns_back,
        plan=GROUP,
        suite=suite(),
        caught="G1, which A3 was built upon, had A2",
    ),
    Rule(
        name="no-switch",
        says="a run may give up although the group has another choice",
        original=branches.switch_rung,
        naive=never_turns_back,
        plan="G1{A1|A2}",
        suite=suite(),
        caught="G1, which A1 stands in, had A2",
    ),
    Rule(
        name="no-evidence",
        says="what is finished is verified",
        original=sessions.is_verified,
        naive=finished_is_verified,
        plan="A1",
        suite=suite(),
        caught="completed without a passed verification",
    ),
    Rule(
        name="redirect-keeps-charges",
        says="a redirect gives nothing back",
        original=redirects.without_sessions,
        naive=kept_charged,
        plan="A1 A2",
        suite=suite("add", redirects=1, fuel=1),
        caught="did not get its attempts back",
    ),
    Rule(
        name="forgiven-keeps-charges",
        says="a forgiven session stays charged",
        original=sessions.given_back,
        naive=as_it_is,
        plan="A1",
        suite=suite("interrupt", forgiven=1),
        caught="did not get its attempts back",
    ),
    Rule(
        name="no-depth",
        says="a plan may get as deep as its fuel allows",
        original=graph.depth,
        naive=never_too_deep,
        plan="A1",
        suite=suite("worker_grow", fuel=2, depth=1),
        caught="stands too deep",
    ),
    Rule(
        name="N20",
        says="forcing a choice does not look at fuel",
        original=redirects.refuse_broken,
        naive=no_look_at_fuel,
        plan="A5<-G2 G2{A1[G1{A3|A4?}]|A2}",
        suite=suite("force", "worker_grow", redirects=1, fuel=1),
        caught="",
    ),
)


@pytest.mark.parametrize("rule", RULES, ids=[r.name for r in RULES])
def test_caught(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    for original, naive in ((rule.original, rule.naive), *rule.also):
        plant(monkeypatch, original, naive)
    found = rule.found()
    assert found is not None, f"{rule.name} went unnoticed: {rule.says}"
    assert rule.caught in found.law


@pytest.mark.parametrize("rule", RULES, ids=[r.name for r in RULES])
def test_not_caught_without_it(rule: Rule) -> None:
    if rule.name in ("H4", "H5"):
        assert structure.structure_problems(plan_from(rule.plan, rule.suite.limits()))
    else:
        assert rule.found() is None


SHARED = [r for r in RULES if r.also]


@pytest.mark.parametrize("rule", SHARED, ids=[r.name for r in SHARED])
def test_what_is_planted_with_a_rule_does_not_do_it_alone(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    for original, naive in rule.also:
        plant(monkeypatch, original, naive)
    assert rule.found() is None
