"""What the import linter cannot see: the order of sets, stray imports, and built-ins that do I/O.

Iterating a set of strings gives another order under another hash seed, and with it other decisions
and other bytes. The kernel therefore never does it. The check below knows a set when it sees one:
a display, a comprehension, a call of `set` or `frozenset`, an operator or method on one of these,
or a name of the same function that was bound to, or annotated as, one. Asking a set whether it
holds something, its size, or `sorted` of it is fine.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

KERNEL = Path(__file__).parents[1] / "src" / "dwindle" / "kernel"

ALLOWED_IMPORTS = (
    "__future__",
    "bisect",
    "collections.abc",
    "dataclasses",
    "dwindle.kernel",
    "enum",
    "functools",
    "heapq",
    "itertools",
    "operator",
    "typing",
)
FORBIDDEN_CALLS = ("print", "open", "input", "eval", "exec", "compile", "__import__", "id", "hash")
SET_TYPES = ("set", "frozenset", "Set", "AbstractSet", "MutableSet")
SET_METHODS = ("union", "intersection", "difference", "symmetric_difference", "copy")
ORDER_KEEPERS = ("list", "tuple", "iter", "enumerate", "zip", "map", "filter", "next", "reversed")
"""Calls whose result depends on the order of what they are given."""

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def impurities(source: str) -> list[str]:
    tree = ast.parse(source)
    found = [*_stray_imports(tree), *_forbidden_calls(tree), *_set_iterations(tree)]
    return [f"line {line}: {what}" for line, what in sorted(found)]


def _stray_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        else:
            continue
        for name in names:
            if not any(name == ok or name.startswith(f"{ok}.") for ok in ALLOWED_IMPORTS):
                yield node.lineno, f"imports {name}"


def _forbidden_calls(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in FORBIDDEN_CALLS:
            yield node.lineno, f"calls {_name(node.func)}"


def _set_iterations(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for scope in ast.walk(tree):
        if not isinstance(scope, Scope):
            continue
        nodes = list(_own_nodes(scope))
        sets = _names_of_sets(scope, nodes)
        for node in nodes:
            for iterated in _iterated(node):
                if _is_set(iterated, sets):
                    yield iterated.lineno, f"iterates the set {ast.unparse(iterated)}"


def _own_nodes(scope: Scope) -> Iterator[ast.AST]:
    """Everything below `scope` that belongs to no function within it."""
    waiting: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Scope):
            waiting.extend(ast.iter_child_nodes(node))


def _names_of_sets(scope: Scope, nodes: list[ast.AST]) -> frozenset[str]:
    names: set[str] = set()
    if not isinstance(scope, ast.Module):
        every = [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]
        names.update(arg.arg for arg in every if _says_set(arg.annotation))
    before = -1
    while before != len(names):  # a name may be bound to a name bound to a set
        before = len(names)
        for node in nodes:
            if isinstance(node, ast.Assign) and _is_set(node.value, frozenset(names)):
                names.update(_name(target) for target in node.targets)
            elif isinstance(node, ast.NamedExpr) and _is_set(node.value, frozenset(names)):
                names.add(node.target.id)
            elif isinstance(node, ast.AnnAssign) and _says_set(node.annotation):
                names.add(_name(node.target))
    return frozenset(names - {""})


def _says_set(annotation: ast.expr | None) -> bool:
    while isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    return annotation is not None and _name(annotation) in SET_TYPES


def _iterated(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.For(iter=what) | ast.comprehension(iter=what) | ast.YieldFrom(value=what):
            return [what]
        case ast.Starred(value=what, ctx=ast.Load()):
            return [what]
        case ast.Call(func=ast.Name(id=name), args=args) if name in ORDER_KEEPERS:
            return args
        case ast.Call(func=ast.Name(id="min" | "max"), args=[what], keywords=[_, *_]):
            return [what]  # with a key, the first of equals wins
        case ast.Call(func=ast.Attribute(attr="join" | "fromkeys" | "extend"), args=[what, *_]):
            return [what]
        case ast.Call(func=ast.Attribute(attr="pop", value=what), args=[]):
            return [what]
        case _:
            return []


def _is_set(node: ast.expr, sets: frozenset[str]) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Name(id=name):
            return name in sets
        case ast.Call(func=ast.Name(id="set" | "frozenset")):
            return True
        case ast.Call(func=ast.Attribute(attr=method, value=owner)) if method in SET_METHODS:
            return _is_set(owner, sets)
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor()):
            return _is_set(left, sets) or _is_set(node.right, sets)
        case ast.IfExp(body=body, orelse=orelse):
            return _is_set(body, sets) or _is_set(orelse, sets)
        case ast.NamedExpr(value=value):
            return _is_set(value, sets)
        case _:
            return False


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.parametrize(
    "path", sorted(KERNEL.rglob("*.py")), ids=lambda path: path.relative_to(KERNEL).as_posix()
)
def test_the_kernel_is_pure(path: Path) -> None:
    assert impurities(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", "imports time"),
        ("from collections import deque", "imports collections"),
        ("from dwindle.adapters import disk", "imports dwindle.adapters"),
        ("from dwindle.kernelish import x", "imports dwindle.kernelish"),
        ("from .model import Atom", "imports .model"),
        ("print(1)", "calls print"),
        ("open('x')", "calls open"),
        ("for a in {1, 2}: pass", "iterates the set {1, 2}"),
        ("x = [a for a in {b for b in y}]", "iterates the set {b for b in y}"),
        ("x = tuple(frozenset(y))", "iterates the set frozenset(y)"),
        ("x = [*set(y)]", "iterates the set set(y)"),
        ("x = ', '.join(set(y) - {1})", "iterates the set set(y) - {1}"),
        ("x = min({1, 2}, key=f)", "iterates the set {1, 2}"),
        ("def f(s: set[int]):\n for a in s: pass", "iterates the set s"),
        ("def f():\n s: frozenset[int] = g()\n return list(s)", "iterates the set s"),
        ("s = set()\nt = s | u\nfor a in t: pass", "iterates the set t"),
        ("s = {1}\ns.pop()", "iterates the set s"),
    ],
)
def test_an_impurity_is_found(source: str, found: str) -> None:
    line = len(source.splitlines())
    assert impurities(source) == [f"line {line}: {found}"]


@pytest.mark.parametrize(
    "source",
    [
        "from dwindle.kernel.model import Atom",
        "from collections.abc import Mapping",
        "s = set(y)\nok = 1 in s and len(s) == 2",
        "s = set(y)\nx = sorted(s)",
        "x = max({1, 2})",
        "for a in {1: 2}: pass",
        "def f():\n s = {1}\n return 1 in s\ndef g(s):\n return list(s)",
        "first, *rest = y",
        "x = [1]\nx.pop()",
    ],
)
def test_what_keeps_its_order_is_left_alone(source: str) -> None:
    assert impurities(source) == []
