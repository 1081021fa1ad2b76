"""Functions of the text that programs call as statements: `def local(dtype): return T.alloc_buffer((1,), dtype)` is written out."""

from __future__ import annotations

import ast
from copy import deepcopy

from ..subset.scope import Value
from ..subset.values import Function
from .expressions import ExpressionReader


def written_out(reader: ExpressionReader, node: ast.expr) -> ast.expr:
    """Return the call of T that a call of a function of the text stands for; other nodes as they are."""
    if reader.around is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return node
    function = reader.scope.get(node.func.id)
    result = _result(function) if isinstance(function, Function) else None
    if not isinstance(function, Function) or not isinstance(result, ast.Call | ast.IfExp):
        return node
    names = [a.arg for a in function.node.args.args]
    if len(node.args) > len(names) or any(isinstance(a, ast.Starred) for a in node.args):
        return node
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    found = _Substitution(function, given).visit(deepcopy(result))
    while isinstance(found, ast.IfExp):
        test = reader.value(ast.fix_missing_locations(ast.copy_location(found.test, node)))
        if not isinstance(test, bool | int):
            return node
        found = found.body if test else found.orelse
    if not isinstance(found, ast.Call) or reader.called(found) is None:
        return node
    for part in ast.walk(found):
        ast.copy_location(part, node)
    return found


def _result(function: Function) -> ast.expr | None:
    """Return what a function returns that does nothing else."""
    if isinstance(function.node, ast.Lambda):
        return function.node.body
    body = [
        part for part in function.node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
    ]
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None


class _Substitution(ast.NodeTransformer):
    """Replaces the parameters of a function by arguments, and other names of constants by the constants."""

    def __init__(self, function: Function, given: dict[str, ast.expr]) -> None:
        self.function = function
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.given:
            return deepcopy(self.given[node.id])
        scope = self.function.scope
        known = self.function.defaults.get(node.id, scope.get(node.id) if node.id in scope else None)
        return _constant(known) or node


def _constant(value: Value) -> ast.expr | None:
    """Return the expression of a constant."""
    if isinstance(value, bool | int | float | str):
        return ast.Constant(value)
    if isinstance(value, tuple | list):
        items = [_constant(item) for item in value]
        return None if None in items else ast.Tuple([item for item in items if item is not None], ast.Load())
    return None


__all__ = ["written_out"]
