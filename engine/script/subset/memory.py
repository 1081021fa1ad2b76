"""What the names, lists and objects of a text are worth after code that is not evaluated: what it may change is unknown from then on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from ..reading.source import Source
from .bindings import EVERY_NAME, bound_names, calls_in, changed_roots, free_names, global_names, root_name
from .scope import Scope, Unknown, Value
from .values import (
    Array,
    Bound,
    Class,
    Definition,
    Function,
    Instance,
    Module,
    TextModule,
    is_mutable,
    parts,
    reachable,
)

MAX_VALUES = 100_000
"""Maximum number of values that are searched for those that code may change."""


class Memory:
    """The state of what is known. `hidden` are names that functions of the text bind in other scopes; `made` are all lists, dicts and
    objects of the text; `changed` has those that other code may have changed, with that code."""

    def __init__(self, source: Source, keeps: Callable[[ast.Call], bool]) -> None:
        """Create a memory; `keeps` says of a call that its function changes nothing that it gets."""
        self.source = source
        self.keeps = keeps
        self.hidden = global_names(source.nodes)
        self.made: list[Value] = []
        self.changed: dict[int, tuple[Value, ast.AST]] = {}
        self.events = 0  # operations of code that is not evaluated
        self._escaped: dict[int, Value] = {}  # functions and objects of the text that such code has
        self._used: dict[ast.AST, frozenset[str]] = {}
        self._scopes: list[Scope] | None = [] if any(isinstance(n, ast.Nonlocal) for n in source.nodes) else None

    def opened(self, scope: Scope) -> Scope:
        """Record the scope of a call, whose names functions in it may bind."""
        if self._scopes is not None:
            self._scopes.append(scope)
        return scope

    def why(self, node: ast.AST) -> str:
        return f"line {self.source.place(node).line} may change it"

    def change_of(self, value: Value) -> ast.AST | None:
        """Return the code that may have changed a list, dict or object; None if no code has."""
        found = self.changed.get(id(value)) if self.changed else None
        if found is None and isinstance(value, Array):
            found = self.changed.get(id(value.base))
        return None if found is None else found[1]

    def ran(self, scope: Scope, node: ast.AST, given: Iterable[Value] = (), *, keeps: bool = False) -> None:
        """Record that other code ran: it may change the values that it was `given`, unless it `keeps` them, and it may call functions of
        the text that it was given now or earlier."""
        self.events += 1
        for value in given:
            for part in reachable(value, MAX_VALUES):
                if isinstance(part, Function | Bound | Class | Instance):
                    self._escaped[id(part)] = part
                if is_mutable(part) and not keeps:
                    self.changed[id(part)] = (part, node)
        if self._escaped or EVERY_NAME in self.hidden:
            self._forget_hidden(scope, node, self._escaped.values())

    def forget(self, scope: Scope, node: ast.AST, why: str = "", origin: str = "") -> None:
        """Forget the values of the names, lists and objects that a piece of code may change which is not evaluated."""
        self.events += 1
        names = bound_names(node)
        binds_any = EVERY_NAME in names or (EVERY_NAME in self.hidden and EVERY_NAME in global_names(ast.walk(node)))
        self.forget_names(scope, scope.all_names() if binds_any else names, node, why, origin)
        for root in changed_roots(node):
            self._forget_items(scope.get(root.id), node)
        for call in calls_in(node):
            self._forget_call(scope, call)

    def forget_names(self, scope: Scope, names: Iterable[str], node: ast.AST, why: str = "", origin: str = "") -> None:
        for name in names:
            unknown = Unknown(why or self.why(node), origin or name)
            if not isinstance(scope.get(name), Module) or name in bound_names(node):
                if name in scope:
                    scope.forget([name], unknown)
                else:
                    scope.define(name, unknown)

    def _forget_call(self, scope: Scope, call: ast.Call) -> None:
        """Forget what a call may change: the lists and objects that it gets, or all if it calls or gets a function of the text."""
        if self.keeps(call):
            return
        given = (call.func, *call.args, *(keyword.value for keyword in call.keywords))
        values = [scope.get(root.id) for root in map(root_name, given) if root is not None]
        called = [value for value in values if isinstance(value, Function | Bound | Class | Instance)]
        if called:
            self._forget_hidden(scope, call, called)
        for value in values:
            self._forget_items(value, call)

    def _forget_items(self, value: Value, node: ast.AST) -> None:
        for part in reachable(value, MAX_VALUES):
            if is_mutable(part):
                self.changed[id(part)] = (part, node)

    def _forget_hidden(self, scope: Scope, node: ast.AST, functions: Iterable[Value]) -> None:
        """Forget all that functions of the text may change: names that they declare, and lists and objects that they can reach."""
        for known in (scope, *(self._scopes or ())):
            names = known.all_names() if EVERY_NAME in self.hidden else self.hidden & known.all_names()
            for name in names:
                if not isinstance(known.get(name), Module):
                    known.forget([name], Unknown(self.why(node)))
        reached = None if EVERY_NAME in self.hidden else self._reached(functions)
        for value in self.made:
            if reached is None or id(value) in reached:
                self.changed.setdefault(id(value), (value, node))

    def _reached(self, functions: Iterable[Value]) -> set[int] | None:
        """Return the ids of the values that functions and objects can reach through the names that their code uses; None for too many."""
        seen: dict[int, Value] = {}
        pending = [*functions]
        while pending:
            value = pending.pop()
            if id(value) in seen:
                continue
            if len(seen) >= MAX_VALUES:
                return None
            seen[id(value)] = value
            pending += parts(value)
            if isinstance(value, TextModule):
                pending += (value.scope.peek(name) for name in value.scope.all_names())
            elif isinstance(value, Function):
                pending += (value.scope.peek(name) for name in self._names_of(value.node))
                pending += () if value.owner is None else (value.owner,)
            elif isinstance(value, Instance):
                pending.append(value.of)
            elif isinstance(value, Class):
                pending += value.bases
        return {*seen}

    def _names_of(self, node: Definition) -> Iterable[str]:
        """Return the names that a function uses; cached."""
        if node not in self._used:
            self._used[node] = frozenset(free_names(node))
        return self._used[node]


__all__ = ["Memory"]
