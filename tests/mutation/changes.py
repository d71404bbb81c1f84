"""What may stand in the place of a node, so that the program says something else.

`<` becomes `<=`, `and` becomes `or`, a number grows by one, a text is another, a statement, a
filter, a keyword or an element of a table is gone. What every test would notice at once (a name
that is not there, a required argument that is missing) is left out where it can be told apart: it
would only flatter the score.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any", "startswith": "endswith"}

Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def instead(above: tuple[ast.AST, ...], field: str, node: ast.AST) -> Iterator[ast.AST | None]:
    owner = above[-1]
    yield from _other_operator(node)
    match node:
        case ast.Constant() if not isinstance(owner, ast.JoinedStr):
            yield from _other_constant(node)
        case ast.JoinedStr():
            yield ast.JoinedStr(values=[ast.Constant(value="?"), *node.values])
        case ast.Call():
            yield from _other_call(node)
        case ast.stmt():
            yield from _other_statement(above, node)
        case ast.match_case():
            yield ast.match_case(node.pattern, ast.Constant(value=False), node.body)
        case ast.keyword() if _is_optional(owner, node):
            yield None
        case ast.Dict() if _is_table((*above, node)):
            yield from _smaller(node)
    if isinstance(node, ast.expr):
        yield from _other_expression(above, field, node)


def _other_operator(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.cmpop():
            yield COMPARED[type(node)]()
        case ast.And():
            yield ast.Or()
        case ast.Or():
            yield ast.And()
        case ast.operator() if type(node) in COMPUTED:
            yield COMPUTED[type(node)]()
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand


def _smaller(node: ast.Dict) -> Iterator[ast.AST]:
    for index in range(len(node.keys)):
        keys, values = list(node.keys), list(node.values)
        del keys[index], values[index]
        yield ast.Dict(keys, values)


def _other_constant(node: ast.Constant) -> Iterator[ast.AST]:
    match node.value:
        case bool():
            yield ast.Constant(value=not node.value)
        case int() | float():
            yield ast.Constant(value=node.value + 1)
        case str():
            yield ast.Constant(value=f"{node.value}?")


def _other_call(node: ast.Call) -> Iterator[ast.AST]:
    match node.func:
        case ast.Name(id=name) if name in CALLED:
            yield ast.Call(ast.Name(CALLED[name], ast.Load()), node.args, node.keywords)
        case ast.Name(id="reversed" | "sorted"):
            yield node.args[0]
        case ast.Attribute(value=value, attr=name) if name in CALLED:
            other = ast.Attribute(value, CALLED[name], ast.Load())
            yield ast.Call(other, node.args, node.keywords)
        case ast.Attribute(value=value, attr="strip" | "rstrip" | "removeprefix"):
            yield value


def _other_statement(above: tuple[ast.AST, ...], node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.Expr() | ast.Raise() | ast.AugAssign() | ast.Continue() | ast.Break():
            yield ast.Pass()
        case ast.Return(value=ast.Constant(value=None | False)):
            pass  # a caller that only asks for its truth would not notice
        case ast.Return(value=ast.expr()):
            yield ast.Return(value=ast.Constant(value=None))
        case ast.Assign(targets=[target]) if _is_known(above, node, target):
            yield ast.Pass()


def _other_expression(
    above: tuple[ast.AST, ...], field: str, node: ast.expr
) -> Iterator[ast.AST | None]:
    owner = above[-1]
    plain = not isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant)
    if isinstance(owner, ast.BoolOp) and field == "values" and len(owner.values) > 2:
        yield None
    elif isinstance(owner, ast.BoolOp) and plain:
        yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(owner, ast.comprehension) and field == "ifs":
        yield None
    elif field == "test" and plain:
        yield ast.UnaryOp(ast.Not(), node)
    elif isinstance(owner, ast.Tuple | ast.List) and len(owner.elts) > 1 and _is_table(above):
        yield None


def _is_optional(owner: ast.AST, node: ast.keyword) -> bool:
    """What a function is told by name may often be left out; fields of a new record may not."""
    if not isinstance(owner, ast.Call) or node.arg is None:
        return False
    called = owner.func
    name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "?")
    return name[0].islower() and len(owner.keywords) + len(owner.args) > 1


def _is_known(above: tuple[ast.AST, ...], node: ast.stmt, target: ast.expr) -> bool:
    """Has the name a value already, so that the missing assignment raises nothing?"""
    if isinstance(target, ast.Tuple):
        return all(_is_known(above, node, each) for each in target.elts)
    if not isinstance(target, ast.Name):
        return True
    function = next((n for n in reversed(above) if isinstance(n, Function)), None)
    if function is None:
        return False
    arguments = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    return target.id in arguments or any(
        isinstance(name, ast.Name)
        and name.id == target.id
        and isinstance(name.ctx, ast.Store)
        and (name.lineno, name.col_offset) < (node.lineno, node.col_offset)
        for name in ast.walk(function)
    )


def _is_table(above: tuple[ast.AST, ...]) -> bool:
    """A list of names at the top of a module, rather than a tuple that must have its length."""
    if any(isinstance(n, (*Function, ast.ClassDef)) for n in above):
        return False
    return not isinstance(above[-2], ast.Dict | ast.Subscript)
