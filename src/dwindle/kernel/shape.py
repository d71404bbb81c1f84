"""Who stands under whom, and who waits for whom: the part of a plan that only growth changes.

The plan's tree has a synthetic AND root; decompositions hang under it. An OR group is a node of
its own: it stands where its choices stand, and the choices are its children. Naming a choice in
`depends_on` means its group, because after a switch another choice does the work.

Node ids are plain strings here: an atom, a group, or ROOT.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dwindle.kernel.model import ROOT, Plan


@dataclass(frozen=True, slots=True)
class Shape:
    parent: Mapping[str, str]
    kids: Mapping[str, tuple[str, ...]]
    """Of the root, of composite atoms and of groups. An atom that is not a key is a leaf."""
    needs: Mapping[str, tuple[str, ...]]
    """Own dependencies, a choice replaced by its group."""
    waiters: Mapping[str, tuple[str, ...]]
    """The reverse of `needs`."""
    place: Mapping[str, int]
    """Position in the file."""
    group_of: Mapping[str, str]
    """Of every choice, written or not."""
    behind: dict[str, frozenset[str]] = field(default_factory=dict, compare=False)
    """What depends on each group, worked out when it is first asked for (`branches.closure`)."""


def shape_of(plan: Plan) -> Shape:
    """Built from the structure alone; statuses do not matter."""
    above: dict[str, str] = {c: d.parent for d in plan.decompositions for c in d.children}
    group_of: dict[str, str] = {c: g.id for g in plan.groups.values() for c in g.choices}
    parent: dict[str, str] = {}
    kids: dict[str, list[str]] = {ROOT: []}
    place: dict[str, int] = {}
    needs: dict[str, tuple[str, ...]] = {}
    waiters: dict[str, list[str]] = {}
    for group in plan.groups.values():
        parent[group.id] = next((above[c] for c in group.choices if c in above), ROOT)
        kids[group.id] = list(group.choices)
        for choice in group.choices:
            parent[choice] = group.id
    stood: dict[str, None] = {}
    for index, (name, atom) in enumerate(plan.atoms.items()):
        place[name] = index
        node: str = group_of.get(name, name)
        if node == name:
            parent[name] = above.get(name, ROOT)
        if node not in stood:
            stood[node] = None
            kids.setdefault(parent[node], []).append(node)
        if atom.depends_on:
            targets = tuple(dict.fromkeys(group_of.get(d, d) for d in atom.depends_on))
            needs[name] = targets
            for target in targets:
                waiters.setdefault(target, []).append(name)
    return Shape(
        parent=parent,
        kids={node: tuple(below) for node, below in kids.items()},
        needs=needs,
        waiters={node: tuple(waiting) for node, waiting in waiters.items()},
        place=place,
        group_of=group_of,
    )


def chain(shape: Shape, node: str) -> Iterator[str]:
    """The node and everything above it, the root last."""
    while node != ROOT:
        yield node
        node = shape.parent[node]
    yield ROOT


def subtree(shape: Shape, node: str) -> Iterator[str]:
    """The node and everything below it, parents before children."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(shape.kids.get(node, ())))
