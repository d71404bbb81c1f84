"""A hand-edited plan as redirects that the kernel can judge.

Three plans take part: the one that the user saw, the one they made of it, and the current one,
which may have changed since. Fields that the user did not touch stay as they are in the current
plan. The differences become one redirect for each scope. All problems are found in one pass, each
with its place in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace

from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import (
    ChangeObjective,
    Edit,
    OverrideBinding,
    Redirected,
    RewriteGraph,
    SetLimit,
)
from dwindle.kernel.model import (
    Atom,
    AtomId,
    CorrectionType,
    Decomposition,
    Limits,
    Objective,
    OrGroup,
    Plan,
    Problem,
    Status,
)
from dwindle.runner.redirect import preview

LIMITS = tuple(f.name for f in fields(Limits) if f.name != "stated")


@dataclass(slots=True)
class PlanEdits:
    """The redirects that lead to the edited plan, or the problems that prevent them."""

    plan: Plan
    """After the redirects."""
    events: list[Redirected] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def attempt(
        self, scope: CorrectionType, edits: Sequence[Edit], why: str, where: tuple[str, ...]
    ) -> None:
        """Add a redirect with these edits, if the kernel accepts it."""
        if not edits:
            return
        event = Redirected(type=scope, edits=tuple(edits), description=why)
        try:
            self.plan = preview(self.plan, event)
            self.events.append(event)
        except IllegalEvent as refusal:
            found = refusal.problems or (Problem(where=where, what=refusal.reason),)
            self.problems += [problem for problem in found if problem not in self.problems]


def edits_between(shown: Plan, made: Plan, now: Plan, why: str) -> PlanEdits:
    """The edits from `shown` to `made`, applied to the current plan `now`."""
    found = PlanEdits(now)
    found.attempt(
        CorrectionType.OBJECTIVE_CHANGE,
        tuple(_objective(shown.objective, made.objective, now.objective)),
        why,
        ("objective",),
    )
    _limits(found, shown, made, why)
    graph = merged_graph(shown, made, found.plan)
    if _visible_graph(made) != _visible_graph(shown) and _visible_graph(graph) != _visible_graph(
        found.plan
    ):
        found.attempt(CorrectionType.DAG_ADJUSTMENT, (graph,), why, ("atoms",))
    overrides, troubles = _bindings(shown, made, found.plan)
    found.problems += troubles
    found.attempt(CorrectionType.BINDINGS_OVERRIDE, overrides, why, ("bindings",))
    return found


def _objective(shown: Objective, made: Objective, now: Objective) -> Iterator[ChangeObjective]:
    changed = {
        f.name: getattr(made, f.name)
        for f in fields(made)
        if getattr(made, f.name) not in (getattr(shown, f.name), getattr(now, f.name))
    }
    if changed:
        yield ChangeObjective(**changed)


# --- limits --------------------------------------------------------------------------------------


def _limits(found: PlanEdits, shown: Plan, made: Plan, why: str) -> None:
    """All limits in one redirect; each is also tried alone, to name those that are refused."""
    wanted = []
    for name in LIMITS:
        value = getattr(made.limits, name)
        known = [getattr(plan.limits, name) for plan in (shown, found.plan)]
        if value in known or (name == "max_atoms" and name not in made.limits.stated):
            continue  # the default of max_atoms follows the number of atoms
        if value is None:
            found.problems.append(
                Problem(
                    where=("objective", "constraints"),
                    what=f"{name} was removed, and a redirect cannot remove a limit",
                    hint="set a higher limit instead",
                )
            )
            continue
        wanted.append(SetLimit(name=name, value=value))
    scope, where = CorrectionType.CONSTRAINT_CHANGE, ("objective", "constraints")
    alone = [PlanEdits(found.plan) for _ in wanted]
    for one, edit in zip(alone, wanted, strict=True):
        one.attempt(scope, (edit,), why, (*where, edit.name))
    refused = [problem for one in alone for problem in one.problems]
    found.problems += [problem for problem in refused if problem not in found.problems]
    if not refused:
        found.attempt(scope, wanted, why, where)


# --- the graph -----------------------------------------------------------------------------------


def _visible_graph(graph: Plan | RewriteGraph) -> tuple[object, ...]:
    """The graph without the runner's counters; an atom in progress counts as pending."""
    atoms, groups = (
        (graph.atoms, graph.groups)
        if isinstance(graph, RewriteGraph)
        else (tuple(graph.atoms.values()), tuple(graph.groups.values()))
    )
    done = Status.RESOLVED
    shown = [
        replace(a.unspent(), status=done if a.status is done else Status.PENDING) for a in atoms
    ]
    return shown, graph.decompositions, groups


def merged_graph(shown: Plan, made: Plan, now: Plan) -> RewriteGraph:
    """The edited graph, with what has happened since to the parts that were not edited."""
    return RewriteGraph(
        atoms=(
            *(_atom(shown, atom, now) for atom in made.atoms.values()),
            *(a for n, a in now.atoms.items() if n not in shown.atoms and n not in made.atoms),
        ),
        decompositions=(
            *(_decomposition(shown, one, now) for one in made.decompositions),
            *_added_since(shown.decompositions, made.decompositions, now.decompositions),
        ),
        groups=(
            *(_group(shown, group, now) for group in made.groups.values()),
            *(g for n, g in now.groups.items() if n not in shown.groups and n not in made.groups),
        ),
    )


def _atom(shown: Plan, made: Atom, now: Plan) -> Atom:
    then, current = shown.atoms.get(made.id), now.atoms.get(made.id)
    if then is None or current is None:
        return made
    mine = {
        f.name: getattr(made, f.name)
        for f in fields(made)
        if getattr(made, f.name) != getattr(then, f.name) and f.name not in ("attempts", "probes")
    }
    return replace(current, **mine)


def _decomposition(shown: Plan, made: Decomposition, now: Plan) -> Decomposition:
    then = next((d for d in shown.decompositions if d.parent == made.parent), None)
    current = next((d for d in now.decompositions if d.parent == made.parent), None)
    return current if current is not None and made == then else made


def _added_since(
    shown: Iterable[Decomposition], made: Iterable[Decomposition], now: Iterable[Decomposition]
) -> Iterator[Decomposition]:
    known = [one.parent for one in (*shown, *made)]
    return (one for one in now if one.parent not in known)


def _group(shown: Plan, made: OrGroup, now: Plan) -> OrGroup:
    then, current = shown.groups.get(made.id), now.groups.get(made.id)
    if then is None or current is None:
        return made
    mine = {
        f.name: getattr(made, f.name)
        for f in fields(made)
        if getattr(made, f.name) != getattr(then, f.name)
    }
    return replace(current, **mine)


# --- bindings ------------------------------------------------------------------------------------


def _bindings(shown: Plan, made: Plan, now: Plan) -> tuple[list[OverrideBinding], list[Problem]]:
    wanted: list[OverrideBinding] = []
    problems: list[Problem] = []
    for name, binding in made.bindings.items():
        if binding in (shown.bindings.get(name), now.bindings.get(name)):
            continue
        if name in now.atoms and now.atoms[name].status is Status.RESOLVED:
            wanted.append(
                OverrideBinding(atom=name, summary=binding.summary, artifacts=binding.artifacts)
            )
            continue
        problems.append(
            Problem(
                where=("bindings", name),
                what=f"{name} is not resolved, or is to be done again: it has no result yet",
                hint="leave its binding as it was",
            )
        )
    problems.extend(
        Problem(
            where=("bindings",),
            what=f"{name} is resolved and its binding is gone",
            hint="put it back; or set the atom to pending to have it done again",
        )
        for name in shown.bindings
        if name not in made.bindings and _stands_for(now, name)
    )
    return wanted, problems


def _stands_for(now: Plan, name: AtomId) -> bool:
    return name in now.bindings and now.atoms[name].status is Status.RESOLVED
