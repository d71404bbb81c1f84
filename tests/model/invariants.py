"""What must hold of every transition: the laws, stated a second time and independently.

`violations` is given a plan, an event and the plan after it, and yields one sentence for each law
that is broken. Where the kernel has a clever way (patched views, closures), the law is checked by
a plain one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dwindle.kernel import measure as measures
from dwindle.kernel.actions import Backjump, FailChoice, Probe, Verify, Work
from dwindle.kernel.decide import decide
from dwindle.kernel.events import (
    AlternativesProposed,
    AtomResolved,
    Backjumped,
    ChoiceFailed,
    Decomposed,
    Event,
    ForceChoice,
    OverrideBinding,
    Redirected,
    Retry,
    RewriteGraph,
    RunEnded,
    RunStarted,
    SessionInterrupted,
    SessionNews,
    SessionReaped,
    SessionStarted,
    SetLimit,
    VerificationEnded,
    WindBegan,
)
from dwindle.kernel.graph import build, is_resolved, selected, view
from dwindle.kernel.model import (
    ROOT,
    Answer,
    Atom,
    AtomId,
    GroupId,
    Plan,
    Role,
    RunStatus,
    Status,
    StopCode,
    TrailType,
)
from dwindle.kernel.shape import chain, shape_of, subtree
from dwindle.kernel.structure import structure_problems
from dwindle.kernel.transitions import ATOM_NEXT, PAYS, RUN_NEXT, apply


def violations(before: Plan, event: Event, after: Plan) -> Iterator[str]:
    if isinstance(event, SessionNews) and _is_late(before, event):
        if before.atoms != after.atoms or before.bindings != after.bindings:
            yield f"a late report on {event.atom} was believed"
    yield from _measures(before, event, after)
    yield from _tables(before, event, after)
    yield from _state(after)
    if isinstance(event, SessionStarted):
        yield from _start(before, event, after)
    if isinstance(event, RunEnded):
        yield from _end(before, event, after)
    if isinstance(event, (ChoiceFailed, Backjumped, Redirected)):
        yield from _reopening(before, event, after)
    if isinstance(event, WindBegan):
        yield from _wind(before, after)
    if isinstance(event, AtomResolved):
        yield from _race(before, after)
    if isinstance(event, (Decomposed, AlternativesProposed)):
        yield from _growth(before, event, after)
    if isinstance(event, (SessionInterrupted, Redirected)):
        yield from _given_back(before, event, after)
    yield from _nothing_lost(before, event, after)


def _is_late(before: Plan, event: Event) -> bool:
    if not isinstance(event, SessionNews):
        return False
    running = before.sessions.get(event.atom)
    other = event.run not in (None, before.control.run_id)
    return running is None or running.nonce != event.nonce or other


def _measures(before: Plan, event: Event, after: Plan) -> Iterator[str]:
    """The measure is checked by `apply`; here its gauge, its J-free part, and the bound."""
    m, n = measures.measure(before), measures.measure(after)
    if min(n) < 0:
        yield f"a negative component: {n}"
    if isinstance(event, RunStarted):
        if m[:-1] != n[:-1]:
            yield f"a resume changed the measure: {m} -> {n}"
        if measures.gauge(after) != measures.gauge(before):
            yield f"a resume moved the gauge: {measures.gauge(before)} -> {measures.gauge(after)}"
    elif type(event) in PAYS and not _is_late(before, event):
        if not n < m:
            yield f"the measure did not fall: {m} -> {n}"
        lost = isinstance(event, (ChoiceFailed, Backjumped)) and event.unreplayed
        if not lost and not n._replace(backjumps=0) < m._replace(backjumps=0):
            yield f"the measure without J did not fall: {m} -> {n}"
        high, low = measures.gauge(before), measures.gauge(after)
        rests = isinstance(event, RunEnded) and after.control.status is not RunStatus.COMPLETED
        if rests and low > high:
            yield f"a stop raised the gauge: {high} -> {low}"
        elif not rests and not _raises_limits(before, event) and not low < high:
            yield f"the gauge did not fall: {high} -> {low}"
    elif m != n:
        yield f"a note changed the measure: {m} -> {n}"
    if not isinstance(event, Redirected):
        drop = isinstance(event, SessionStarted)
        if measures.session_bound(after) > measures.session_bound(before) - drop:
            yield (
                "the bound on sessions did not hold: "
                f"{measures.session_bound(before)} -> {measures.session_bound(after)}"
            )


def _raises_limits(before: Plan, event: Event) -> bool:
    """A redirect that raises the weights of the gauge raises the gauge."""
    if not isinstance(event, Redirected):
        return False
    most = max(a.max_attempts or 0 for a in before.atoms.values())
    return any(
        isinstance(edit, SetLimit)
        or (
            isinstance(edit, RewriteGraph) and any((a.max_attempts or 0) > most for a in edit.atoms)
        )
        for edit in event.edits
    )


def _tables(before: Plan, event: Event, after: Plan) -> Iterator[str]:
    """What the tables in `transitions` promise is what happens."""
    if after.control.status not in RUN_NEXT[type(event)].get(before.control.status, ()):
        yield f"the run went from {before.control.status} to {after.control.status}"
    for name, atom in before.atoms.items():
        now = after.atoms.get(name)
        if now is None or now.status is atom.status or name in view(before).shape.kids:
            continue
        kind = SessionReaped if name not in view(before).live else type(event)
        if now.status not in (ATOM_NEXT.get((atom.status, k)) for k in (kind, type(event))):
            yield f"{name} went from {atom.status} to {now.status}"


def _state(plan: Plan) -> Iterator[str]:
    seen = view(plan)
    plain = build(plan, shape_of(plan))
    if seen != plain:
        yield f"the patched view differs from a built one: {seen} / {plain}"
    if plan.control.status is not RunStatus.RUNNING and plan.sessions:
        yield "the run ended while sessions are running"
    if len([a for a in plan.sessions if a != ROOT]) > plan.limits.max_parallel_agents:
        yield "too many sessions"
    if seen.reserve > measures.fuel(plan):
        yield "fuel of an unwritten alternative was spent"
    if plan.control.status is RunStatus.COMPLETED:
        asked = plan.verification.questions
        if not plan.verification.passed or any(q.answer is not Answer.YES for q in asked):
            yield "completed without a passed verification"
    for name, atom in plan.atoms.items():
        if name in seen.buried and (atom.status is not Status.PENDING or name in plan.bindings):
            if name not in plan.sessions:
                yield f"{name} of a failed choice kept its result"
        if name in plan.sessions and name in seen.shape.kids:
            yield f"composite {name} is being worked on"
        if (atom.status is Status.IN_PROGRESS) != (name in plan.sessions):
            yield f"{name} is {atom.status} and its session says otherwise"
        if (
            atom.status is Status.RESOLVED
            and name in seen.live
            and not _dependencies_met(plan, name)
        ):
            yield f"stale: {name} stays resolved while something it depends on is open"
        if atom.status is Status.RESOLVED and seen.missing.get(name, 0) and name in seen.live:
            yield f"{name} is resolved before its children"


def _dependencies_met(plan: Plan, name: AtomId) -> bool:
    shape = view(plan).shape
    return all(is_resolved(plan, t) for n in chain(shape, name) for t in shape.needs.get(n, ()))


def _start(before: Plan, event: SessionStarted, after: Plan) -> Iterator[str]:
    if event.role is not Role.VERIFIER:
        if measures.rounds_left(before) <= 0:
            yield f"{event.atom} was started although nothing can be verified any more"
        if not _dependencies_met(before, event.atom):
            yield f"{event.atom} was started before its dependencies"
        if event.atom not in view(before).live:
            yield f"{event.atom} was started on a branch that is not live"
        atom = before.atoms[event.atom]
        granted = _granted(before, atom) if event.role is Role.WORKER else before.limits.max_probes
        charged = atom.attempts if event.role is Role.WORKER else atom.probes
        if charged >= granted or (event.role is Role.WORKER and atom.infeasible):
            yield f"{event.atom} was parked, and a {event.role} was started on it"
        used = after.atoms[event.atom].attempts + after.atoms[event.atom].probes
        if used != before.atoms[event.atom].attempts + before.atoms[event.atom].probes + 1:
            yield f"{event.atom} was started without being charged"
    most = before.limits.max_iterations * before.limits.max_parallel_agents
    if after.control.iteration > before.limits.max_iterations:
        yield f"iteration {after.control.iteration}, and {most} sessions were allowed"


BUDGETS = (
    StopCode.STALLED,
    StopCode.ITERATION_LIMIT,
    StopCode.BUDGET_TIME,
    StopCode.BUDGET_COST,
    StopCode.BUDGET_TOKENS,
)


def _end(before: Plan, event: RunEnded, after: Plan) -> Iterator[str]:
    if event.code in BUDGETS and not view(before).missing[ROOT]:
        yield f"{event.code} although nothing is open"
    if after.control.status is RunStatus.COMPLETED and event.code is not StopCode.COMPLETED:
        yield f"completed by {event.code}"
    if event.code is StopCode.INTERNAL_ERROR:
        yield "deadlock: something is open and nothing can be done"
    if event.code is StopCode.STALLED and before.limits.max_stall_count >= max(
        before.limits.max_attempts,
        *(a.max_attempts or 0 for a in before.atoms.values()),
    ):
        left = view(before).ready
        if left:
            yield f"stalled while {', '.join(left)} had attempts left"
    if event.code in (StopCode.OR_EXHAUSTED, StopCode.ATOM_EXHAUSTED):
        if not before.control.stop_requested:
            yield from _gave_up(before)


def _granted(plan: Plan, atom: Atom) -> int:
    """Attempts that an atom may have now; worked out from the fields alone."""
    if atom.allowed is not None:
        return atom.allowed
    choices = [c for g in plan.groups.values() for c in g.choices]
    usual = 1 if atom.id in choices else plan.limits.max_attempts
    return usual if atom.max_attempts is None else atom.max_attempts


def _gave_up(plan: Plan) -> Iterator[str]:
    """A run may give up if nothing is ready and nothing that is stuck has any way left."""
    seen = view(plan)
    stuck = (*seen.exhausted, *seen.dead_groups)
    if not stuck:
        yield "gave up while nothing was used up"
    if plan.sessions:
        yield f"gave up while {', '.join(plan.sessions)} was at work"
    for name, atom in plan.atoms.items():
        idle = name in seen.live and name not in seen.shape.kids and atom.status is Status.PENDING
        able = atom.attempts < _granted(plan, atom) and not atom.infeasible
        if idle and able and _dependencies_met(plan, name):
            yield f"gave up while {name} was ready"
    for node in stuck:
        if way := _other_way(plan, node):
            yield f"gave up while {way}"
    if plan.spent.winds < plan.limits.max_winds and (way := _way_by_wind(plan)):
        yield f"gave up with a wind left and {way}"


def _way_by_wind(plan: Plan) -> str:
    """What one more wind would get started; "" if nothing."""
    seen = view(plan)
    for name in seen.exhausted:
        atom = plan.atoms[name]
        asked = atom.infeasible is not None and (atom.allowed or not plan.limits.max_probes)
        if not asked and _dependencies_met(plan, name):
            return f"{name} parked"
    for group in plan.groups.values():
        chosen = selected(plan, group)
        if group.id not in seen.live or (chosen and _has_work(plan, chosen)):
            continue
        for choice in group.failed:
            atoms = [AtomId(n) for n in subtree(seen.shape, choice) if AtomId(n) in plan.atoms]
            called = [n for n in atoms if plan.atoms[n].infeasible is not None]
            leaves = [n for n in atoms if n not in seen.shape.kids]
            if not called and any(_dependencies_met(plan, n) for n in leaves):
                return f"{choice} of {group.id} not called infeasible"
    return ""


def _has_work(plan: Plan, node: str) -> bool:
    """Is something below the node done, and so on the branch?"""
    below = [plan.atoms.get(AtomId(n)) for n in subtree(view(plan).shape, node)]
    return any(atom is not None and atom.status is Status.RESOLVED for atom in below)


MOST_ABOUT_ONE = 3 * len(TrailType)
"""Entries about one atom or group that the Trail may hold after a wind."""


def _wind(before: Plan, after: Plan) -> Iterator[str]:
    """It pays one wind, leaves fuel and what stands left alone, and something can start after."""
    m, n = measures.measure(before), measures.measure(after)
    if (n.redirects, n.forgiven, n.winds) != (m.redirects, m.forgiven, m.winds - 1):
        yield f"a wind refilled what lies left of it: {m} -> {n}"
    if before.sessions != after.sessions:
        yield "a wind started or ended a session"
    if len(after.trail) > 1 + MOST_ABOUT_ONE * (len(after.atoms) + len(after.groups) + 1):
        yield "the Trail grows with every wind"
    seen = view(after)
    for name, group in before.groups.items():
        now = after.groups[name]
        if is_resolved(before, name) and selected(after, now) != selected(before, group):
            yield f"a wind took {name} from {selected(before, group)}, which was done"
        for choice in group.failed:
            called = choice in before.atoms and before.atoms[choice].infeasible is not None
            if choice not in now.failed and called:
                yield f"a wind reopened {choice}, which was called infeasible"
            for leaf in subtree(seen.shape, choice) if choice not in now.failed else ():
                atom = after.atoms.get(AtomId(leaf))
                if atom is not None and leaf not in seen.shape.kids:
                    if atom.attempts and not atom.infeasible:
                        yield f"a wind reopened {choice}, and {leaf} has no fresh attempts"
    while not seen.ready and not (decision := decide(after)).stop:
        if any(isinstance(a, Work | Probe | Verify) for a in decision.actions):
            return
        step = next((a for a in decision.actions if isinstance(a, FailChoice | Backjump)), None)
        if step is None:
            break
        after = apply(
            after,
            ChoiceFailed(group=step.group, choice=step.choice, reason="r")
            if isinstance(step, FailChoice)
            else Backjumped(group=step.group, atom=step.atom, reason="r"),
        )
        seen = view(after)
    if not seen.ready and not after.sessions:
        yield "a wind began and nothing could start"


def _other_way(plan: Plan, stuck: str) -> str:
    """What could still be tried for an atom or a group; worked out without the ladder."""
    seen = view(plan)
    around = set(chain(seen.shape, stuck))
    atom = plan.atoms.get(AtomId(stuck))
    if (
        atom is not None
        and plan.limits.max_probes > atom.probes
        and measures.spare_fuel(plan) > 0
        and _dependencies_met(plan, atom.id)
    ):
        return f"{stuck} had a probe"
    for name, group in plan.groups.items():
        left = [c for c in group.choices if c not in group.failed]
        if name in around and name != stuck and len(left) > 1:
            return f"{name}, which {stuck} stands in, had {left[-1]}"
        decided = name in seen.live and selected(plan, group) is not None and len(left) > 1
        held = plan.groups.get(GroupId(stuck))
        inside: set[str] = {stuck} if held is None else set(held.choices)
        waits = atom is not None and atom.allowed is None and atom.infeasible is None
        if waits and plan.spent.winds < plan.limits.max_winds:
            continue  # bad luck: it has a second wind before anything is thrown away for it
        if decided and measures.measure(plan).backjumps > 0 and inside & _built_upon(plan, name):
            return f"{name}, which {stuck} was built upon, had {left[-1]}"
    return ""


def _built_upon(plan: Plan, node: str) -> set[str]:
    """Everything whose start waits, directly or not, for the end of a node; by plain iteration."""
    shape = view(plan).shape
    ends = set(chain(shape, node))
    found: set[str] = set()
    while True:
        new = {
            a
            for a in (*plan.atoms, *plan.groups)
            if a not in found
            and any(t in ends for n in chain(shape, a) for t in shape.needs.get(n, ()))
        }
        if not new:
            return found
        found |= new
        ends |= {n for a in new for n in chain(shape, a)}


def _reopening(
    before: Plan, event: ChoiceFailed | Backjumped | Redirected, after: Plan
) -> Iterator[str]:
    """What was built upon the old way is open again, with attempts; the new way is live."""
    roots: list[str] = []
    for lost in event.unreplayed:
        roots += [lost] if lost in after.atoms else []
    if isinstance(event, ChoiceFailed):
        pass
    elif isinstance(event, Backjumped):
        roots.append(event.group)
    else:
        if measures.rounds_left(after) < 1:
            yield "a redirect left no verification round"
        if after.control.stall_count or after.control.status is not RunStatus.RUNNING:
            yield "a redirect left the run stalled or stopped"
        if structure_problems(after):
            yield "a redirect broke the structure"
        for edit in event.edits:
            match edit:
                case ForceChoice():
                    roots.append(edit.group)
                    if edit.choice in after.groups[edit.group].failed:
                        yield f"the forced choice {edit.choice} is still in failed"
                    if edit.choice not in view(after).live:
                        yield f"the forced choice {edit.choice} is not live"
                case Retry():
                    yield from _not_retried(before, edit.node, after)
                case OverrideBinding():
                    roots.append(edit.atom)
                case RewriteGraph():
                    roots += _rewritten_leaves(before, edit, after)
                    kept = [a.id for a in edit.atoms if a.id in before.atoms]
                    made = sum(n not in kept for n in after.atoms)
                    if made != after.spent.created - before.spent.created:
                        yield "an atom came for nothing, or was paid twice"
    seen = view(after)
    for root in roots:
        fresh = set(_built_upon(before, root))
        if root in after.groups:
            fresh |= set(subtree(seen.shape, root))
        if isinstance(event, Redirected) and isinstance(event.edits[0], RewriteGraph):
            fresh.add(root)
        for name in fresh:
            atom = after.atoms.get(AtomId(name))
            if atom is None or name not in seen.live or name in seen.shape.kids:
                continue
            if atom.status is not Status.PENDING:
                yield f"stale: {name} kept its result"
            elif atom.id in seen.exhausted:
                yield f"{name} was reopened without an attempt"


def _not_retried(before: Plan, node: str, after: Plan) -> Iterator[str]:
    """What is tried again has all that it began with; what was done and is on the branch stays."""
    seen, was = view(after), view(before)
    if node == ROOT and after.spent.verifications:
        yield "the verification is tried again without all of its rounds"
    for name in subtree(seen.shape, node) if node != ROOT else ():
        atom, group = after.atoms.get(AtomId(name)), after.groups.get(GroupId(name))
        if atom is None:
            if group is not None and group.failed and not is_resolved(after, name):
                yield f"{name} is tried again without {', '.join(group.failed)}"
        elif atom.status is not Status.RESOLVED and name in seen.live:
            if name not in seen.shape.kids and atom != replace(
                atom.unspent(), status=Status.PENDING
            ):
                yield f"{name} is tried again without all of its attempts"
        elif name in seen.live and name in was.buried:
            yield f"stale: {name} kept the result of a choice that was given up"
    for name in was.live - was.buried:
        done = before.atoms.get(AtomId(name))
        if done is not None and done.status is Status.RESOLVED:
            if after.atoms[done.id].status is not Status.RESOLVED and not seen.shape.kids.get(name):
                yield f"{name} was done, and a retry of {node} lost it"


def _rewritten_leaves(before: Plan, edit: RewriteGraph, after: Plan) -> Iterator[str]:
    """What was done, and says something else now or was set back by hand."""
    seen = view(after)
    for atom in edit.atoms:
        was = before.atoms.get(atom.id)
        if was is None or was.status is not Status.RESOLVED or atom.id in seen.shape.kids:
            continue
        said = [(a.description, a.depends_on, a.check, a.status) for a in (was, atom)]
        if said[0] != said[1]:
            yield atom.id


def _growth(before: Plan, event: Decomposed | AlternativesProposed, after: Plan) -> Iterator[str]:
    new = [a for n, a in after.atoms.items() if n not in before.atoms]
    # One that was only waiting to be written has the dependencies of its own group.
    waiting = [choice for group in before.groups.values() for choice in group.choices]
    for atom in new:
        inherited = () if atom.id in waiting else before.atoms[event.atom].depends_on
        if event.atom in view(before).live and not set(inherited) <= set(atom.depends_on):
            yield f"{atom.id} does not say what {event.atom} depends on"
        above = sum(1 for n in chain(view(after).shape, atom.id) if n in after.atoms) - 1
        if isinstance(event, Decomposed) and above > after.limits.max_depth:
            yield f"{atom.id} stands too deep"
    if new and structure_problems(after):
        yield "growth broke the structure"


def _given_back(before: Plan, event: SessionInterrupted | Redirected, after: Plan) -> Iterator[str]:
    """What a session had been charged comes back: paid from the pool, or by the redirect."""
    forgiven = after.spent.forgiven > before.spent.forgiven
    for name, session in before.sessions.items():
        if name == ROOT or name not in after.atoms:
            continue
        if isinstance(event, SessionInterrupted) and (name != event.atom or not forgiven):
            continue
        field = "probes" if session.role is Role.PROBE else "attempts"
        now, then = getattr(after.atoms[name], field), getattr(before.atoms[name], field)
        if now >= then:
            yield f"{name} did not get its {field} back"


def _race(before: Plan, after: Plan) -> Iterator[str]:
    for name, group in before.groups.items():
        if group.speculative and after.groups[name].failed != group.failed:
            yield f"losers of the race {name} were recorded as failed"


def _nothing_lost(before: Plan, event: Event, after: Plan) -> Iterator[str]:
    """A resolved atom is reopened only by paying for it, or when its choice has failed."""
    if isinstance(event, (Backjumped, Redirected)):
        return
    if isinstance(event, ChoiceFailed) and event.unreplayed:
        return
    buried = view(after).buried
    kids = view(after).shape.kids
    for name, atom in before.atoms.items():
        if atom.status is Status.RESOLVED and after.atoms[name].status is not Status.RESOLVED:
            composite = name in kids and isinstance(event, (ChoiceFailed, VerificationEnded))
            if name not in buried and not composite:
                yield f"{name} lost its result"
