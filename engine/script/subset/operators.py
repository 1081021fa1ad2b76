"""Python's operators on values: arithmetic, comparisons, keys of dicts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...ir import Expr, Var
from . import constants
from .core import Evaluator
from .libraries.arrays import operated
from .scope import Foreign, Unknown, Value
from .values import Array, Class, Function, Instance, Module, parts


def is_plain(value: Value) -> bool:
    """Whether a value is one of Python's own."""
    return value is None or isinstance(value, bool | int | float | str | tuple | list | dict | range)


def operate(run: Evaluator, node: ast.BinOp, a: Value, b: Value) -> Value:
    """Return `a op b` of two values; `node` has the operator."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return run.runs(node, (a, b), keeps=True)
    if isinstance(a, int | float) and isinstance(b, int | float):
        try:
            return run.dialect.fold(node.op, a, b)
        except ValueError as error:
            raise run.error(node, "out-of-range", str(error)) from None
    if isinstance(a, str | tuple | list) and isinstance(node.op, ast.Add):
        return _joined(run, node, a, b)
    if isinstance(node.op, ast.Mult) and {type(a), type(b)} & {str, tuple, list}:
        return _repeated(run, node, *((a, b) if isinstance(a, str | tuple | list) else (b, a)))
    if isinstance(a, str) and isinstance(node.op, ast.Mod):
        return _formatted(run, node, a, b)
    if isinstance(a, Array) or isinstance(b, Array):
        return operated(run, node, a, b)
    return run.dialect.binary(run, node, a, b)


def _formatted(run: Evaluator, node: ast.BinOp, text: str, given: Value) -> Value:
    """Return `"A%d" % 4` of integers and strings; one of other values is for printing."""
    items = given if isinstance(given, tuple) else (given,)
    directives = re.findall(r"%(.)", text)
    if len(directives) != len(items) or not all(
        (isinstance(item, int) and letter in "ds") or (isinstance(item, str) and letter == "s")
        for item, letter in zip(items, directives, strict=True)
    ):
        return run.runs(node)
    found = text % items
    run.budget.require_text(len(found), node)
    return found


def _joined(run: Evaluator, node: ast.BinOp, a: str | tuple[Value, ...] | list[Value], b: Value) -> Value:
    if isinstance(a, str) and isinstance(b, str):
        run.budget.require_text(len(a) + len(b), node)
        return a + b
    if isinstance(a, tuple) and isinstance(b, tuple):
        return run.new(a + b, node)
    if isinstance(a, tuple | list) and isinstance(
        b, tuple | list
    ):  # TVM's arrays, tuples here, can be joined with lists
        return run.new([*a, *b], node)
    raise run.error(node, "wrong-type", "a list and another value cannot be joined", expected="two lists")


def _repeated(run: Evaluator, node: ast.BinOp, items: Any, count: Value) -> Value:
    if not isinstance(count, int):
        raise run.error(node, "wrong-type", "a list or string is repeated by an integer", expected="[0] * 4")
    if isinstance(items, str):
        run.budget.require_text(len(items) * max(count, 0), node)
        return items * count
    run.budget.require_items(len(items) * max(count, 0), node)
    return run.new(items * count, node)


def compared(run: Evaluator, node: ast.Compare, op: ast.cmpop, a: Value, b: Value) -> Value:
    """Return `a op b` for one comparison."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return run.runs(node)
    positive = isinstance(op, ast.Is | ast.In | ast.Eq)
    if (isinstance(a, Array) or isinstance(b, Array)) and not isinstance(op, ast.Is | ast.IsNot):
        return run.runs(node)  # an array of truths
    if isinstance(op, ast.Is | ast.IsNot):
        if _is_open(a, b):
            return run.runs(node)
        try:
            return _is_same(a, b) == positive
        except ValueError as error:
            raise run.error(node, "unsupported", str(error), expected="==") from None
    if isinstance(op, ast.In | ast.NotIn):
        found = _has(run, node, a, b)
        return run.runs(node) if found is None else found == positive
    if isinstance(op, ast.Eq | ast.NotEq):
        same = equal(run, node, a, b)
        if isinstance(same, Unknown) or same is not None:
            return same if isinstance(same, Unknown) else same == positive
    elif is_plain(a) and is_plain(b):
        run.budget.require_small(a, node)
        run.budget.require_small(b, node)
        if isinstance(a, tuple | list) and type(a) is type(b):
            return _ordered(run, node, op, a, b)  # pyright: ignore[reportArgumentType]
        try:
            return constants.compare(op, a, b)
        except ValueError as error:
            raise run.error(node, "wrong-type", str(error)) from None
    return run.dialect.compare(run, node, op, a, b)


def _ordered(run: Evaluator, node: ast.Compare, op: ast.cmpop, a: Sequence[Value], b: Sequence[Value]) -> Value:
    """Compare lists by their first items that differ."""
    for x, y in zip(a, b, strict=False):
        same = equal(run, node, x, y)
        if same is None or isinstance(same, Unknown):
            raise run.error(node, "wrong-type", "these lists cannot be compared", expected="lists of constants")
        if not same:
            return compared(run, node, op, x, y)
    return constants.compare(op, len(a), len(b))


def _is_same(a: Value, b: Value) -> bool:
    if any(isinstance(value, Foreign | list | dict) for value in (a, b)):
        if isinstance(a, Module) and isinstance(b, Module):
            return a == b
        return a is b
    return constants.is_same(a, b)


def equal(run: Evaluator, node: ast.AST, a: Value, b: Value) -> bool | Unknown | None:
    """Return the truth of `a == b`; None if the dialect must tell."""
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        return run.runs(node)
    if is_plain(a) and is_plain(b):
        run.budget.require_small(a, node)
        run.budget.require_small(b, node)
        inside = [part for value in (a, b) for part in _deep(value)]
        if any(isinstance(part, Unknown) for part in inside):
            return run.runs(node)
        if not any(isinstance(part, Instance | Expr) for part in inside):
            return a == b
        return None
    if any(isinstance(value, Instance) and value.of.members for value in (a, b)):
        return a is b if not (_is_open(a, b) or isinstance(a, Expr) or isinstance(b, Expr)) else run.runs(node)
    named = Function | Class | Module
    if isinstance(a, named) or isinstance(b, named) or a is None or b is None:
        if _is_open(a, b):
            return run.runs(node)
        return a == b if isinstance(a, Module) and isinstance(b, Module) else a is b
    return None


def _is_open(a: Value, b: Value) -> bool:
    """Whether one of two values is a name of another module, which may be any constant, and the other is not the same name."""
    names = [value.name for value in (a, b) if isinstance(value, Module)]
    return any("." in name for name in names) and len({*names}) + 2 - len(names) > 1


def _deep(value: Value) -> Iterator[Value]:
    pending = [value]
    while pending:
        found = pending.pop()
        yield found
        if isinstance(found, tuple | list | dict):
            pending.extend(parts(found))


def _has(run: Evaluator, node: ast.Compare, item: Value, owner: Value) -> bool | None:
    """Return the truth of `item in owner`; None if only running the code decides it."""
    if isinstance(owner, str) and isinstance(item, str):
        return item in owner
    if isinstance(owner, dict):
        return key(run, item, node) in owner
    found = run.iterate(owner, node)
    for other in found if found is not None else ():
        same = item is other or equal(run, node, item, other)
        same = run.dialect.is_same(item, other) if same is None else same
        if same is None:
            raise run.error(node, "wrong-type", "these values cannot be compared", expected="constants")
        if isinstance(same, Unknown):
            return None
        if same:
            return True
    return None if found is None else False


def key(run: Evaluator, value: Value, node: ast.AST) -> Value:
    """Return a value as a dict's key: a constant, or an object of the text. Raises "unsupported"."""
    simple = value is None or isinstance(value, bool | int | float | str | Var)
    if not simple and isinstance(value, tuple):
        simple = len(value) <= 64 and all(v is None or isinstance(v, bool | int | float | str) for v in value)
    if not simple and (not isinstance(value, Foreign) or isinstance(value, Unknown)):
        raise run.error(node, "unsupported", "keys must be constants", expected='{"key": value}')
    return value


__all__ = ["compared", "equal", "is_plain", "key", "operate"]
