"""From a plan to what should happen next. Pure: the same plan, the same decision.

The order of judgement is fixed: a stop, the pause for a redirect, completion, the ladder, budgets
and stalls, and only then new sessions. Completion comes before the budgets, so that a success on
the last allowed iteration is a success. An atom for which nothing is left to try is parked, and the
rest goes on; when nothing else is left a wind begins, and when there is none, the run ends. A run
ends only when nothing is in flight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dwindle.kernel import branches, pace, tree_edits, winds
from dwindle.kernel.actions import (
    Action,
    Backjump,
    BeginWind,
    CheckEarly,
    Decision,
    FailChoice,
    Kill,
    Probe,
    Settle,
    Stop,
    Verify,
    Work,
)
from dwindle.kernel.explain import waiting
from dwindle.kernel.graph import (
    chain_behind,
    failures,
    is_finished,
    is_startable,
    probes_left,
    unfailed,
    view,
)
from dwindle.kernel.measure import (
    combinations_tried,
    luby,
    rounds_left,
    spare_fuel,
    winds_left,
)
from dwindle.kernel.model import (
    ROOT,
    Answer,
    Atom,
    AtomId,
    Plan,
    PlanKind,
    RunStatus,
    StopCode,
)
from dwindle.kernel.sessions import is_verified, wants_early_check
from dwindle.kernel.shape import subtree

WAITS_BEFORE_VERIFYING = (0, 1, 5, 25)
"""Seconds, by how many rounds in a row named nothing to fix."""
MOST_EXPLAINED = 3
"""Parked atoms that the end of a run explains in full; `status` explains all of them."""
MOST_NAMED = 10
"""Names in one list; the others are counted."""
REASON_CHARACTERS = 200
"""Characters of a reason at the end of a run; the Trail has all of it."""


def decide(plan: Plan) -> Decision:
    for judge in (
        _not_running,
        _asked,
        _abandoned,
        _complete,
        _unsettled,
        _repair,
        _climb,
        _given_up,
        _out_of_budget,
        _dispatch,
        _second_wind,
    ):
        decision = judge(plan)
        if decision is not None:
            return decision
    return _stuck(plan)


# --- the judges, in order ------------------------------------------------------------------------


def _not_running(plan: Plan) -> Decision | None:
    control = plan.control
    if control.status is RunStatus.RUNNING:
        return None
    if control.status is RunStatus.PENDING:
        return Decision(plan=plan, because="the run has not been started")
    code = control.stop_code or StopCode.STOPPED_BY_USER
    if control.status is RunStatus.COMPLETED:
        code = StopCode.COMPLETED
    reason = control.stop_reason or f"the run is {control.status}"
    return _stop(plan, code, reason)


def _asked(plan: Plan) -> Decision | None:
    """A stop, or the pause for a redirect: sessions in flight are ended first."""
    control = plan.control
    if control.stop_requested:  # also while a user prepares a redirect, who may be gone
        reason = control.stop_reason or "a stop was requested"
        code = control.stop_code or StopCode.STOPPED_BY_USER
        return _ending(plan, code, reason, kill=True)
    if control.redirect_requested:
        why = "a redirect is under way"
        paused = Decision(plan=plan, actions=_kill_all(plan, why), because=f"{why}: nothing starts")
        # Running sessions end first, also when the time is spent. What is left when nothing is open
        # is a verification, which no budget stands against: that waits for the person.
        if plan.sessions or is_finished(plan):
            return paused
        return _out_of_time(plan) or paused
    return None


def _abandoned(plan: Plan) -> Decision | None:
    """Sessions whose branch is not live any more only waste time and money."""
    live = view(plan).live
    kills = tuple(
        Kill(atom=a, nonce=s.nonce, because=f"{a} is on a branch that was left")
        for a, s in plan.sessions.items()
        if a not in live
    )
    return Decision(plan=plan, actions=kills) if kills else None


def _complete(plan: Plan) -> Decision | None:
    if is_verified(plan):
        what = "check of the base case" if plan.kind is PlanKind.GRAPH else "leaf of the tree"
        return _ending(plan, StopCode.COMPLETED, f"every {what} passed", kill=True)
    if ROOT in plan.sessions:
        return Decision(plan=plan, because="the base case is being verified")
    if not is_finished(plan):
        if wants_early_check(plan):
            return Decision(plan=plan, actions=(CheckEarly(because="the branch changed"),))
        return None
    if plan.sessions:
        return Decision(plan=plan, because="sessions that are no longer needed are ending")
    return _verify(plan)


def _verify(plan: Plan) -> Decision:
    """Nothing is open and nothing runs: another round, unless something stands against it."""
    seen = plan.verification
    unanswered = [q.item for q in seen.questions if q.answer is Answer.OPEN]
    if seen.passed and unanswered:
        asked = "; ".join(unanswered)
        return _stop(plan, StopCode.AWAITING_CONFIRMATION, f"a person has to confirm: {asked}")
    if seen.unmended:
        failed = ", ".join(seen.not_passed) or seen.unmended
        reason = f"checks failed ({failed}), and no fuel or round is left to fix them"
        return _stop(plan, StopCode.VERIFICATION_EXHAUSTED, reason)
    denied = [q.item for q in seen.questions if q.answer is Answer.NO]
    if rounds_left(plan) <= 0 and not (denied and winds_left(plan) > 0):
        missed = _named_items(seen.not_passed or denied)
        reason = f"the last verification round did not pass{missed}"
        return _stop(plan, StopCode.VERIFICATION_EXHAUSTED, reason)
    if denied:
        if spare_fuel(plan) <= 0:
            reason = f"a person said no to {'; '.join(denied)} and no fuel is left"
            return _stop(plan, StopCode.VERIFICATION_EXHAUSTED, reason)
        why = f"a person said no: {'; '.join(denied)}"
        return Decision(plan=plan, actions=(Settle(because=why),))
    wait = WAITS_BEFORE_VERIFYING[min(seen.rounds_without_gaps, len(WAITS_BEFORE_VERIFYING) - 1)]
    why = "nothing is open" if not wait else "the last round could not run everything"
    return Decision(plan=plan, actions=(Verify(after_seconds=wait, because=why),))


def _named_items(items: Sequence[str]) -> str:
    return f": {', '.join(items)}" if items else ""


def _unsettled(plan: Plan) -> Decision | None:
    nodes = view(plan).unsettled
    if not nodes:
        return None
    why = f"what follows for {', '.join(nodes)} is not written into the plan yet"
    return Decision(plan=plan, actions=(Settle(because=why),))


def _repair(plan: Plan) -> Decision | None:
    """A tree whose last edit was refused is repaired before any other work on it."""
    if plan.sessions or not tree_edits.wants_repair(plan):
        return None
    why = "the last edit of the tree was refused; it is repaired first"
    probe = Probe(atom=tree_edits.TREE_ROOT, plan=True, because=why)
    return _out_of_budget(plan) or Decision(plan=plan, actions=(probe,))


def _climb(plan: Plan) -> Decision | None:
    """The ladder, for the first atom that has a step to take.

    A probe is a session like others and waits for a slot; what has no step left is parked.
    """
    for atom in branches.stuck(plan):
        step = branches.rung(plan, atom)
        match step:
            case branches.SwitchRung():
                return Decision(plan=plan, actions=(_fail_choice(plan, step),))
            case branches.BackjumpRung():
                return Decision(plan=plan, actions=(_backjump(plan, step),))
    return None


def _given_up(plan: Plan) -> Decision | None:
    """Nothing is in flight, nothing can start and no wind would help: say what is parked."""
    if plan.sessions or winds.startable(plan) or winds.would_help(plan):
        return None
    if plan.kind is PlanKind.GRAPH and rounds_left(plan) <= 0:
        reason = "no verification round is left, so nothing could be completed"
        reason += _named_items(plan.verification.not_passed)
        return _stop(plan, StopCode.VERIFICATION_EXHAUSTED, reason)
    parked = winds.parked(plan)
    if not parked:
        return None
    inside = all(one.choice or one.name in plan.groups for one in parked)
    code = StopCode.OR_EXHAUSTED if inside else StopCode.ATOM_EXHAUSTED
    reason = "; ".join(filter(None, (_named(plan, parked), _tried(plan))))
    return _stop(plan, code, reason)


def _out_of_budget(plan: Plan) -> Decision | None:
    limits, spent, control = plan.limits, plan.spent, plan.control
    if over := _out_of_time(plan):
        return over
    if limits.max_cost_usd is not None and spent.usd >= limits.max_cost_usd:
        reason = f"{limits.max_cost_usd} USD are spent (max_cost_usd)"
        return _ending(plan, StopCode.BUDGET_COST, reason, kill=False)
    if limits.max_tokens is not None and spent.tokens >= limits.max_tokens:
        reason = f"{limits.max_tokens} tokens are spent (max_tokens)"
        return _ending(plan, StopCode.BUDGET_TOKENS, reason, kill=False)
    if pace.begins_iteration(plan) and pace.iterations_left(plan) <= 0:
        reason = f"max_iterations {limits.max_iterations} is reached"
        return _ending(plan, StopCode.ITERATION_LIMIT, reason, kill=False)
    if pace.is_stalled(plan) and not _may_still_climb(plan):
        reason = f"generations in a row that got nowhere: {control.stall_count} (max_stall_count)"
        if not winds.would_help(plan):
            return _ending(plan, StopCode.STALLED, reason, kill=False)
        if plan.sessions:
            return Decision(plan=plan, because=f"{reason}; a new wind waits for what is running")
        return Decision(plan=plan, actions=(BeginWind(because=_wind(plan, reason)),))
    return None


def _out_of_time(plan: Plan) -> Decision | None:
    limit = plan.limits.max_wall_seconds
    if plan.spent.seconds < limit:
        return None
    reason = f"{limit} s of running are spent (max_wall_seconds)"
    return _ending(plan, StopCode.BUDGET_TIME, reason, kill=False)


def _may_still_climb(plan: Plan) -> bool:
    """A run whose ladder has a probe to send is not stalled."""
    seen = view(plan)
    waiting = (a for a in seen.exhausted if is_startable(seen.shape, seen.unmet, a))
    return any(branches.probe_rung(plan, a) for a in waiting)


def _dispatch(plan: Plan) -> Decision | None:
    """Start what is ready, as far as slots, iterations and `touches` allow."""
    if not pace.may_start(plan):
        full = pace.crew_size(plan) >= plan.limits.max_parallel_agents
        why = "every slot is taken" if full else "the batch under way is waited for"
        return Decision(plan=plan, because=why) if plan.sessions else None
    starts: list[Action] = []
    taken = [t for a in plan.sessions for t in plan.atoms[a].touches]
    slots = pace.slots(plan)
    for atom in in_order(plan, winds.startable(plan)):
        if len(starts) >= slots:
            break
        if overlapping(atom.touches, taken):
            continue
        taken += atom.touches
        starts.append(_start(plan, atom))
    if starts:
        return Decision(plan=plan, actions=tuple(starts))
    if plan.sessions:
        return Decision(plan=plan, because="what is open waits for what is running")
    return None


def _second_wind(plan: Plan) -> Decision | None:
    """Only parked work is left: try it again."""
    if not winds.is_due(plan):
        return None
    why = "only parked work is left"
    if rounds_left(plan) <= 0:
        why = "checks failed, and the verification rounds are used up"
    return Decision(plan=plan, actions=(BeginWind(because=_wind(plan, why)),))


def _stuck(plan: Plan) -> Decision:
    """Cannot happen on a valid plan; if it does, say what blocks."""
    blockers = waiting(Decision(plan=plan))
    listed = "; ".join(f"{a}: {why}" for a, why in blockers.items())
    return _stop(plan, StopCode.INTERNAL_ERROR, f"open atoms and nothing to do: {listed}")


# --- their tools ---------------------------------------------------------------------------------


def in_order(plan: Plan, names: tuple[AtomId, ...]) -> Iterator[Atom]:
    """Fewer failures first, then the longest chain of open atoms behind it, then file order.

    Of a tree always the leftmost.
    """
    failed, seen = failures(plan), view(plan)
    if plan.kind is PlanKind.GRAPH and len(names) > 1 and (failed or seen.shape.waiters):
        names = tuple(
            sorted(names, key=lambda name: (failed.get(name, 0), -chain_behind(seen, name)))
        )
    return map(plan.atoms.__getitem__, names)


def wants_probe(plan: Plan, atom: Atom) -> bool:
    asks = (atom.probe and atom.probes == 0) or atom.infeasible is not None
    return asks and probes_left(plan, atom) > 0


def overlapping(touches: tuple[str, ...], taken: list[str]) -> bool:
    """Do two sets of paths meet? A folder meets everything below it, a glob all it might name."""
    mine, theirs = [_folded(t) for t in touches], [_folded(t) for t in taken]
    return any(a.startswith(b) or b.startswith(a) for a in mine for b in theirs)


def _folded(path: str) -> str:
    """The path with a slash at its end, up to the folder of its first wildcard."""
    plain = path.removeprefix("./").rstrip("/") + "/"
    wild = min((plain.find(c) for c in "*?[" if c in plain), default=-1)
    return plain if wild < 0 else plain[: plain.rfind("/", 0, wild) + 1]


def _start(plan: Plan, atom: Atom) -> Action:
    if plan.kind is PlanKind.TREE:
        return _tree_start(plan, atom)
    if atom.id in view(plan).exhausted:
        why = f"{atom.id} has used up its attempts; a probe may find another way"
        return Probe(atom=atom.id, plan=True, because=why)
    if wants_probe(plan, atom):
        why = f"{atom.id} asks for a probe first"
        if atom.infeasible is not None:
            why = f"{atom.id} was called infeasible; a probe is asked whether it still is"
        return Probe(atom=atom.id, because=why)
    failed, behind = failures(plan).get(atom.id, 0), chain_behind(view(plan), atom.id)
    last = f"; chain of {behind} behind it" if behind else ""
    if failed:
        why = f"{atom.id} failed {_times(failed)} before"
        if plan.spent.winds or plan.control.stall_count:
            why += "; another approach is needed"
        return Work(atom=atom.id, because=why + last)
    if atom.attempts:
        return Work(atom=atom.id, because=f"{atom.id} was begun before; once more{last}")
    needs = view(plan).shape.needs.get(atom.id, ())
    if needs:
        return Work(atom=atom.id, because=f"{atom.id} needs {', '.join(needs)}: resolved{last}")
    return Work(atom=atom.id, because=f"{atom.id} depends on nothing that is open{last}")


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _tree_start(plan: Plan, atom: Atom) -> Action:
    if atom.id not in view(plan).exhausted:
        why = f"{atom.id} is the leftmost open leaf; attempt {atom.attempts + 1}"
        return Work(atom=atom.id, because=why)
    why = "the root has to be planned before anything is done"
    if atom.id != tree_edits.TREE_ROOT or atom.attempts:
        why = f"{atom.id} has used up its attempts; it has to be split or replaced"
    return Probe(atom=atom.id, plan=True, because=why)


def _fail_choice(plan: Plan, step: branches.SwitchRung) -> FailChoice:
    left = [c for c in unfailed(plan.groups[step.group]) if c != step.choice]
    under = dict.fromkeys(subtree(view(plan).shape, step.choice))
    return FailChoice(
        group=step.group,
        choice=step.choice,
        kills=tuple(a for a in plan.sessions if a in under),
        because=f"{_used_up(plan, step.atom)}; {step.group} still has {', '.join(left)}",
    )


def _used_up(plan: Plan, atom: AtomId) -> str:
    if atom in view(plan).buried:
        return f"every choice of {view(plan).shape.parent[atom]} has failed"
    return f"{atom} has used up its attempts"


def _backjump(plan: Plan, step: branches.BackjumpRung) -> Backjump:
    group = plan.groups[step.group]
    shape = view(plan).shape
    choices = (n for c in unfailed(group) for n in subtree(shape, c))
    drops = dict.fromkeys((*choices, *branches.dependents(plan, (step.group,))))
    return Backjump(
        group=step.group,
        atom=step.atom,
        drops=tuple(a for a in plan.atoms if a in drops),
        kills=tuple(a for a in plan.sessions if a in drops),
        because=f"{step.atom} has nothing else to try and was built upon {step.group}, "
        "which has another choice",
    )


def _wind(plan: Plan, why: str) -> str:
    number = plan.spent.winds + 1
    often = luby(number) if winds.parked(plan) else 1
    grant = f"; {often} times the usual attempts" if often > 1 else ""
    return f"{why}: wind {number} of {plan.limits.max_winds}{grant}"


def _named(plan: Plan, parked: tuple[winds.Parked, ...]) -> str:
    """What is parked, what holds up most first: few with all that is known, then names."""
    ordered = sorted(parked, key=lambda one: winds.importance(plan, one.name, one.holds_up))
    told = [_left_over(plan, one) for one in ordered[:MOST_EXPLAINED]]
    if rest := [one.name for one in ordered[MOST_EXPLAINED:]]:
        told.append(f"nor {'have' if len(rest) > 1 else 'has'} {_listed(rest)}")
    return "; ".join(told)


def _left_over(plan: Plan, one: winds.Parked) -> str:
    # A tree keeps no trail: where neither journal nor commits say why, its logs may.
    in_logs = plan.kind is PlanKind.TREE
    evidence = "why is in the logs of its iterations" if in_logs else "without a word on why"
    if one.reason:
        evidence = f"last: {quoted(one.reason)}"
    held = f"it holds up {_listed(one.holds_up)}" if one.holds_up else ""
    ways = _ways(plan, one)
    if one.name in plan.groups:
        said = "; ".join(filter(None, (ways if one.reason else evidence, held)))
        return f"every choice of {one.name} has failed ({said})"
    if one.choice is not None and ways:
        ways = f"{one.choice[0]} gave up {ways}"
    said = "; ".join(filter(None, (evidence, ways, held)))
    return f"{one.name} has nothing left to try ({said})"


def _ways(plan: Plan, one: winds.Parked) -> str:
    """Why each other way of the group that it stands in was given up."""
    gone = () if one.choice is None else winds.given_up(plan, one.choice[0])
    told = [f"{w}: {quoted(why)}" if why else w for w, why in gone[:MOST_NAMED]]
    more = len(gone) - MOST_NAMED
    return ", ".join([*told, *[f"{more} more"] * (more > 0)])


def quoted(reason: str) -> str:
    """As the reason why a run ended has it."""
    reason = " ".join(reason.split())
    return reason if len(reason) <= REASON_CHARACTERS else f"{reason[:REASON_CHARACTERS]} [...]"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _tried(plan: Plan) -> str:
    if plan.kind is PlanKind.TREE:
        return "attempts and planning sessions are used up"
    count = combinations_tried(plan)
    tried = f"at least {count} combination{'s' if count > 1 else ''} of choices tried"
    used = f"{plan.spent.winds} of {plan.limits.max_winds} winds used"
    return ", ".join([tried] * bool(plan.groups) + [used] * bool(plan.spent.winds))


def _kill_all(plan: Plan, why: str) -> tuple[Kill, ...]:
    return tuple(Kill(atom=a, nonce=s.nonce, because=why) for a, s in plan.sessions.items())


def _ending(plan: Plan, code: StopCode, reason: str, *, kill: bool) -> Decision:
    """Stop, once nothing is in flight any more."""
    if not plan.sessions:
        return _stop(plan, code, reason)
    if kill:
        return Decision(plan=plan, actions=_kill_all(plan, reason), because=reason)
    return Decision(plan=plan, because=f"{reason}; running sessions may end")


def _stop(plan: Plan, code: StopCode, reason: str) -> Decision:
    return Decision(plan=plan, stop=Stop(code=code, reason=reason), because=reason)


__all__ = ["AtomId", "decide"]
