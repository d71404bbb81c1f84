"""Every small AND/OR plan: all forests of n atoms, with groups, dependencies and options.

Two plans that differ only in names, or in the order of equal parts, are the same plan here; what
is enumerated is each shape once, in one file order, with every legal set of dependencies.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from dwindle.kernel.model import (
    Atom,
    AtomId,
    BaseCase,
    Check,
    CheckType,
    Control,
    Decomposition,
    GroupId,
    Limits,
    Objective,
    OrGroup,
    Plan,
    RunStatus,
    Spent,
)
from dwindle.kernel.structure import structure_problems

Item = tuple[str, tuple["Item", ...]]
"""("atom", what it is decomposed into) or ("group", its choices, all atoms)."""

OBJECTIVE = Objective(
    goal="g",
    base_case=BaseCase(check=Check(type=CheckType.COMMAND, value="true")),
    background_intent="b",
    deliverables="d",
    definition_of_done="d",
)


@cache
def forests(atoms: int) -> tuple[tuple[Item, ...], ...]:
    """Every bag of items with this many atoms in all."""
    return _bags(atoms, groups=True)


@cache
def _bags(atoms: int, *, groups: bool) -> tuple[tuple[Item, ...], ...]:
    if atoms == 0:
        return ((),)
    found: list[tuple[Item, ...]] = []
    for first in range(1, atoms + 1):
        for item in _items(first, groups=groups):
            found += [
                (item, *rest)
                for rest in _bags(atoms - first, groups=groups)
                if not rest or _rank(item) >= _rank(rest[0])
            ]
    return tuple(found)


@cache
def _items(atoms: int, *, groups: bool) -> tuple[Item, ...]:
    found: list[Item] = [("atom", below) for below in forests(atoms - 1)]
    if groups:
        found += [("group", bag) for bag in _bags(atoms, groups=False) if len(bag) > 1]
    return tuple(found)


def _rank(item: Item) -> tuple[int, str]:
    return (_size(item), repr(item))


def _size(item: Item) -> int:
    return (item[0] == "atom") + sum(_size(below) for below in item[1])


def plan_of(forest: tuple[Item, ...], limits: Limits, *, speculative: bool = False) -> Plan:
    """A running plan; atoms are A1, A2, ... from parent to child, groups G1, G2, ..."""
    atoms: dict[AtomId, Atom] = {}
    groups: dict[GroupId, OrGroup] = {}
    made: list[Decomposition] = []

    def place(item: Item) -> tuple[AtomId, ...]:
        kind, below = item
        if kind == "group":
            name = GroupId(f"G{len(groups) + 1}")
            groups[name] = OrGroup(id=name, choices=(), selected=AtomId(""))
            choices = tuple(a for choice in below for a in place(choice))
            groups[name] = OrGroup(
                id=name, choices=choices, selected=choices[0], speculative=speculative
            )
            for choice in choices:
                atoms[choice] = replace(atoms[choice], or_group=name)
            return choices
        atom = AtomId(f"A{len(atoms) + 1}")
        atoms[atom] = Atom(id=atom, description=str(atom))
        children = tuple(a for child in below for a in place(child))
        if children:
            made.append(Decomposition(parent=atom, children=children, reason="smaller"))
        return (atom,)

    for item in forest:
        place(item)
    return Plan(
        objective=OBJECTIVE,
        limits=replace(limits, max_atoms=limits.max_atoms + len(atoms)),
        spent=Spent(created=len(atoms)),
        control=Control(status=RunStatus.RUNNING),
        atoms=atoms,
        groups=groups,
        decompositions=tuple(made),
    )


def with_dependencies(plan: Plan, most: int) -> Iterator[Plan]:
    """The plan with every legal set of at most so many dependencies, itself first."""
    choices = {c for g in plan.groups.values() for c in g.choices}
    targets = [*(a for a in plan.atoms if a not in choices), *plan.groups]
    pairs = [(a, t) for a in plan.atoms for t in targets if a != t]
    for count in range(most + 1):
        for edges in itertools.combinations(pairs, count):
            atoms = dict(plan.atoms)
            for name, target in edges:
                atoms[name] = replace(
                    atoms[name], depends_on=(*atoms[name].depends_on, str(target))
                )
            linked = replace(plan, atoms=atoms)
            if not structure_problems(linked):
                yield linked


def with_unwritten(plan: Plan) -> Plan | None:
    """The last choice of every group is only named, where it is a leaf; None if there is none.

    Its fuel is added to the limit, so that growth has as much as without it.
    """
    parents = {d.parent for d in plan.decompositions}
    named = [g.choices[-1] for g in plan.groups.values() if g.choices[-1] not in parents]
    wanted = [d for a in plan.atoms.values() for d in a.depends_on]
    if not named or any(plan.atoms[n].depends_on or n in wanted for n in named):
        return None
    atoms = {n: a for n, a in plan.atoms.items() if n not in named}
    made = tuple(
        replace(d, children=tuple(c for c in d.children if c not in named))
        for d in plan.decompositions
    )
    spent = replace(plan.spent, created=len(atoms))
    return replace(plan, atoms=atoms, decompositions=made, spent=spent)


def small_plans(
    atoms: int,
    limits: Limits,
    *,
    dependencies: int = 1,
    speculative: bool = False,
    unwritten: bool = False,
    only_groups: bool = False,
) -> Iterator[Plan]:
    for forest in forests(atoms):
        plan = plan_of(forest, limits, speculative=speculative)
        if (speculative or unwritten or only_groups) and not plan.groups:
            continue
        for linked in with_dependencies(plan, dependencies):
            if not unwritten:
                yield linked
            elif (named := with_unwritten(linked)) is not None:
                yield named


def drawn(plan: Plan) -> str:
    """One line that shows the shape: `A1[A2 A3<-G1] G1{A4|A5?}`, `~` a race, `?` unwritten."""
    below = {d.parent: d.children for d in plan.decompositions}
    group_of = {c: g for g in plan.groups.values() for c in g.choices}
    child = {c for d in plan.decompositions for c in d.children}

    def atom(name: AtomId) -> str:
        found = plan.atoms.get(name)
        if found is None:
            return f"{name}?"
        inside = f"[{items(below[name])}]" if name in below else ""
        return f"{name}{inside}" + (f"<-{','.join(found.depends_on)}" if found.depends_on else "")

    def items(names: tuple[AtomId, ...]) -> str:
        shown: dict[str, None] = {}
        for name in names:
            group = group_of.get(name)
            if group is None:
                shown[atom(name)] = None
            else:
                race = "~" if group.speculative else ""
                shown[f"{group.id}{race}{{{'|'.join(atom(c) for c in group.choices)}}}"] = None
        return " ".join(shown)

    return items(tuple(a for a in plan.atoms if a not in child))


def plan_from(text: str, limits: Limits) -> Plan:
    """The reverse of `drawn`: a running plan from one line."""
    return _Reader(text, limits).plan()


class _Reader:
    """Recursive descent over `A1[A2 A3<-G1] G1~{A4|A5?}`."""

    def __init__(self, text: str, limits: Limits) -> None:
        self.text = text
        self.at = 0
        self.limits = limits
        self.atoms: dict[AtomId, Atom] = {}
        self.groups: dict[GroupId, OrGroup] = {}
        self.made: list[Decomposition] = []

    def plan(self) -> Plan:
        self.items("")
        named = {c for g in self.groups.values() for c in g.choices}
        written = {n: a for n, a in self.atoms.items() if a.description}
        for group in self.groups.values():
            for choice in group.choices:
                if choice in written:
                    written[choice] = replace(written[choice], or_group=group.id)
        order = sorted(written, key=lambda n: (len(n), n))
        made = [
            replace(d, children=tuple(c for c in d.children if c in written)) for d in self.made
        ]
        assert all(c in named or c in written for d in made for c in d.children)
        return Plan(
            objective=OBJECTIVE,
            limits=replace(self.limits, max_atoms=self.limits.max_atoms + len(written)),
            spent=Spent(created=len(written)),
            control=Control(status=RunStatus.RUNNING),
            atoms={n: written[n] for n in order},
            groups=dict(sorted(self.groups.items())),
            decompositions=tuple(made),
        )

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def word(self) -> str:
        start = self.at
        while self.peek().isalnum() or self.peek() == "_":
            self.at += 1
        return self.text[start : self.at]

    def items(self, end: str) -> tuple[AtomId, ...]:
        found: list[AtomId] = []
        while self.peek() and self.peek() != end:
            if not self.take(" "):
                found += self.item()
        return tuple(found)

    def item(self) -> tuple[AtomId, ...]:
        name = self.word()
        race = self.take("~")
        if not self.take("{"):
            return (self.atom(name),)
        choices = [self.atom(self.word())]
        while self.take("|"):
            choices.append(self.atom(self.word()))
        self.take("}")
        group = GroupId(name)
        self.groups[group] = OrGroup(
            id=group, choices=tuple(choices), selected=choices[0], speculative=race
        )
        return tuple(choices)

    def atom(self, name: str) -> AtomId:
        atom = AtomId(name)
        if self.take("?"):
            return atom
        self.atoms[atom] = Atom(id=atom, description=name)
        if self.take("["):
            children = self.items("]")
            self.take("]")
            self.made.append(Decomposition(parent=atom, children=children, reason="smaller"))
        if self.take("<-"):
            needs = [self.word()]
            while self.take(","):
                needs.append(self.word())
            self.atoms[atom] = replace(self.atoms[atom], depends_on=tuple(needs))
        return atom
