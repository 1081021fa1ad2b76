"""What a text's names and lists are worth after code that is not evaluated: names that it may bind, and lists that it may change, are
unknown from then on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from ..script.reading.source import Source
from ..script.subset.bindings import (
    EVERY_NAME,
    assigned_in_expressions,
    bound_names,
    calls_in,
    changed_roots,
    global_names,
    is_certain,
    is_quiet,
    root_name,
)
from ..script.subset.scope import Unknown, Value
from .functions import BUILTINS
from .model import Attributes, Function, Runtime
from .python_values import is_mutable
from .reader import TEReader

_NOT_IN_FUNCTIONS = (ast.Global, ast.Nonlocal, ast.NamedExpr, ast.Yield, ast.YieldFrom)
_KEEPING = ("tvm", "te", "topi", "vta", "numpy", "np")
"""Modules whose functions do not change the lists that they get, except when they shuffle."""


class CertainReader(TEReader):
    """Forgets values that are not certain. `hidden` are names that functions of the text may bind."""

    def __init__(self, source: Source, sizes: Mapping[str, int], *, assumes: bool = False) -> None:
        super().__init__(source, sizes, assumes=assumes)
        self.hidden = global_names(source.nodes)
        self._has_rare = any(isinstance(node, _NOT_IN_FUNCTIONS) for node in source.nodes)

    def require_local(self, function: Function, node: ast.AST) -> None:
        """Require that calls of a function only return a value: it binds no names of other scopes, and is no generator."""
        for part in ast.walk(function.node) if self._has_rare else ():
            if isinstance(part, _NOT_IN_FUNCTIONS):
                line = self.source.place(part).line
                raise self.error(node, "unsupported", f"the function's line {line} is not part of the supported subset of Python",
                                 expected="a function that only returns a value")  # fmt: skip

    def settle(self, node: ast.stmt) -> None:
        """Forget what a statement outside of functions may bind besides what its reading defines."""
        if self._has_rare:
            self._forget_names(assigned_in_expressions(node), node)
        if self.hidden and not is_quiet(node):
            hidden = self.scope.names() if EVERY_NAME in self.hidden else self.hidden
            self._forget_names(hidden - (bound_names(node) if is_certain(node) else frozenset()), node)

    def forget(self, node: ast.AST) -> None:
        """Forget the values of the names, lists and dicts that code may change which is not evaluated."""
        names = bound_names(node)
        self._forget_names(self.scope.names() if EVERY_NAME in names else names, node)
        for root in changed_roots(node):
            self.forget_items(self.scope.get(root.id), node)
        for call in calls_in(node):
            self.forget_call(call)

    def forget_call(self, call: ast.Call) -> None:
        """Forget the lists and dicts that a call may change: those that it gets, or all if it calls or gets a function of the text."""
        if isinstance(call.func, ast.Name) and call.func.id in BUILTINS and call.func.id not in self.scope:
            return
        name = self.dotted(call.func) or ""
        if name.partition(".")[0] in _KEEPING and "shuffle" not in name:
            return
        given = (call.func, *call.args, *(keyword.value for keyword in call.keywords))
        values = [self.scope.get(root.id) for root in map(root_name, given) if root is not None]
        if any(isinstance(value, Function) for value in values):
            values = self.scope.values()
        for value in values:
            self.forget_items(value, call)

    def forget_items(self, value: Value, node: ast.AST) -> None:
        """Forget the items of a list or dict, and of those in it, under all of their names."""
        if is_mutable(value):
            self.changed[id(value)] = (value, node)
        for item in (
            value.values.values() if isinstance(value, Attributes) else value if isinstance(value, tuple) else ()
        ):
            self.forget_items(item, node)

    def _forget_names(self, names: Iterable[str], node: ast.AST) -> None:
        why = f"line {self.source.place(node).line} may change it"
        for name in names:
            if not isinstance(self.scope.get(name), Runtime):
                self.scope.define(name, Unknown(why))


__all__ = ["CertainReader"]
