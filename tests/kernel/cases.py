"""Stories in data: `given` a plan, `news`, `then` what the plan and the decision are, in full.

A case is a YAML file in `tests/cases`. The plan is drawn in one line (`A3<-G1 G1{A1|A2}`, see
`tests.model.small_plans`), with limits and fields that differ; or it is the text of a plan
file. Each piece of news is one event, by class name. What a runner would know is filled in:

- the nonce is the one in flight, and `at` is t1, t2, ...;
- an event that carries out an action (`ChoiceFailed: {}`) takes its fields from the decision.

A runner that does what was not decided proves nothing, so such an event must match the decision,
unless the story says that it is refused. The loader takes nothing it does not know.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml
from tests.model.invariants import violations
from tests.model.small_plans import plan_from

from dwindle.adapters.formats.graph.plan import decode
from dwindle.kernel import actions, events
from dwindle.kernel.decide import decide
from dwindle.kernel.errors import IllegalEvent
from dwindle.kernel.events import Event
from dwindle.kernel.model import Binding, Limits, Plan, Role, Status, TrailEntry
from dwindle.kernel.transitions import apply

FOLDER = Path(__file__).parent.parent / "cases"
LIMITS = Limits(max_atoms=5, max_winds=0)
"""What a case starts from: the defaults, but no winds, and fuel for five more atoms than drawn."""

GIVEN = ("plan", "file", "limits", "atoms", "groups", "control", "spent", "bindings", "trail")
EVENTS: Mapping[str, type[Event]] = {kind.__name__: kind for kind in typing.get_args(Event)}


class WrongCase(Exception):
    """The file does not tell a story that we understand."""


@dataclass(frozen=True, kw_only=True)
class Case:
    name: str
    story: str
    start: Plan
    news: tuple[tuple[str, Mapping[str, Any]], ...]
    then: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Step:
    before: Plan
    event: Event
    after: Plan
    refused: IllegalEvent | None = None


def all_cases() -> list[Path]:
    return sorted(FOLDER.glob("*.yaml"))


def load(path: Path) -> Case:
    return read(path.stem, path.read_text(encoding="utf-8"))


def read(name: str, text: str) -> Case:
    told = yaml.safe_load(text)
    known(told, ("story", "given", "news", "then"), name)
    given = told["given"]
    known(given, GIVEN, f"{name}: given")
    return Case(
        name=name,
        story=told["story"],
        start=plan_given(given, name),
        news=tuple(tagged(entry, f"{name}: news {i}") for i, entry in enumerate(told["news"], 1)),
        then=told["then"],
    )


def known(found: Any, names: Sequence[str], where: str) -> None:
    strange = [k for k in found if k not in names] if isinstance(found, dict) else [found]
    if strange:
        raise WrongCase(f"{where}: {strange} is none of {', '.join(names)}")


def tagged(entry: Any, where: str) -> tuple[str, Mapping[str, Any]]:
    """`Name: {fields}`."""
    if not isinstance(entry, dict) or len(entry) != 1:
        raise WrongCase(f"{where}: expected one class name with its fields, got {entry!r}")
    ((name, given),) = entry.items()
    return name, given or {}


# --- given ---------------------------------------------------------------------------------------


def plan_given(given: Mapping[str, Any], name: str) -> Plan:
    if "file" in given:
        found = decode(given["file"].encode())
        if found.plan is None:
            raise WrongCase(f"{name}: {[p.what for p in found.problems]}")
        return found.plan
    plan = plan_from(given["plan"], changed(LIMITS, given.get("limits", {}), name))
    atoms, groups = dict(plan.atoms), dict(plan.groups)
    for which, fresh in given.get("atoms", {}).items():
        atoms[which] = changed(atoms[which], fresh, f"{name}: {which}")
    for which, fresh in given.get("groups", {}).items():
        groups[which] = changed(groups[which], fresh, f"{name}: {which}")
    return replace(
        plan,
        atoms=atoms,
        groups=groups,
        control=changed(plan.control, given.get("control", {}), name),
        spent=changed(plan.spent, given.get("spent", {}), name),
        bindings=built(Mapping[str, Binding], given.get("bindings", {}), name),
        trail=built(tuple[TrailEntry, ...], given.get("trail", []), name),
    )


def changed(record: Any, given: Mapping[str, Any], where: str) -> Any:
    known(given, [f.name for f in fields(record)], where)
    hints = typing.get_type_hints(type(record))
    return replace(record, **{k: built(hints[k], v, f"{where}: {k}") for k, v in given.items()})


def built(hint: Any, value: Any, where: str) -> Any:
    """A value of the annotated type, from what YAML has."""
    if isinstance(hint, typing.NewType):
        return value
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return tuple(built(parts[0], v, where) for v in value)
    if origin in (types.UnionType, typing.Union):
        return built_union(parts, value, where)
    if origin is Mapping:
        return {k: built(parts[1], v, f"{where}: {k}") for k, v in value.items()}
    if is_dataclass(hint):
        return built_record(hint, value, where)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    if not isinstance(value, hint) and (hint, type(value)) != (float, int):
        raise WrongCase(f"{where}: {value!r} is no {hint.__name__}")
    return value


def built_union(parts: tuple[Any, ...], value: Any, where: str) -> Any:
    named: dict[str, Any] = {
        p.__name__: p for p in parts if isinstance(p, type) and is_dataclass(p)
    }
    if len(named) > 1:
        name, given = tagged(value, where)
        known({name: given}, tuple(named), where)
        return built_record(named[name], given, where)
    if value is None or (not named and len(parts) > 2):
        return value
    return built(next(p for p in parts if p is not type(None)), value, where)


def built_record(kind: Any, given: Any, where: str) -> Any:
    known(given, [f.name for f in fields(kind)], where)
    hints = typing.get_type_hints(kind)
    return kind(**{k: built(hints[k], v, f"{where}: {k}") for k, v in given.items()})


# --- news ----------------------------------------------------------------------------------------


def steps(case: Case) -> Iterator[Step]:
    """The story, step by step. A refusal can only be its end."""
    plan = case.start
    for number, (name, given) in enumerate(case.news, 1):
        where = f"{case.name}: news {number}"
        if name not in EVENTS:
            raise WrongCase(f"{where}: {name} is no event")
        event = built_record(EVENTS[name], filled_in(plan, name, given, number), where)
        try:
            after = apply(plan, event)
        except IllegalEvent as refused:
            if number < len(case.news):
                raise
            yield Step(before=plan, event=event, after=plan, refused=refused)
            return
        if not is_wanted(plan, event):
            raise WrongCase(f"{where}: {event} was not decided")
        broken = [] if has_orphan(plan) else list(violations(plan, event, after))
        if broken:
            raise AssertionError(f"{where}: {broken}")
        yield Step(before=plan, event=event, after=after)
        plan = after


def has_orphan(plan: Plan) -> bool:
    """A file from elsewhere: in progress, and no session is at work. The laws are not for those."""
    return any(
        a.status is Status.IN_PROGRESS and a.id not in plan.sessions for a in plan.atoms.values()
    )


def filled_in(plan: Plan, name: str, given: Mapping[str, Any], number: int) -> Mapping[str, Any]:
    filled: dict[str, Any] = {"at": f"t{number}", **given}
    decision = decide(plan)
    if name == "RunEnded" and decision.stop is not None:
        filled = {"code": decision.stop.code, "reason": decision.stop.reason, **filled}
    for action in decision.actions:
        if name == "ChoiceFailed" and isinstance(action, actions.FailChoice):
            wanted = {"group": action.group, "choice": action.choice, "reason": action.because}
            filled = {**wanted, **filled}
        if name == "Backjumped" and isinstance(action, actions.Backjump):
            wanted = {"group": action.group, "atom": action.atom, "reason": action.because}
            filled = {**wanted, **filled}
        if name == "WindBegan" and isinstance(action, actions.BeginWind):
            filled = {"reason": action.because, **filled}
    if issubclass(EVENTS[name], events.SessionNews) and "nonce" not in filled:
        session = plan.sessions.get(filled.get("atom", ""))
        if session is None:
            raise WrongCase(f"nothing is in flight for {filled.get('atom', 'the verification')}")
        filled["nonce"] = session.nonce
    return filled


def is_wanted(plan: Plan, event: Event) -> bool:
    """Does the event carry out something that was decided? News of the world always may come."""
    decision = decide(plan)
    wishes: list[object] = [wish_of(action) for action in decision.actions]
    match event:
        case events.SessionStarted():
            return (event.role, event.atom) in wishes
        case events.ChoiceFailed():
            return (actions.FailChoice, event.group, event.choice) in wishes
        case events.Backjumped():
            return (actions.Backjump, event.group, event.atom) in wishes
        case events.WindBegan():
            return actions.BeginWind in wishes
        case events.Settled():
            return actions.Settle in wishes
        case events.EarlyChecked():
            return actions.CheckEarly in wishes
        case events.RunEnded():
            return decision.stop is not None and decision.stop.code is event.code
    return True


def wish_of(action: actions.Action) -> object:
    match action:
        case actions.Work():
            return (Role.WORKER, action.atom)
        case actions.Probe():
            return (Role.PROBE, action.atom)
        case actions.Verify():
            return (Role.VERIFIER, "")
        case actions.FailChoice():
            return (actions.FailChoice, action.group, action.choice)
        case actions.Backjump():
            return (actions.Backjump, action.group, action.atom)
    return type(action)
