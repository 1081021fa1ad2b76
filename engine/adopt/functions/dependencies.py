"""What a definition in functions depends on: names and code of the functions around it, from the form of their statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

import msgspec

from ...script.language import is_script
from ...script.subset.bindings import bound_names, changed_roots, free_names

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


class Dependencies(msgspec.Struct, frozen=True):
    """The `names` that decide what a definition is, and the `parts` of the text that use them. `calls_node`: the definition is a function
    that is called, not a program itself."""

    names: frozenset[str]
    parts: tuple[ast.AST, ...]
    calls_node: bool = False

    @staticmethod
    def of(around: Sequence[ast.stmt], node: ast.FunctionDef | ast.ClassDef | ast.Lambda) -> Dependencies:
        names, parts = free_names(node), list[ast.AST]([node])
        for function in reversed(around):
            if isinstance(function, ast.FunctionDef):
                _follow(function, names, parts, around=node)
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
        _follow(function, names, parts)
        return Dependencies(frozenset(names), tuple(parts))


def _follow(function: ast.FunctionDef, names: set[str], parts: list[ast.AST], around: ast.AST | None = None) -> None:
    """Add what the names depend on in the statements of a function, and the conditions around a definition."""
    pending = [*_statements(function.body)]
    taken = {a.arg for a in function.args.args[:1]}
    local = frozenset(name for node in pending for name in bound_names(node)) - taken
    size = -1
    while size != len(parts):
        size = len(parts)
        rest: list[ast.stmt] = []
        for node in pending:
            holds = (
                around is not None
                and node.lineno <= getattr(around, "lineno", 0) <= (node.end_lineno or 0)
                and any(part is around for part in ast.walk(node))
            )
            if holds and (isinstance(node, ast.FunctionDef | ast.ClassDef) or not hasattr(node, "body")):
                continue
            changed = frozenset[str]() if hasattr(node, "body") else _changed(node) & local
            concerned = bound_names(node) | changed
            if holds or concerned & names:
                heads = _heads(node)
                parts += heads
                for head in heads:
                    names |= free_names(head)
            else:
                rest.append(node)
        pending = rest


def _changed(node: ast.stmt) -> frozenset[str]:
    """Return the names of lists and objects that a simple statement changes, or whose methods it calls."""
    return frozenset({root.id for root in changed_roots(node)} | _updated(node))


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


def own_parts(node: ast.FunctionDef, is_end: Callable[[ast.AST], bool]) -> Iterator[ast.AST]:
    """Yield the parts of a function in order, without those inside the functions and classes that it defines, and inside ends."""
    pending: list[ast.AST] = [*reversed(node.body)]
    while pending:
        part = pending.pop()
        yield part
        if not isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not is_end(part):
            pending += reversed([*ast.iter_child_nodes(part)])


def changed_later(function: ast.FunctionDef, node: ast.AST, taken: Set[str]) -> dict[str, int]:
    """Return the names that a definition in a function uses and that statements after it change, with their lines. A name that only one
    statement binds, which is not among the parameters `taken`, has one value."""
    used, last = free_names(node), getattr(node, "end_lineno", 0)
    bound: dict[str, list[int]] = {name: [0] for name in taken}
    found: dict[str, int] = {}
    for part in _statements(function.body):
        for name in bound_names(part) if not hasattr(part, "body") else _head_names(part):
            bound.setdefault(name, []).append(part.lineno)
        if part.lineno > last and not hasattr(part, "body"):
            roots = {root.id for root in changed_roots(part)} | _updated(part)
            found |= dict.fromkeys(roots & used, part.lineno)
    return found | {n: max(at) for n, at in bound.items() if n in used and len(at) > 1 and max(at) > last}


def _head_names(node: ast.stmt) -> frozenset[str]:
    """Return the names that a compound statement binds itself."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return frozenset((node.name,))
    return frozenset(name for head in _heads(node) for name in bound_names(head))


def _updated(node: ast.stmt) -> set[str]:
    """Return the names of lists and dicts whose methods a statement calls, such as `sizes.append(4)`."""
    calls = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return {c.value.id for c in calls if isinstance(c, ast.Attribute) and isinstance(c.value, ast.Name)} - {
        "self",
        "te",
        "tvm",
    }


__all__ = ["Dependencies", "changed_later", "own_parts", "used_attributes"]
