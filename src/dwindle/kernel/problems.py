"""Everything that is wrong with a plan, all at once.

The decoder has seen to shapes and types and `structure` sees to what stands under what; this adds
the objective, limits that mean something, counters within them, and statuses that agree.
"""

from __future__ import annotations

from collections.abc import Iterator

from dwindle.kernel.base_case import base_case_problems, is_mechanical
from dwindle.kernel.graph import unfailed, view
from dwindle.kernel.measure import measure
from dwindle.kernel.model import Plan, PlanKind, Problem, Status
from dwindle.kernel.shape import chain
from dwindle.kernel.structure import structure_problems

MAY_BE_ZERO = (
    *("max_depth", "max_probes", "max_redirects", "max_forgiven", "max_backjumps", "max_winds"),
    "fewer_tests",
)
COUNTED_LIMITS = (
    "max_iterations",
    "max_parallel_agents",
    "max_stall_count",
    "max_atoms",
    "max_depth",
    "max_attempts",
    "max_probes",
    "max_verifications",
    "max_redirects",
    "max_forgiven",
    "max_backjumps",
    "max_winds",
    "max_wall_seconds",
    "max_tokens",
    "max_cost_usd",
    "session_timeout_seconds",
    "fewer_tests",
)


def validate(plan: Plan) -> tuple[Problem, ...]:
    """Problems and warnings, in the order of the file's sections."""
    found = [*objective_problems(plan), *limit_problems(plan), *control_problems(plan)]
    structure = structure_problems(plan)
    found += structure
    if not structure:
        found += [*status_problems(plan), *fuel_problems(plan)]
    return tuple(found)


def objective_problems(plan: Plan) -> Iterator[Problem]:
    if plan.kind is PlanKind.TREE:
        return
    objective = plan.objective
    for name in ("goal", "background_intent", "deliverables", "definition_of_done"):
        if not getattr(objective, name).strip():
            yield Problem(
                where=("objective", name),
                what=f"{name} is blank",
                hint="align on it before the loop starts",
                unaligned=True,
            )
    yield from base_case_problems(objective.base_case)
    if not plan.atoms:
        yield Problem(
            where=("atoms",),
            what="there is no atom",
            hint="a plan needs at least one",
            unaligned=True,
        )


def limit_problems(plan: Plan) -> Iterator[Problem]:
    limits = plan.limits
    for name in COUNTED_LIMITS:
        value = getattr(limits, name)
        least = 0 if plan.kind is PlanKind.TREE or name in MAY_BE_ZERO else 1
        if value is None or (
            0 < value < float("inf") if name == "max_cost_usd" else value >= least
        ):
            continue
        yield Problem(
            where=("objective", "constraints", name),
            what=f"{name} is {value}, which would {'mean nothing' if value else 'allow nothing'}",
            hint="give more than 0, or leave it out"
            if name == "max_cost_usd"
            else f"give {least} or more; leave it out for the default",
        )
    if limits.early_verify and not is_mechanical(plan.objective.base_case):
        yield Problem(
            where=("objective", "constraints", "early_verify"),
            what="early_verify does nothing: the base case needs a judge",
            hint="leave it out, or make every check one that a machine can run",
            warning=True,
        )
    if plan.kind is PlanKind.GRAPH and limits.max_stall_count < limits.max_attempts:
        yield Problem(
            where=("objective", "constraints", "max_stall_count"),
            what=f"max_stall_count {limits.max_stall_count} is below max_attempts "
            f"{limits.max_attempts}: the run may stop while attempts are left",
            hint=f"raise it to {limits.max_attempts}",
            warning=True,
        )


def control_problems(plan: Plan) -> Iterator[Problem]:
    control, spent = plan.control, plan.spent
    for name, least in (("iteration", 0), ("stall_count", 0), ("prev_pending_count", -1)):
        if getattr(control, name) < least:
            yield Problem(
                where=("control", name),
                what=f"{name} is {getattr(control, name)}",
                hint=f"it is never below {least}",
            )
    if control.revision < 0:
        yield Problem(where=("control", "revision"), what="revision is negative", hint="")
    for name in (
        *("sessions", "created", "backjumps", "winds", "forgiven", "redirects", "verifications"),
        *("seconds", "tokens", "usd"),
    ):
        if getattr(spent, name) < 0:
            yield Problem(
                where=("control", "spent", name), what=f"{name} is negative", hint="counters grow"
            )
    if spent.created < len(plan.atoms):
        yield Problem(
            where=("control", "spent", "created"),
            what=f"{spent.created} atoms were created, it says, and {len(plan.atoms)} are here",
            hint="leave it out, or raise it",
        )


# --- statuses and fuel, on a sound structure -----------------------------------------------------


def status_problems(plan: Plan) -> Iterator[Problem]:
    seen = view(plan)
    for index, (name, atom) in enumerate(plan.atoms.items()):
        where = ("atoms", index, "status")
        if atom.status is Status.RESOLVED and name not in seen.buried:
            if seen.missing.get(name, 0):
                yield Problem(
                    where=where,
                    what=f"{name} is resolved and some of its children are not",
                    hint="a parent is pending until all its children are resolved",
                )
            elif any(seen.unmet.get(node, 0) for node in chain(seen.shape, name)):
                yield Problem(
                    where=where,
                    what=f"{name} is resolved before something that it depends on",
                    hint="it stays resolved; remove the dependency if that is right",
                    warning=True,
                )
        if name in plan.sessions and atom.status is not Status.IN_PROGRESS:
            yield Problem(
                where=where, what=f"{name} is {atom.status} and has a session in flight", hint=""
            )
        if atom.status is not Status.RESOLVED and name in plan.bindings:
            yield Problem(
                where=("bindings", name),
                what=f"{name} has a binding and is {atom.status}",
                hint="a binding stands for a resolved atom",
                warning=True,
            )


def fuel_problems(plan: Plan) -> Iterator[Problem]:
    """What is spent must be within its limit, and unwritten alternatives must be affordable."""
    now, reserve = measure(plan), view(plan).reserve
    for name, left in (
        ("max_redirects", now.redirects),
        ("max_forgiven", now.forgiven),
        ("max_verifications", now.rounds),
        ("max_backjumps", now.backjumps),
        ("max_winds", now.winds),
    ):
        if left < 0:
            yield Problem(
                where=("objective", "constraints", name),
                what=f"{name} is {getattr(plan.limits, name)}, less than what is spent already",
                hint=f"raise it by {-left} or more",
            )
    if now.fuel < reserve:
        unwritten = [c for g in plan.groups.values() for c in unfailed(g) if c not in plan.atoms]
        yield Problem(
            where=("objective", "constraints", "max_atoms"),
            what=f"max_atoms {plan.limits.max_atoms} leaves no room for "
            f"{', '.join(unwritten) or 'what exists already'}",
            hint=f"raise it to {plan.spent.created + reserve} or more",
        )
