"""Macros of TVMScript: `@T.macro` and `@T.inline` functions, whose statements a call stands for."""

from __future__ import annotations

import ast
from collections.abc import Generator
from contextlib import contextmanager

from ..subset.bindings import free_names
from ..subset.scope import Scope, Value
from ..subset.values import Function, Module
from .expressions import ExpressionReader

MAX_MACROS = 16
"""Maximum number of macros that call each other."""
_DECORATORS = ("T.macro", "T.inline")


def macro_of(reader: ExpressionReader, node: ast.expr) -> Function | None:
    """Return the macro that a statement calls."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    function = reader.scope.get(node.func.id)
    return function if isinstance(function, Function) and _decorator(reader, function) is not None else None


@contextmanager
def in_macro(reader: ExpressionReader, macro: Function, call: ast.Call) -> Generator[None]:
    """Give the parameters of a macro their values, and its other names those of its definition, or of the call if it is not hygienic."""
    values = _arguments(reader, macro, call)
    outer, scope = reader.scope, Scope()
    if not _is_hygienic(reader, macro):
        scope = reader.scope.opened("function")
    for name in free_names(macro.node):
        known = macro.scope.get(name) if name in macro.scope else None
        if known is not None and not isinstance(known, Module) and name not in scope:
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


def _decorator(reader: ExpressionReader, macro: Function) -> ast.expr | None:
    if not isinstance(macro.node, ast.FunctionDef):
        return None
    for decorator in macro.node.decorator_list:
        if reader.script_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in _DECORATORS:
            return decorator
    return None


def _is_hygienic(reader: ExpressionReader, macro: Function) -> bool:
    decorator = _decorator(reader, macro)
    options = decorator.keywords if isinstance(decorator, ast.Call) else []
    return all(isinstance(option.value, ast.Constant) and option.value.value is True for option in options)


def _arguments(reader: ExpressionReader, macro: Function, call: ast.Call) -> dict[str, Value]:
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


__all__ = ["in_macro", "macro_of"]
