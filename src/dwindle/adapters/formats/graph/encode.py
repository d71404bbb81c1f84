"""The canonical front matter, record by record: from the nouns of the kernel straight to lines.

Every function gives whole lines for one record, indented for the place where it always stands, so
that a record can be encoded alone and its text kept (`graph_plan.GraphWriter`). What the contract
requires is always written; what is ours is written only when it is not what its absence means, so
that a plain v1.3 file stays one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from dwindle.adapters.formats.graph.decode import default_max_atoms
from dwindle.adapters.formats.graph.spelling import flag, name, names, number, text, texts
from dwindle.adapters.formats.graph.wire import OPTIONAL_LIMITS
from dwindle.kernel.model import (
    ROOT,
    Aligned,
    Answer,
    Atom,
    BaseCase,
    Binding,
    Check,
    ChecklistItem,
    Control,
    Correction,
    Decomposition,
    Limits,
    Objective,
    OrGroup,
    Pace,
    Plan,
    Spent,
    TrailEntry,
    TrailType,
    Verification,
)

_SPENT: Final = tuple(field.name for field in fields(Spent))
_PACE: Final = tuple(field.name for field in fields(Pace))
_NO_LIMITS: Final = Limits()
_NO_PACE: Final = Pace()
_NOTHING_VERIFIED: Final = Verification()


def objective(plan: Plan) -> str:
    """The objective, with the constraints in it."""
    aim: Objective = plan.objective
    lines = [
        "objective:",
        f"  goal: {text(aim.goal)}",
        *_base_case(aim.base_case),
        f"  background_intent: {text(aim.background_intent)}",
        f"  deliverables: {text(aim.deliverables)}",
        f"  definition_of_done: {text(aim.definition_of_done)}",
        "  constraints:",
        *_constraints(plan.limits, plan.spent.created),
    ]
    if aim.protected_paths:
        lines.append(f"  protected_paths: {texts(aim.protected_paths)}")
    if aim.work_paths:
        lines.append(f"  work_paths: {texts(aim.work_paths)}")
    return "\n".join(lines) + "\n"


def _constraints(limits: Limits, created: int) -> Iterator[str]:
    yield f"    max_iterations: {limits.max_iterations}"
    yield f"    max_parallel_agents: {limits.max_parallel_agents}"
    yield f"    max_stall_count: {limits.max_stall_count}"
    for limit in OPTIONAL_LIMITS:
        value = getattr(limits, limit)
        usual = getattr(_NO_LIMITS, limit)
        if limit == "max_atoms":
            usual = default_max_atoms(created)
        if value is not None and (value != usual or limit in limits.stated):
            yield f"    {limit}: {_scalar(value)}"


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return flag(value)
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return name(str(value))


def _base_case(case: BaseCase) -> Iterator[str]:
    if case.check is not None:
        yield "  base_case:"
        yield from _check(case.check, "    ")
    elif case.checklist:
        yield "  base_case:"
        yield "    checklist:"
        yield from _items(case.checklist, "      ")
    else:
        yield "  base_case: {}"


def _items(items: tuple[ChecklistItem, ...], indent: str) -> Iterator[str]:
    for item in items:
        yield f"{indent}- item: {text(item.item)}"
        if item.check is not None:
            yield f"{indent}  check:"
            yield from _check(item.check, indent + "    ")
        for kind, members in (("group", item.group), ("any_of", item.any_of)):
            if members:
                yield f"{indent}  {kind}:"
                yield from _items(members, indent + "    ")


def _check(check: Check, indent: str) -> Iterator[str]:
    yield f"{indent}type: {check.type}"
    if check.value is not None:
        yield f"{indent}value: {text(check.value)}"
    yield from _quality(check, indent)
    if check.control is not None:
        yield f"{indent}control: {text(check.control)}"
    if check.timeout_seconds is not None:
        yield f"{indent}timeout_seconds: {check.timeout_seconds}"


def _quality(check: Check, indent: str) -> Iterator[str]:
    if check.rubric:
        yield f"{indent}rubric:"
    for line in check.rubric:
        yield f"{indent}  - criterion: {text(line.criterion)}"
        if line.description is not None:
            yield f"{indent}    description: {text(line.description)}"
        yield f"{indent}    weight: {number(line.weight)}"
        if line.levels:
            yield f"{indent}    levels:"
        for level, meaning in line.levels:
            yield f"{indent}      {level}: {text(meaning)}"
    if check.criteria is not None:
        yield f"{indent}criteria: {text(check.criteria)}"
    if check.pass_threshold is not None:
        yield f"{indent}pass_threshold: {number(check.pass_threshold)}"
    if check.scope is not None:
        yield f"{indent}scope: {text(check.scope)}"


def control(plan: Plan) -> str:
    """The run: what the contract asks for, and what it takes to resume from this file alone."""
    run: Control = plan.control
    reason = "null" if run.stop_reason is None else text(run.stop_reason)
    lines = [
        "control:",
        f"  status: {run.status}",
        f"  iteration: {run.iteration}",
        f"  stall_count: {run.stall_count}",
        f"  prev_pending_count: {run.prev_pending_count}",
        f"  stop_requested: {flag(run.stop_requested)}",
        f"  stop_reason: {reason}",
        f"  redirect_requested: {flag(run.redirect_requested)}",
    ]
    if run.run_id is not None:
        lines.append(f"  run_id: {text(run.run_id)}")
    if run.revision:
        lines.append(f"  revision: {run.revision}")
    if run.stop_code is not None:
        lines.append(f"  stop_code: {run.stop_code}")
    usual = Spent(created=len(plan.atoms))
    lines += _block("spent", _SPENT, plan.spent, usual)
    if run.aligned is not None:
        lines += ["  aligned:", *_aligned(run.aligned)]
    if plan.sessions:
        lines.append("  in_flight:")
        lines += _in_flight(plan)
    lines += _block("pace", _PACE, plan.pace, _NO_PACE)
    if plan.verification != _NOTHING_VERIFIED:
        lines.append("  verification:")
        lines += _verification(plan.verification)
    return "\n".join(lines) + "\n"


def _block(title: str, names_: tuple[str, ...], record: object, usual: object) -> Iterator[str]:
    """Write the fields of a record that are not as usual, if there are any."""
    unusual = [field for field in names_ if getattr(record, field) != getattr(usual, field)]
    if unusual:
        yield f"  {title}:"
    for field in unusual:
        yield f"    {field}: {_scalar(getattr(record, field))}"


def _aligned(aligned: Aligned) -> Iterator[str]:
    yield f"    commit: {text(aligned.commit)}"
    if aligned.branch:
        yield f"    branch: {text(aligned.branch)}"
    if aligned.pins:
        yield f"    pins: {texts(aligned.pins)}"
    if aligned.tests:
        yield "    tests:"
    for counted in aligned.tests:
        yield f"      - command: {text(counted.command)}"
        yield f"        ran: {counted.ran}"


def _in_flight(plan: Plan) -> Iterator[str]:
    for atom_id, session in plan.sessions.items():
        dash = "- "
        if atom_id != ROOT:
            yield f"    - atom: {name(atom_id)}"
            dash = "  "
        yield f"    {dash}role: {session.role}"
        yield f"      nonce: {session.nonce}"
        yield f"      number: {session.number}"


def _verification(last: Verification) -> Iterator[str]:
    if last.passed:
        yield "    passed: true"
    if last.rounds_without_gaps:
        yield f"    rounds_without_gaps: {last.rounds_without_gaps}"
    if last.unmended:
        yield f"    unmended: {last.unmended}"
    if last.not_passed:
        yield "    not_passed:"
    for item in last.not_passed:
        yield f"      - {text(item)}"
    if last.questions:
        yield "    questions:"
    for question in last.questions:
        yield f"      - item: {text(question.item)}"
        if question.answer is not Answer.OPEN:
            yield f"        answer: {text(question.answer)}"
        if question.words:
            yield f"        words: {text(question.words)}"


def atom(_key: object, it: Atom) -> str:
    """One atom. The hot one: a plan has thousands."""
    lines = (
        f"  - id: {name(it.id)}\n    description: {text(it.description)}\n"
        f"    status: {it.status.value}\n    depends_on: {names(it.depends_on)}\n"
    )
    if it.or_group is not None:
        lines += f"    or_group: {name(it.or_group)}\n"
    if it.check is not None:
        lines += "    check:\n" + "\n".join(_check(it.check, "      ")) + "\n"
    if it.attempts:
        lines += f"    attempts: {it.attempts}\n"
    if it.max_attempts is not None:
        lines += f"    max_attempts: {it.max_attempts}\n"
    if it.allowed is not None:
        lines += f"    allowed: {it.allowed}\n"
    if it.infeasible is not None:
        lines += f"    infeasible: {text(it.infeasible)}\n"
    if it.probe:
        lines += "    probe: true\n"
    if it.probes:
        lines += f"    probes: {it.probes}\n"
    if it.touches:
        lines += f"    touches: {texts(it.touches)}\n"
    return lines


def decomposition(_key: object, it: Decomposition) -> str:
    """One decomposition."""
    return (
        f"  - parent: {name(it.parent)}\n    children: {names(it.children)}\n"
        f"    reason: {text(it.reason)}\n"
    )


def group(key: str, it: OrGroup) -> str:
    """One choice point."""
    return (
        f"  {name(key)}:\n    choices: {names(it.choices)}\n    selected: {name(it.selected)}\n"
        f"    failed: {names(it.failed)}\n" + ("    speculative: true\n" if it.speculative else "")
    )


def binding(key: str, it: Binding) -> str:
    """One binding."""
    return (
        f"  {name(key)}:\n    summary: {text(it.summary)}\n    artifacts: {texts(it.artifacts)}\n"
    )


def trail_entry(_key: object, it: TrailEntry) -> str:
    """One entry of the trail."""
    lines = []
    if it.type is not TrailType.CHOICE:
        lines.append(f"type: {it.type}")
    if it.or_group is not None:
        lines.append(f"or_group: {name(it.or_group)}")
    if it.selected is not None:
        lines.append(f"selected: {name(it.selected)}")
    if it.atom is not None:
        lines.append(f"atom: {name(it.atom)}")
    if it.attempt is not None:
        lines.append(f"attempt: {it.attempt}")
    lines += [f"reason: {text(it.reason)}", f"timestamp: {text(it.timestamp)}"]
    return "  - " + "\n    ".join(lines) + "\n"


def correction(_key: object, it: Correction) -> str:
    """One redirect."""
    return (
        f"  - timestamp: {text(it.timestamp)}\n    type: {it.type}\n"
        f"    description: {text(it.description)}\n    trail_cleared: {flag(it.trail_cleared)}\n"
    )
