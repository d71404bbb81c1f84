"""Small lies about the source: every place where one can be told, and what it would say.

A mutant changes one node of one module (`changes` says how), and a good suite notices it.

Left alone: annotations, decorators, docstrings, imports, `__all__`, and what only type checkers
read.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.mutation.changes import Function, instead

LONGEST = 72
"""Characters of code that a mutant is shown with, if its own are not more."""

Simple = (
    ast.expr,
    ast.Expr,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Return,
    ast.Raise,
    ast.Continue,
    ast.Break,
    ast.match_case,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    module: str
    number: int
    """Among the mutants of its module."""
    function: str
    """Dotted, empty at the top of the module."""
    lines: tuple[int, int]
    """First and last of the statement; a test that runs one of them may notice."""
    before: str
    after: str
    in_body: bool
    """Of a function: it can be put into a module that is loaded already."""

    @property
    def key(self) -> str:
        return f"{self.module}:{self.function or '-'} `{self.before}` -> `{self.after}`"


@dataclass(frozen=True, slots=True)
class Place:
    """One slot of the tree, and what would stand there instead; None: nothing at all."""

    above: tuple[ast.AST, ...]
    """From the module down to the owner of the slot."""
    field: str
    index: int | None
    new: ast.AST | None

    @property
    def old(self) -> ast.AST:
        value = getattr(self.above[-1], self.field)
        found: ast.AST = value if self.index is None else value[self.index]
        return found

    def tell(self) -> None:
        owner = self.above[-1]
        if self.index is None:
            setattr(owner, self.field, self.new)
            return
        values = list(getattr(owner, self.field))
        values[self.index : self.index + 1] = [] if self.new is None else [self.new]
        setattr(owner, self.field, values)


def mutants(module: str, source: str) -> tuple[Mutant, ...]:
    """All of them, in the order of the file. Equal ones in one function are numbered."""
    tree = ast.parse(source)
    found: list[Mutant] = []
    seen: dict[str, int] = {}
    for number, place in enumerate(places(tree)):
        function, in_body = _function(place)
        shown = _shown(place)
        before, lines, kept = _text(shown), _lines(place), getattr(place.above[-1], place.field)
        whole = shown is None or shown is place.old
        place.tell()
        after = _text(place.new if whole else shown)
        setattr(place.above[-1], place.field, kept)
        if isinstance(place.old, ast.Dict) and isinstance(place.new, ast.Dict):
            before, after = _lost_entry(place.old, place.new), _text(None)
        mutant = Mutant(
            module=module,
            number=number,
            function=function,
            lines=lines,
            before=before,
            after=after,
            in_body=in_body,
        )
        count = seen[mutant.key] = seen.get(mutant.key, 0) + 1
        found.append(mutant if count == 1 else replace(mutant, after=f"{after} #{count}"))
    return tuple(found)


def mutated(source: str, number: int) -> ast.Module:
    tree = ast.parse(source)
    for at, place in enumerate(places(tree)):
        if at == number:
            place.tell()
            return ast.fix_missing_locations(tree)
    raise LookupError(number)


def places(tree: ast.Module) -> Iterator[Place]:
    yield from _below((tree,))


# --- where ---------------------------------------------------------------------------------------


def _below(above: tuple[ast.AST, ...]) -> Iterator[Place]:
    node = above[-1]
    for field, value in ast.iter_fields(node):
        if _is_left_alone(node, field):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if not isinstance(child, ast.AST) or _is_silent(child):
                continue
            for new in instead(above, field, child):
                yield Place(above, field, index, new)
            yield from _below((*above, child))


def _is_left_alone(node: ast.AST, field: str) -> bool:
    if field in ("annotation", "returns", "decorator_list", "bases", "slice_type", "ctx"):
        return True
    match node:
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return field != "orelse"
        case ast.Call(func=ast.Name(id="NewType")):
            return True
    return False


def _is_silent(node: ast.AST) -> bool:
    """Docstrings and other prose, imports, and what is read by type checkers only."""
    match node:
        case ast.Expr(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name[0].isupper() and not name.isupper()  # another name for a type
    return False


# --- how it is shown -----------------------------------------------------------------------------


def _function(place: Place) -> tuple[str, bool]:
    names = [n.name for n in place.above if isinstance(n, (*Function, ast.ClassDef))]
    outer = next((i for i, n in enumerate(place.above) if isinstance(n, Function)), None)
    if outer is None:
        return ".".join(names) or _assigned(place), False
    below = place.above[outer + 1] if outer + 1 < len(place.above) else None
    return ".".join(names), not isinstance(below, ast.arguments)


def _assigned(place: Place) -> str:
    """The name of the table, or whatever it is, at the top of a module."""
    for node in place.above:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(target, ast.Name):
            return target.id
    return ""


def _shown(place: Place) -> ast.AST | None:
    """The largest piece of code around it that is short; else the smallest that there is."""
    around = [n for n in (place.old, *reversed(place.above)) if isinstance(n, Simple)]
    short = [n for n in around if len(ast.unparse(n)) <= LONGEST]
    if short:
        return short[-1]
    return around[0] if around else None


def _lost_entry(old: ast.Dict, new: ast.Dict) -> str:
    entries = zip(old.keys, old.values, strict=True)
    key, value = next((k, v) for k, v in entries if v not in new.values)
    return f"{_text(key) if key else '**'}: {_text(value)}"[:LONGEST]


def _text(node: ast.AST | None) -> str:
    if node is None:
        return "(gone)"
    if isinstance(node, ast.match_case):
        never = " if False" if isinstance(node.guard, ast.Constant) else ""
        return f"case {ast.unparse(node.pattern)}{never}"
    text = " ".join(ast.unparse(node).split()).replace("`", "'")
    return text if len(text) <= 2 * LONGEST else f"{text[: 2 * LONGEST]}..."


def _lines(place: Place) -> tuple[int, int]:
    """Of the innermost statement around it; of one with others in it, only as far as it goes."""
    around = [n for n in (place.old, *reversed(place.above)) if hasattr(n, "lineno")]
    statement = next((n for n in around if isinstance(n, ast.stmt)), around[0])
    last = around[0] if hasattr(statement, "body") else statement
    first: int = getattr(statement, "lineno", 1)
    return first, max(first, getattr(last, "end_lineno", first))
