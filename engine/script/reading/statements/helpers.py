"""Functions of the text that programs call as statements: `def local(dtype): return T.alloc_buffer((1,), dtype)` is written out, and
`@T.macro` and `@T.inline` functions are read with their statements."""

from __future__ import annotations

import ast
from collections.abc import Generator
from contextlib import contextmanager
from copy import deepcopy

from ...subset.bindings import free_names
from ...subset.scope import Scope, Value
from ...subset.values import Function
from ..expressions import ExpressionReader


def written_out(reader: ExpressionReader, node: ast.expr, scope: Scope | None = None) -> ast.expr:
    """Return the call of T, or the tuple of such calls, that a call of a function of the text stands for; other nodes as they are. The
    function's name is one of `scope`, by default of the program's."""
    if reader.around is None or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return node
    function = (scope or reader.scope).get(node.func.id)
    result = _result(function) if isinstance(function, Function) else None
    if not isinstance(function, Function) or not isinstance(result, ast.Call | ast.IfExp | ast.Tuple):
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
    items = [
        written_out(reader, part, function.scope) for part in (found.elts if isinstance(found, ast.Tuple) else [found])
    ]
    if not items or any(not isinstance(part, ast.Call) or reader.called(part) is None for part in items):
        return node
    found = ast.Tuple(items, ast.Load()) if isinstance(found, ast.Tuple) else items[0]
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


def declaring(
    reader: ExpressionReader, node: ast.Assign, names: list[ast.Name]
) -> tuple[Function, list[ast.Assign]] | None:
    """Return the function of the text that `names = function(…)` calls, and its assignments, if it declares buffers and returns them: what
    it returns has the caller's names."""
    call = node.value
    if reader.around is None or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None
    function = reader.scope.get(call.func.id)
    if (
        not isinstance(function, Function)
        or not isinstance(function.node, ast.FunctionDef)
        or function.node.decorator_list
    ):
        return None
    *assigned, last = [
        part for part in function.node.body if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
    ]
    result = last.value if isinstance(last, ast.Return) else None
    items = result.elts if isinstance(result, ast.Tuple) else [result]
    returned = [item.id for item in items if isinstance(item, ast.Name)]
    local = {
        part.targets[0].id
        for part in assigned
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name)
    }
    if (
        len(local) != len(assigned)
        or len(set(returned)) != len(items)
        or len(items) != len(names)
        or not {*returned} <= local
    ):
        return None
    renamed = dict(zip(returned, [name.id for name in names], strict=True))
    if {*renamed.values()} & (local - {*returned}):
        return None
    body = [_Renaming(renamed).visit(deepcopy(part)) for part in assigned if isinstance(part, ast.Assign)]
    for part in body:
        for inner in ast.walk(part):
            ast.copy_location(inner, node)
    return function, body


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


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


def as_store(reader: ExpressionReader, node: ast.expr) -> ast.Assign | None:
    """Return `T.buffer_store(A, value, [i, j])` as `A[i, j] = value`, and so the older `T.store(A, i, value)`; None for others."""
    match node:
        case ast.Call(args=[buffer, index, value], keywords=[]) if reader.called(node) == "T.store":
            target = ast.Subscript(buffer, index, ast.Store())
            return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], value), node))
        case ast.Call(args=[buffer, value, indices], keywords=[]) if reader.called(node) == "T.buffer_store":
            target = reader.element_node(buffer, indices, ast.Store())
            return ast.fix_missing_locations(ast.copy_location(ast.Assign([target], value), node))
        case _:
            return None


def bare_type(node: ast.expr) -> ast.expr:
    """Return T.int32 for the type `T.int32()`; other types as they are."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name) as made, args=[], keywords=[]) if name != "handle":
            return made
        case _:
            return node


# --- macros

MAX_MACROS = 16
"""Maximum number of macros that call each other."""
_MACROS = ("T.macro", "T.inline")


def macro_of(reader: ExpressionReader, node: ast.expr) -> Function | None:
    """Return the macro that a statement calls."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    function = reader.scope.get(node.func.id)
    return function if isinstance(function, Function) and _macro_decorator(reader, function) is not None else None


@contextmanager
def in_macro(reader: ExpressionReader, macro: Function, call: ast.Call) -> Generator[None]:
    """Give the parameters of a macro their values, and its other names those of its definition, or of the call if it is not hygienic."""
    values = _macro_arguments(reader, macro, call)
    outer, scope = reader.scope, Scope()
    if not _is_hygienic(reader, macro):
        scope = reader.scope.opened("function")
    for name in free_names(macro.node):
        known = macro.scope.get(name) if name in macro.scope else None
        if known is not None and name not in scope:
            scope.define(name, known)
    for name, value in values.items():
        scope.define(name, value)
    reader.scope = scope
    reader.macros += 1
    try:
        if reader.macros > MAX_MACROS:
            raise reader.error(call, "too-deep", "macros call each other too deeply", expected=f"at most {MAX_MACROS}")
        yield
    finally:
        reader.macros -= 1
        reader.scope = outer


def _macro_decorator(reader: ExpressionReader, macro: Function) -> ast.expr | None:
    if not isinstance(macro.node, ast.FunctionDef):
        return None
    for decorator in macro.node.decorator_list:
        if reader.script_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in _MACROS:
            return decorator
    return None


def _is_hygienic(reader: ExpressionReader, macro: Function) -> bool:
    decorator = _macro_decorator(reader, macro)
    options = decorator.keywords if isinstance(decorator, ast.Call) else []
    return all(isinstance(option.value, ast.Constant) and option.value.value is True for option in options)


def _macro_arguments(reader: ExpressionReader, macro: Function, call: ast.Call) -> dict[str, Value]:
    """Return the values of a macro's parameters. Raises "wrong-arguments"."""
    names = [argument.arg for argument in macro.node.args.args]
    given: dict[str, ast.expr] = dict(zip(names, call.args, strict=False))
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    starred = [a for a in call.args if isinstance(a, ast.Starred)] or len(named) != len(call.keywords)
    rest = macro.node.args.vararg or macro.node.args.kwarg or macro.node.args.kwonlyargs
    missing = [n for n in names if n not in given and n not in named and n not in macro.defaults]
    if (
        starred
        or rest
        or missing
        or len(call.args) > len(names)
        or given.keys() & named
        or not named.keys() <= {*names}
    ):
        raise reader.error(call, "wrong-arguments", f"{macro.name} takes ({', '.join(names)})",
                           expected="a value for each parameter")  # fmt: skip
    values = {name: reader.value(node) for name, node in (given | named).items()}
    return {**macro.defaults, **values}


__all__ = ["as_store", "bare_type", "declaring", "in_macro", "macro_of", "written_out"]
