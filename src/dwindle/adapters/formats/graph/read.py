"""From the values of a front matter to records, with every problem of every section at once.

A file of an older contract is brought up to this one first: sections that are empty or absent take
their initial values, `control` and `corrections` may stand under `objective`, and a base case may
say `exists: PATH`. What is then wrong in one atom does not keep the next one from being looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from dwindle.adapters.formats.graph import rules, wire
from dwindle.adapters.formats.graph.shape import closest, converted, shaped
from dwindle.adapters.formats.yaml_place import MAX_PROBLEMS, Path, clipped, step_of
from dwindle.kernel.model import CheckType, Problem

R = TypeVar("R", bound=wire.Record)
T = TypeVar("T")
Judge = Callable[[Iterable[R | None]], Iterator[Problem]]
Values = dict[Any, Any]

STAND_IN: Final = wire.Objective(
    goal="?",
    base_case=wire.BaseCase(type=CheckType.COMMAND, value="?"),
    background_intent="?",
    deliverables="?",
    definition_of_done="?",
)
"""Takes the place of an objective that was refused, so that the graph can still be judged. It has
nothing wrong with it: what is wrong with the real one has been said."""


@dataclass(frozen=True, slots=True)
class ReadState:
    """The records of a file, if they could all be read, and what is wrong with them."""

    state: wire.State | None
    """There although something is wrong, when what is wrong leaves the graph itself readable."""
    problems: tuple[Problem, ...]


def read(data: object) -> ReadState:
    """Turn values into records."""
    if data is None:
        data = {}
    if type(data) is not dict:
        what = "the front matter must be a mapping of sections"
        return ReadState(None, (Problem(where=(), what=what, hint=_sections()),))
    reading = _Reading(data)
    return ReadState(reading.state(), tuple(reading.problems))


def _sections() -> str:
    return "its sections are " + ", ".join(wire.SECTIONS)


class _Reading:
    """One file, section by section. `problems` grows in the order of the contract."""

    def __init__(self, data: Values) -> None:
        self.problems: list[Problem] = []
        self.sound = True
        """Every record of the graph could be read."""
        objective = data.get("objective")
        self.objective: object = dict(objective) if type(objective) is dict else objective
        self.data = dict(data)
        for name in ("control", "corrections"):
            self._lift(name)
        for key in self.data:
            if key not in wire.SECTIONS:
                what = f"unknown section {clipped(key)}"
                hint = closest(key, wire.SECTIONS)
                self.problems.append(Problem(where=(step_of(key),), what=what, hint=hint))

    def _lift(self, name: str) -> None:
        """Older files keep this section under the objective."""
        if type(self.objective) is not dict or name not in self.objective:
            return
        lifted = self.objective.pop(name)
        if self.data.get(name) is not None:
            what = f"{name} is there twice, here and at the top"
            self.problems.append(
                Problem(where=("objective", name), what=what, hint="keep the one at the top")
            )
        else:
            self.data[name] = lifted

    def state(self) -> wire.State | None:
        objective = self._objective()
        control = self._control()
        atoms = self._atoms()
        decompositions = self._listed("decompositions", wire.Decomposition)
        groups = self._named("or_groups", wire.OrGroup)
        bindings = self._named("bindings", wire.Binding)
        trail = self._listed("trail", wire.TrailEntry, rules.trail_problems)
        corrections = self._listed("corrections", wire.Correction)
        if not self.sound:
            return None
        return wire.State(
            objective=objective,
            control=control,
            atoms=atoms,
            decompositions=decompositions,
            or_groups=groups,
            bindings=bindings,
            trail=trail,
            corrections=corrections,
        )

    def _objective(self) -> wire.Objective:
        given = self.objective
        if rules.is_blank(given):
            self.problems.append(rules.unaligned(("objective",), "there is no objective"))
            return STAND_IN
        if type(given) is dict:
            given = _with_initial_values(given, ("constraints", "protected_paths", "work_paths"))
            for name in rules.ALIGNMENT:
                if rules.is_blank(given.get(name)):
                    state = "blank" if name in given else "missing"
                    gap = rules.unaligned(("objective", name), f"{name} is {state}")
                    self.problems.append(gap)
                    given[name] = ""
            given["base_case"] = self._base_case(given.get("base_case"), "base_case" in given)
        objective = self._shaped(given, wire.Objective, ("objective",))
        return STAND_IN if objective is None else objective

    def _base_case(self, given: object, there: bool) -> object:  # noqa: FBT001
        """Judge the base case by itself, and hand on something of its shape."""
        where = ("objective", "base_case")
        if rules.is_blank(given):
            gap = "the base case is blank" if there else "there is no base case"
            self.problems.append(rules.unaligned(where, gap))
            return {}
        if type(given) is dict and given.get("type") == "file":
            value = given.get("value")
            if type(value) is dict and list(value) == ["exists"]:
                given = {**given, "value": value["exists"]}
        case = self._shaped(given, wire.BaseCase, where)
        if case is None:
            return {}
        self.problems.extend(rules.base_case_problems(case, where))
        return given

    def _control(self) -> wire.Control:
        given = self.data.get("control")
        control = self._shaped({} if given is None else given, wire.Control, ("control",))
        if control is None:
            return wire.Control()
        self.problems.extend(rules.in_flight_problems(control.in_flight))
        return control

    def _atoms(self) -> tuple[wire.Atom, ...]:
        if rules.is_blank(self.data.get("atoms")):
            self.problems.append(rules.unaligned(("atoms",), "there are no atoms"))
            return ()
        atoms = self._listed("atoms", wire.Atom, rules.atoms_problems)
        if len({atom.id for atom in atoms}) < len(atoms):
            self.sound = False  # one of two equal ids would be lost, and with it the count
        return atoms

    def _listed(self, name: str, shape: type[R], judge: Judge[R] | None = None) -> tuple[R, ...]:
        """Read a section that is a list of records; judge the good ones even if some are bad."""
        given = self.data.get(name)
        if given is None:
            return ()
        records = self._shaped(given, tuple[shape, ...], (name,))  # type: ignore[valid-type]
        each: Iterable[R | None] = records or ()
        if records is None:
            self.sound = False
            if type(given) is list:
                each = [converted(entry, shape) for entry in given[:MAX_PROBLEMS]]
        if judge is not None:
            self.problems.extend(islice(judge(each), MAX_PROBLEMS))
        return records or ()

    def _named(self, name: str, shape: type[R]) -> dict[str, R]:
        """Read a section that is a mapping of records."""
        given = self.data.get(name)
        if given is None:
            return {}
        records = self._shaped(given, dict[wire.Name, shape], (name,))  # type: ignore[valid-type]
        if records is None:
            self.sound = False
        return records or {}

    def _shaped(self, value: object, shape: type[T], where: Path) -> T | None:
        record, faults = shaped(value, shape, where)
        self.problems.extend(faults)
        return record


def _with_initial_values(given: Values, names: Iterable[str]) -> Values:
    """Leave out keys without a value, which older files have."""
    return {key: value for key, value in given.items() if value is not None or key not in names}
