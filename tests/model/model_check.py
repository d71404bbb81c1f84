"""Walk through everything that can happen to every small plan, and check the laws at each step.

    python -m tests.model.model_check --atoms 4

Breadth first, on the shipped kernel itself, so that the first violation comes with a shortest
trace. Two plans that differ only in what cannot matter later (journal numbers, times, texts) are
one state. Exit code 1 on the first violation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

from tests.model.invariants import violations
from tests.model.small_plans import drawn, small_plans
from tests.model.suites import SUITES
from tests.model.world import MAY_BE_REFUSED, Suite, moves

from dwindle.kernel import branches
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent, KernelError
from dwindle.kernel.events import Event
from dwindle.kernel.graph import failures, view
from dwindle.kernel.model import Plan, RunStatus, StopCode
from dwindle.kernel.transitions import apply


@dataclass(frozen=True, slots=True)
class Violation:
    suite: str
    plan: str
    law: str
    trace: tuple[str, ...]

    def __str__(self) -> str:
        steps = "\n".join(f"  {i + 1:2} {step}" for i, step in enumerate(self.trace))
        return f"VIOLATION in suite {self.suite!r}\n  plan {self.plan}\n  {self.law}\n{steps}"


@dataclass(slots=True)
class Tally:
    graphs: int = 0
    states: int = 0
    transitions: int = 0
    violation: Violation | None = None

    def add(self, other: Tally) -> None:
        self.graphs += other.graphs
        self.states += other.states
        self.transitions += other.transitions
        self.violation = self.violation or other.violation


def state_key(plan: Plan, suite: Suite) -> object:
    """What can still matter: no journal numbers, no times, no texts."""
    control, spent, pace, seen = plan.control, plan.spent, plan.pace, plan.verification
    order = sorted(plan.groups, key=lambda g: branches.last_decided(plan, g))
    rhythm: tuple[object, ...] = (pace.filling,)
    failed = failures(plan)  # they say who goes first
    if suite.stalls is not None:
        mine = tuple(s.nonce in pace.generation for s in plan.sessions.values())
        rhythm = (*rhythm, mine, pace.advanced, pace.charged, control.stall_count)
    if suite.iterations is not None:
        rhythm = (*rhythm, control.iteration, pace.started)
    return (
        tuple(
            (n, a.status, a.attempts, a.probes, a.depends_on, a.or_group, a.allowed, a.infeasible)
            for n, a in plan.atoms.items()
        ),
        tuple((g.choices, g.selected, g.failed, g.speculative) for g in plan.groups.values()),
        tuple((d.parent, d.children) for d in plan.decompositions),
        tuple((a, s.role) for a, s in plan.sessions.items()),
        (spent.created, spent.backjumps, spent.forgiven, spent.redirects, spent.verifications),
        (spent.winds, *(failed.get(n, 0) for n in plan.atoms)),
        (control.status, control.stop_requested, control.stop_code, control.redirect_requested),
        (seen.passed, seen.unmended, seen.not_passed, seen.rounds_without_gaps > 0, seen.questions),
        tuple(order),
        tuple(plan.bindings),
        rhythm,
        pace.branch_changed,
        plan.limits if spent.redirects else None,
    )


def check_plan(start: Plan, suite: Suite, most: int = 10**7) -> Tally:
    """Every state that can be reached from one plan."""
    tally = Tally(graphs=1)
    first = state_key(start, suite)
    came_from: dict[object, tuple[object, str] | None] = {first: None}
    todo = [(first, start)]

    def violation(key: object, step: str, law: str) -> Tally:
        trace = [step]
        at: object = key
        while (link := came_from[at]) is not None:
            at, step = link
            trace.append(step)
        tally.violation = Violation(suite.name, drawn(start), law, tuple(reversed(trace)))
        tally.states = len(came_from)
        return tally

    while todo:
        following = []
        for key, plan in todo:
            decision = decide(plan)
            running = plan.control.status is RunStatus.RUNNING
            idle = not decision.actions and decision.stop is None
            if running and idle and not plan.sessions and not plan.control.redirect_requested:
                return violation(key, "decide", "deadlock: nothing to do and nothing in flight")
            if running and decision.stop and decision.stop.code is StopCode.INTERNAL_ERROR:
                return violation(key, "decide", f"deadlock: {decision.stop.reason}")
            for event in moves(plan, decision, suite):
                tally.transitions += 1
                try:
                    after = apply(plan, event)
                except IllegalEvent as refusal:
                    if isinstance(event, MAY_BE_REFUSED):
                        continue
                    return violation(key, told(event), f"refused: {refusal}")
                except KernelError as error:
                    return violation(key, told(event), str(error))
                for law in violations(plan, event, after):
                    return violation(key, told(event), law)
                new = state_key(after, suite)
                if new not in came_from:
                    came_from[new] = (key, told(event))
                    following.append((new, after))
            if len(came_from) > most:
                raise RuntimeError(f"more than {most} states from {drawn(start)}")
        todo = following
    tally.states = len(came_from)
    return tally


def told(event: Event) -> str:
    """One line for a trace."""
    facts = []
    for name in (
        "atom",
        "role",
        "group",
        "choice",
        "cause",
        "code",
        "passed",
        "edits",
        "unreplayed",
    ):
        value = getattr(event, name, None)
        if value not in (None, (), ""):
            facts.append(str(value))
    size = len(getattr(event, "children", ()) or getattr(event, "alternatives", ()))
    return " ".join([type(event).__name__, *facts, *([f"x{size}"] if size else [])])


def plans_of(suite: Suite, atoms: int) -> Iterator[Plan]:
    for count in range(1, min(atoms, suite.at_most) + 1):
        for plan in small_plans(
            count,
            suite.limits(),
            dependencies=suite.dependencies,
            speculative=suite.speculative,
            unwritten=suite.unwritten,
            only_groups=suite.only_groups,
        ):
            first = next(iter(plan.atoms.values()))
            if suite.own_attempts:
                first = replace(first, max_attempts=suite.attempts + 1)
            if suite.probe_first:
                first = replace(first, probe=True)
            found = replace(plan, atoms={**plan.atoms, first.id: first})
            if suite.turns:
                found = replace(
                    found, atoms={n: replace(a, max_attempts=2) for n, a in found.atoms.items()}
                )
            if view(found).reserve <= found.limits.max_atoms - found.spent.created:
                yield found


def check_part(job: tuple[int, int, int]) -> list[tuple[str, Tally, float]]:
    """Every `parts`-th plan of every suite; one process's share."""
    atoms, part, parts = job
    results = []
    for suite in SUITES:
        began = time.perf_counter()
        tally = Tally()
        for number, plan in enumerate(plans_of(suite, atoms)):
            if number % parts == part:
                tally.add(check_plan(plan, suite))
                if tally.violation:
                    break
        results.append((suite.name, tally, time.perf_counter() - began))
        if tally.violation:
            break
    return results


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.model.model_check", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--atoms", type=int, default=3, help="largest plan (default 3)")
    parser.add_argument("--processes", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--verbose", action="store_true", help="one line for each suite")
    options = parser.parse_args(arguments)
    began = time.perf_counter()
    parts = options.processes
    jobs = [(options.atoms, part, parts) for part in range(parts)]
    if parts == 1:
        shares = [check_part(jobs[0])]
    else:
        with ProcessPoolExecutor(parts) as pool:
            shares = list(pool.map(check_part, jobs))
    total = Tally()
    for share in shares:
        for name, tally, seconds in share:
            total.add(tally)
            if options.verbose:
                sizes = f"{tally.graphs:5} {tally.states:8} {tally.transitions:9}"
                print(f"{name:32} {sizes} {seconds:6.1f} s")
    seconds = time.perf_counter() - began
    if total.violation is not None:
        print(total.violation)
    print(
        f"graphs {total.graphs}  states {total.states}  transitions {total.transitions}  "
        f"seconds {seconds:.1f}  violations {int(total.violation is not None)}"
    )
    return 1 if total.violation is not None else 0


if __name__ == "__main__":
    sys.exit(main())
