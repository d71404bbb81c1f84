"""Work orders: what one agent has to know, taken from the frontier of the plan alone.

An order names the atom, the atoms above it, its dependencies and its earlier failures; each part
has a bound of its own, so the thousandth order of a run is as long as the tenth. Every new field
needs a bound. Times and absolute paths stay out: equal plans give equal bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any, Final

import msgspec

from dwindle.kernel.actions import Probe, Work
from dwindle.kernel.base_case import checks as checks_of
from dwindle.kernel.base_case import items as items_of
from dwindle.kernel.graph import failures as failure_counts
from dwindle.kernel.graph import selected, view
from dwindle.kernel.model import (
    ROOT,
    AtomId,
    Binding,
    Check,
    Criterion,
    GroupId,
    Plan,
    Role,
    Session,
    TrailType,
)
from dwindle.kernel.shape import chain
from dwindle.ports.work import Briefing, Failure, Purpose, Step, WorkOrder

SUMMARY: Final = 1000
"""Characters of a binding's summary, and of the description of an atom above."""
DERIVED: Final = 2000
"""Characters of the bindings that a composite's binding is expanded to."""
ALL_SUMMARIES: Final = 60_000
"""Characters of all summaries together; an atom may depend on hundreds."""
ARTIFACTS: Final = 50
FAILURES: Final = 3
REASON: Final = 2000
FINDINGS: Final = 4000
PROTECTED: Final = 50
WHY: Final = 2000
"""Characters of each of intent, deliverables and definition of done."""
ITEMS: Final = 10
"""Items of the base case."""
ITEM: Final = 300
REQUEST: Final = 4000
RULES: Final = 12_000
"""Characters of all files with rules for agents together."""
MARK: Final = " [...]"
MIDDLE: Final = "\n[...]\n"


def order_for(  # noqa: PLR0913 - the plan, what was decided, and what no plan knows
    plan: Plan,
    action: Work | Probe,
    session: Session,
    *,
    failures: Sequence[Failure] | None = None,
    findings: str = "",
    agent: str = "",
) -> WorkOrder:
    """The order of a worker or probe. `plan` is the one in which its start is charged.

    `failures` are this atom's, oldest first; without them the trail is asked.
    """
    atom = plan.atoms[action.atom]
    probing = isinstance(action, Probe)
    failed = failure_counts(plan).get(atom.id, 0)
    if failures is None:
        failures = _failures(plan, atom.id)
    return WorkOrder(
        role=session.role,
        purpose=_purpose(action),
        run=plan.control.run_id or "",
        atom=atom.id,
        description=atom.description,
        goal=plan.objective.goal,
        attempt=session.number,
        nonce=session.nonce,
        path=_path(plan, atom.id),
        bindings=_bindings(plan, atom.id),
        checks=() if atom.check is None else (atom.check,),
        failures=_bounded(failures),
        findings=cut(findings, FINDINGS),
        stalled=plan.control.stall_count > 0,
        timeout_seconds=float(plan.limits.session_timeout_seconds),
        session_of_atom=atom.probes if probing else max(atom.attempts, failed + 1),
        touches=atom.touches,
        protected=() if plan.objective.work_paths else _protected(plan),
        work_paths=plan.objective.work_paths[:PROTECTED],
        failed=failed,
        winds=plan.spent.winds,
        agent=agent,
        base_case=_base_case(plan, atom.id),
        **_why(plan),
    )


def order_to_judge(
    plan: Plan, session: Session, check: Check, *, item: str, atom: AtomId = ROOT
) -> WorkOrder:
    """The order of a verifier: one check that only a reader can judge.

    With an atom, its own check is judged after a worker's claim; without one, an item of the base
    case.
    """
    return WorkOrder(
        role=Role.VERIFIER,
        purpose=Purpose.JUDGE,
        run=plan.control.run_id or "",
        atom=atom,
        description=item,
        goal=plan.objective.goal,
        attempt=session.number,
        nonce=session.nonce,
        path=() if atom == ROOT else _path(plan, atom),
        checks=(check,),
        timeout_seconds=float(plan.limits.session_timeout_seconds),
        session_of_atom=plan.spent.verifications if atom == ROOT else plan.atoms[atom].attempts,
        failed=plan.spent.verifications - 1 if atom == ROOT else failure_counts(plan).get(atom, 0),
        **_why(plan),
    )


def bounded_briefing(briefing: Briefing) -> Briefing:
    """The same, no longer than every order can carry."""
    share = RULES // max(1, len(briefing.rules))
    return Briefing(
        request=cut(briefing.request.strip(), REQUEST),
        rules=tuple((name, cut(text.strip(), share)) for name, text in briefing.rules),
        more_rules=briefing.more_rules[:ARTIFACTS],
    )


def briefing_json(briefing: Briefing) -> dict[str, Any]:
    """What is there of it, for an order."""
    return {
        **({"request": briefing.request} if briefing.request else {}),
        **({"rules": dict(briefing.rules)} if briefing.rules else {}),
        **({"more_rules": briefing.more_rules} if briefing.more_rules else {}),
    }


_IF_SET: Final = (
    *("work_paths", "failed", "winds", "agent"),
    *("intent", "deliverables", "definition_of_done", "base_case"),
)


def order_json(order: WorkOrder) -> bytes:
    """The order as agents read it: the public fields first, always in the same order."""
    public: dict[str, Any] = {
        # A tree is planned by editing it, with the rights of a worker; it is a probe all the same.
        "role": Role.PROBE if order.purpose is Purpose.PLAN else order.role,
        "run": order.run,
        "atom": order.atom,
        "description": order.description,
        "attempt": order.attempt,
        "nonce": order.nonce,
        "bindings": {
            name: {"summary": b.summary, "artifacts": b.artifacts} for name, b in order.bindings
        },
        "checks": [check_json(check) for check in order.checks],
        "failures": [{"attempt": f.attempt, "reason": f.reason} for f in order.failures],
    }
    ours: dict[str, Any] = {
        "purpose": order.purpose,
        "goal": order.goal,
        "path": [{"atom": s.atom, "description": s.description} for s in order.path],
        "findings": order.findings,
        "stalled": order.stalled,
        "session_of_atom": order.session_of_atom,
        "timeout_seconds": order.timeout_seconds,
        "touches": order.touches,
        "protected": order.protected,
        **({} if order.tools is None else {"tools": order.tools}),
        **{name: value for name in _IF_SET if (value := getattr(order, name))},
        **briefing_json(order.briefing),
    }
    # json would take ten times as long, and indent in Python.
    try:
        text = msgspec.json.encode({**public, **ours})
    except UnicodeEncodeError:  # a lone surrogate, which msgspec does not encode
        text = json.dumps({**public, **ours}, ensure_ascii=False).encode("utf-8", "replace")
    return msgspec.json.format(text, indent=1) + b"\n"


def check_json(check: Check) -> dict[str, Any]:
    """A check as the plan file has it: what is not given is not there."""
    given = {f.name: getattr(check, f.name) for f in fields(check)}
    found = {name: value for name, value in given.items() if value not in (None, ())}
    if check.rubric:
        found["rubric"] = [_criterion_json(line) for line in check.rubric]
    return found


def cut(text: str, most: int) -> str:
    """At most `most` characters; the beginning is what counts."""
    return text if len(text) <= most else text[: most - len(MARK)] + MARK


def cut_middle(text: str, most: int) -> str:
    """At most `most` characters of a text that tells most at its end, as output of programs does.

    The beginning names the failure, so a quarter is left to it.
    """
    if len(text) <= most:
        return text
    head = most // 4
    return text[:head] + MIDDLE + text[-(most - head - len(MIDDLE)) :]


# --- parts ---------------------------------------------------------------------------------------


def _purpose(action: Work | Probe) -> Purpose:
    if isinstance(action, Work):
        return Purpose.WORK
    return Purpose.PLAN if action.plan else Purpose.LOOK


def _path(plan: Plan, atom: AtomId) -> tuple[Step, ...]:
    """The atoms above, outermost first; as many as there are levels, which max_depth bounds."""
    above = [n for n in chain(view(plan).shape, atom) if n != atom and n in plan.atoms]
    return tuple(
        Step(atom=AtomId(n), description=cut(plan.atoms[AtomId(n)].description, SUMMARY))
        for n in reversed(above)
    )


def _protected(plan: Plan) -> tuple[str, ...]:
    pins = plan.control.aligned.pins if plan.control.aligned else ()
    named = (p for p in plan.objective.protected_paths if not p.startswith("!"))
    return tuple(dict.fromkeys((*named, *pins)))[:PROTECTED]


def _why(plan: Plan) -> dict[str, Any]:
    """Why the work is wanted, as far as the plan says so."""
    objective = plan.objective
    return {
        "intent": cut(objective.background_intent, WHY),
        "deliverables": cut(objective.deliverables, WHY),
        "definition_of_done": cut(objective.definition_of_done, WHY),
    }


def _base_case(plan: Plan, name: AtomId) -> tuple[str, ...]:
    """The items that name a file which the atom names too; if none does, the first ones."""
    atom = plan.atoms[name]
    said = " ".join((atom.description, *atom.touches, (atom.check and atom.check.value) or ""))
    about = {word.strip(_AROUND) for word in said.split()}
    found = [
        (item if check.value in (None, item) else f"{item}: {check.value}", check.value or "")
        for _, item, check in checks_of(items_of(plan.objective.base_case))
    ]
    shared = [line for line, value in found if _names_one_of(value, about)]
    return tuple(cut(line, ITEM) for line in (shared or [line for line, _ in found])[:ITEMS])


_AROUND: Final = "`'\"()[]{}<>,;:!?"


def _names_one_of(command: str, words: set[str]) -> bool:
    """Whether a word of the command that looks like a path is among these words."""
    paths = (word.strip(_AROUND) for word in command.split())
    return any(path in words for path in paths if "/" in path or "." in path.strip("."))


def _failures(plan: Plan, atom: AtomId) -> tuple[Failure, ...]:
    found: list[Failure] = []
    for entry in reversed(plan.trail):
        if entry.type is TrailType.FAILURE and entry.atom == atom:
            found.append(Failure(attempt=entry.attempt or 0, reason=entry.reason))
            if len(found) == FAILURES:
                break
    return tuple(reversed(found))


def _bounded(failures: Sequence[Failure]) -> tuple[Failure, ...]:
    return tuple(
        Failure(attempt=f.attempt, reason=cut_middle(f.reason, REASON))
        for f in failures[-FAILURES:]
    )


def _bindings(plan: Plan, atom: AtomId) -> tuple[tuple[AtomId, Binding], ...]:
    """What the atom, and everything above it, depends on; its own dependencies first."""
    shape = view(plan).shape
    targets = dict.fromkeys(t for n in chain(shape, atom) for t in shape.needs.get(n, ()))
    names = [name for target in targets if (name := _stands_for(plan, target)) is not None]
    share = max(100, ALL_SUMMARIES // max(1, len(names)))
    found = ((name, _binding(plan, name, share)) for name in dict.fromkeys(names))
    return tuple((name, binding) for name, binding in found if binding is not None)


def _stands_for(plan: Plan, node: str) -> AtomId | None:
    """The atom itself, or the choice in force of a group."""
    group = plan.groups.get(GroupId(node))
    return AtomId(node) if group is None else selected(plan, group)


def _binding(plan: Plan, name: AtomId, share: int) -> Binding | None:
    binding = plan.bindings.get(name)
    if binding is None:
        return None
    if not _is_derived(plan, name):
        return _shown(cut(binding.summary, min(SUMMARY, share)), binding.artifacts)
    parts = [(leaf, plan.bindings[leaf]) for leaf in _parts(plan, name)]
    most = min(DERIVED, share)
    each = max(100, most // max(1, len(parts)))
    lines = [f"{leaf}: {cut(part.summary, each)}" for leaf, part in parts]
    return _shown(cut("\n".join(lines), most), tuple(a for _, b in parts for a in b.artifacts))


def _shown(summary: str, artifacts: tuple[str, ...]) -> Binding:
    names = tuple(dict.fromkeys(artifacts))
    if len(names) > ARTIFACTS:
        summary = f"{summary} ({len(names) - ARTIFACTS} more artifacts are not listed)"
    return Binding(summary=summary, artifacts=names[:ARTIFACTS])


def _is_derived(plan: Plan, name: AtomId) -> bool:
    """Written by the kernel when the last child was resolved, and not by a person since."""
    said = plan.bindings[name].summary
    composite = name in view(plan).shape.kids
    return composite and said.startswith("Completed via ") and said.endswith(" resolution")


def _parts(plan: Plan, name: AtomId) -> Iterator[AtomId]:
    """The nearest atoms below that have something of their own to say, in file order."""
    kids = view(plan).shape.kids
    waiting = [name]
    while waiting:
        node = waiting.pop()
        if node != name and not _is_derived(plan, node):
            yield node
            continue
        below = [_stands_for(plan, kid) for kid in kids[node]]
        waiting += reversed([kid for kid in below if kid is not None and kid in plan.bindings])


def _criterion_json(line: Criterion) -> dict[str, Any]:
    found: dict[str, Any] = {"criterion": line.criterion, "weight": line.weight}
    if line.description is not None:
        found["description"] = line.description
    if line.levels:
        found["levels"] = {str(level): text for level, text in line.levels}
    return found
