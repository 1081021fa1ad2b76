"""What a definition in functions depends on: names and code of the functions around it, from the form of their statements."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence, Set

import msgspec

from ..script.language import is_script
from ..script.subset.bindings import bound_names, changed_names, free_names

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


class Dependencies(msgspec.Struct, frozen=True):
    """The `names` that decide what a definition is, and the `parts` of the text that use them. `calls_node`: the definition is a function
    that is called, not a program itself."""

    names: frozenset[str]
    parts: tuple[ast.AST, ...]
    calls_node: bool = False

    @staticmethod
    def of(around: Sequence[ast.stmt], node: ast.FunctionDef | ast.ClassDef) -> Dependencies:
        names, parts = free_names(node), list[ast.AST]([node])
        for function in reversed(around):
            if isinstance(function, ast.FunctionDef):
                _follow(function.body, names, parts, around=node)
        return Dependencies(frozenset(names), tuple(parts), not is_script(node))

    @staticmethod
    def of_attributes(function: ast.FunctionDef, attributes: Set[str]) -> Dependencies:
        """Return what the attributes depend on that a constructor sets."""
        names, parts = set[str](), list[ast.AST]()
        for node in _statements(function.body):
            stored = {p.attr for p in ast.walk(node) if isinstance(p, ast.Attribute) and isinstance(p.ctx, ast.Store)}
            if not hasattr(node, "body") and stored & attributes:
                names |= free_names(node)
                parts.append(node)
        _follow(function.body, names, parts)
        return Dependencies(frozenset(names), tuple(parts))


def _follow(body: Sequence[ast.stmt], names: set[str], parts: list[ast.AST], around: ast.AST | None = None) -> None:
    """Add what the names depend on in the statements of a function, and the conditions around a definition."""
    pending = [*_statements(body)]
    size = -1
    while size != len(parts):
        size = len(parts)
        rest: list[ast.stmt] = []
        for node in pending:
            holds = around is not None and any(part is around for part in ast.walk(node))
            if holds and isinstance(node, ast.FunctionDef | ast.ClassDef):
                continue
            concerned = bound_names(node) | (changed_names(node) if not hasattr(node, "body") else frozenset())
            if holds or concerned & names:
                heads = _heads(node)
                parts += heads
                for head in heads:
                    names |= free_names(head)
            else:
                rest.append(node)
        pending = rest


def _heads(node: ast.stmt) -> list[ast.AST]:
    """Return the parts of a statement without the statements in it; a function as a whole."""
    if isinstance(node, ast.FunctionDef):
        return [node]
    if not hasattr(node, "body"):
        return [node]
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr | ast.withitem)]


def _statements(body: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """Yield the statements of a block and of the blocks in it, without those of functions and classes."""
    for node in body:
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in _BLOCKS:
                yield from _statements(getattr(node, field, ()))


def used_attributes(node: ast.ClassDef, name: str, parts: Sequence[ast.AST]) -> set[str]:
    """Return the attributes of an object that code uses under a name, also through the methods of its class."""
    methods = {p.name: p for p in node.body if isinstance(p, ast.FunctionDef)}
    found: set[str] = set()
    pending: list[tuple[str, ast.AST]] = [(name, part) for part in parts]
    while pending:
        known, part = pending.pop()
        for inner in ast.walk(part):
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id == known:
                method = methods.get(inner.attr)
                if method is not None and inner.attr not in found and method.args.args:
                    pending.append((method.args.args[0].arg, method))
                found.add(inner.attr)
    return found


def own_parts(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the parts of a function without the functions and classes that it defines."""
    pending: list[ast.AST] = [*node.body]
    while pending:
        part = pending.pop()
        yield part
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            pending += ast.iter_child_nodes(part)


__all__ = ["Dependencies", "own_parts", "used_attributes"]
