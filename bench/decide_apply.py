"""One event through the kernel: decide, then apply, on plans of 1,000 and 10,000 atoms.

The floor is copying the plan's dictionary of atoms once, which an immutable plan cannot avoid.
Chains have the longest dependencies, stars the widest frontier, and the mixed plan has groups and
decompositions; a switch is the rare event that builds the view anew.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from dwindle.kernel.decide import decide
from dwindle.kernel.events import AtomResolved, AttemptFailed, ChoiceFailed, SessionStarted
from dwindle.kernel.graph import view
from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Check,
    CheckType,
    Control,
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
)
from dwindle.kernel.transitions import apply

LIMIT_MS = {1_000: 2.0, 10_000: 20.0}


def plan_of(
    atoms: dict[AtomId, Atom],
    groups: dict[GroupId, OrGroup] | None = None,
    made: tuple[Decomposition, ...] = (),
) -> Plan:
    return Plan(
        objective=Objective(
            goal="g",
            base_case=BaseCase(check=Check(type=CheckType.COMMAND, value="true")),
            background_intent="b",
            deliverables="d",
            definition_of_done="d",
        ),
        limits=Limits(
            max_atoms=2 * len(atoms) + 50, max_iterations=10**9, dispatch=Dispatch.REFILL
        ),
        spent=Spent(created=len(atoms)),
        control=Control(status=RunStatus.RUNNING),
        atoms=atoms,
        groups=groups or {},
        decompositions=made,
    )


def chain(size: int) -> Plan:
    names = [AtomId(f"A{i + 1}") for i in range(size)]
    needs = [(), *((n,) for n in names)]
    return plan_of(
        {
            n: Atom(id=n, description=f"step {n}", depends_on=need)
            for n, need in zip(names, needs, strict=False)
        }
    )


def star(size: int) -> Plan:
    names = [AtomId(f"A{i + 1}") for i in range(size)]
    return plan_of({n: Atom(id=n, description=f"step {n}") for n in names})


def mixed(size: int) -> Plan:
    """Tens of atoms under parents, every tenth a group of two, parents in a chain."""
    atoms: dict[AtomId, Atom] = {}
    groups: dict[GroupId, OrGroup] = {}
    made = []
    previous: tuple[str, ...] = ()
    for block in range(size // 10):
        parent = AtomId(f"P{block}")
        group = GroupId(f"G{block}")
        atoms[parent] = Atom(id=parent, description="parent", depends_on=previous)
        children = tuple(AtomId(f"B{block}.{i}") for i in range(9))
        for child in children:
            chosen = group if child in children[:2] else None
            atoms[child] = Atom(id=child, description="child", depends_on=previous, or_group=chosen)
        groups[group] = OrGroup(id=group, choices=children[:2], selected=children[0])
        made.append(Decomposition(parent=parent, children=children, reason="r"))
        previous = (parent,)
    return plan_of(atoms, groups, tuple(made))


def step_times(plan: Plan, steps: int) -> list[float]:
    """Milliseconds for decide + apply, for starts, successes and failures in turn."""
    times = []
    for index in range(steps):
        began = time.perf_counter()
        action = decide(plan).actions[0]
        atom = action.atom  # type: ignore[union-attr]
        plan = apply(plan, SessionStarted(atom=atom, role=Role.WORKER))
        times.append(time.perf_counter() - began)
        nonce = plan.sessions[atom].nonce
        began = time.perf_counter()
        if index % 10 == 9 and plan.atoms[atom].or_group is None:
            plan = apply(plan, AttemptFailed(atom=atom, nonce=nonce, reason="r"))
        else:
            plan = apply(plan, AtomResolved(atom=atom, nonce=nonce, summary="s"))
        decide(plan)
        times.append(time.perf_counter() - began)
    return [t * 1e3 for t in times]


def switch_times(plan: Plan, times: int) -> list[float]:
    """A choice fails and the next is taken: the view is built anew."""
    atom = next(a for a in view(plan).ready if plan.atoms[a].or_group is not None)
    group = plan.atoms[atom].or_group
    assert group is not None  # noqa: S101
    plan = apply(plan, SessionStarted(atom=atom, role=Role.WORKER))
    nonce = plan.sessions[atom].nonce
    plan = apply(plan, AttemptFailed(atom=atom, nonce=nonce, reason="r"))
    found = []
    for _ in range(times):
        began = time.perf_counter()
        decide(plan)
        decide(apply(plan, ChoiceFailed(group=group, choice=atom, reason="r")))
        found.append((time.perf_counter() - began) * 1e3)
    return found


def median_ms(work: Callable[[], object], rounds: int = 30) -> float:
    found = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1e3)
    return statistics.median(found)


def main() -> int:
    for size, limit in LIMIT_MS.items():
        for name, make in (("chain", chain), ("star", star), ("mixed", mixed)):
            plan = make(size)
            view(plan)
            kept = dict(plan.atoms)
            floor = median_ms(kept.copy)
            found = statistics.median(step_times(plan, 100))
            print(f"decide_apply_{name}_{size} {found:.3f} ms ratio={found / floor:.1f}")
            allowed = f"ratio={found / limit:.3f} limit=1"
            print(f"decide_apply_{name}_{size}_of_allowed {found:.3f} ms {allowed}")
        found = statistics.median(switch_times(mixed(size), 5))
        print(f"decide_apply_switch_{size} {found:.3f} ms ratio={found / limit:.3f} limit=1")
        built = statistics.median(rebuild_times(mixed(size), 5))
        print(f"view_built_{size} {built:.3f} ms ratio={built / limit:.3f}")
    return 0


def rebuild_times(plan: Plan, times: int) -> list[float]:
    """What a sweep over the whole plan costs; growth and redirects pay it."""
    found = []
    for _ in range(times):
        object.__setattr__(plan, "view_cache", None)
        object.__setattr__(plan, "shape_cache", None)
        began = time.perf_counter()
        view(plan)
        found.append((time.perf_counter() - began) * 1e3)
    return found


if __name__ == "__main__":
    sys.exit(main())
