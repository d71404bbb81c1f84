"""A picture in the languages of Mermaid and Graphviz.

An arrow goes from what is needed to what needs it. An edge that ends in a circle goes from an atom
to a part of it, and a dashed one from a choice point to a choice; the one in force is thick.

Descriptions are untrusted text. In Mermaid everything but letters, digits and harmless marks is
written by its number, because labels may contain HTML, Markdown and brackets; nodes get names of
our own, because ids may contain what the grammar gives a meaning to (`end`, a dot, a dash).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dwindle.app.plans.standing import AtomStanding
from dwindle.text.terminal import one_line
from dwindle.views.picture.picture import GroupShown, PlanPicture

LONGEST: Final = 120
"""Characters of a description; a picture with more cannot be read."""
UNWRITTEN: Final = "unwritten"
COLOURS: Final[dict[str, str]] = {
    AtomStanding.RESOLVED: "#c8e6c9",
    AtomStanding.RUNNING: "#bbdefb",
    AtomStanding.READY: "#fff9c4",
    AtomStanding.EXHAUSTED: "#ffccbc",
    AtomStanding.PARKED: "#d1c4e9",
    AtomStanding.WAITING: "#ffffff",
    AtomStanding.SPLIT: "#eeeeee",
    AtomStanding.RESERVE: "#f3e5f5",
    AtomStanding.FAILED: "#ffcdd2",
    UNWRITTEN: "#fafafa",
}
HARMLESS: Final = frozenset(" .,:-_/()+=!?'")


def mermaid(drawn: PlanPicture) -> str:
    names = {name: f"n{number}" for number, name in enumerate(_nodes(drawn))}
    lines = ["flowchart TD"]
    for atom in drawn.atoms:
        label = _label(atom.id, atom.description)
        lines.append(f'{names[atom.id]}["{in_mermaid(label)}"]:::{atom.standing}')
    for group in drawn.groups:
        label = _title(group)
        lines.append(f'{names[group.id]}{{"{in_mermaid(label)}"}}')
        lines += [f'{names[c]}["{in_mermaid(c)}"]:::{UNWRITTEN}' for c in group.unwritten]
    lines += [f"{names[whole]} --o {names[part]}" for whole, part in _parts(drawn)]
    for point, choice, word in _choices(drawn):
        arrow = "==>" if word == "selected" else "-.->"
        lines.append(f"{names[point]} {arrow}|{word}| {names[choice]}")
    lines += [f"{names[need]} --> {names[atom]}" for need, atom in _needs(drawn)]
    used = dict.fromkeys([a.standing for a in drawn.atoms])
    lines += [f"classDef {word} fill:{COLOURS[word]},stroke:#666,color:#000" for word in used]
    if any(group.unwritten for group in drawn.groups):
        style = f"fill:{COLOURS[UNWRITTEN]},stroke:#666,color:#000,stroke-dasharray:4"
        lines.append(f"classDef {UNWRITTEN} {style}")
    return "\n    ".join(lines)


def dot(drawn: PlanPicture) -> str:
    lines = ["digraph plan {", 'node [shape=box, style=filled, fillcolor="#ffffff"];']
    for atom in drawn.atoms:
        label = in_dot(_label(atom.id, atom.description))
        facts = f'label={label}, fillcolor="{COLOURS[atom.standing]}"'
        lines.append(f"{in_dot(atom.id)} [{facts}, tooltip={in_dot(atom.standing)}];")
    for group in drawn.groups:
        lines.append(f"{in_dot(group.id)} [shape=diamond, label={in_dot(_title(group))}];")
        lines += [f'{in_dot(c)} [style="filled,dashed"];' for c in group.unwritten]
    lines += [
        f"{in_dot(whole)} -> {in_dot(part)} [arrowhead=odot];" for whole, part in _parts(drawn)
    ]
    for point, choice, word in _choices(drawn):
        style = "bold" if word == "selected" else "dashed"
        lines.append(f"{in_dot(point)} -> {in_dot(choice)} [style={style}, label={in_dot(word)}];")
    lines += [f"{in_dot(need)} -> {in_dot(atom)};" for need, atom in _needs(drawn)]
    return "\n    ".join(lines) + "\n}"


def in_mermaid(text: str) -> str:
    """For between double quotes."""
    return "".join(
        c if c.isalnum() or c in HARMLESS else "<br>" if c == "\n" else f"#{ord(c)};" for c in text
    )


def in_dot(text: str) -> str:
    """In double quotes. An ampersand would begin an HTML entity."""
    escaped = text.replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n") + '"'


def _nodes(drawn: PlanPicture) -> Iterator[str]:
    yield from (atom.id for atom in drawn.atoms)
    for group in drawn.groups:
        yield group.id
        yield from group.unwritten


def _label(name: str, description: str) -> str:
    """Two lines: the id, and what is to be done."""
    text = one_line(description)
    return f"{name}\n{text if len(text) <= LONGEST else text[: LONGEST - 3] + '...'}"


def _title(group: GroupShown) -> str:
    return f"{group.id}\n(race)" if group.speculative else group.id


def _parts(drawn: PlanPicture) -> Iterator[tuple[str, str]]:
    """An atom and what it was split into; a group stands for its choices."""
    groups = [group.id for group in drawn.groups]
    stands = [(atom.parent, atom.id) for atom in drawn.atoms]
    stands += [(group.parent, group.id) for group in drawn.groups]
    for parent, part in stands:
        if parent is not None and parent not in groups:
            yield parent, part


def _choices(drawn: PlanPicture) -> Iterator[tuple[str, str, str]]:
    for group in drawn.groups:
        for choice in group.choices:
            word = "selected" if choice == group.selected else "choice"
            yield group.id, choice, "failed" if choice in group.failed else word


def _needs(drawn: PlanPicture) -> Iterator[tuple[str, str]]:
    for atom in drawn.atoms:
        yield from ((need, atom.id) for need in atom.depends_on)
