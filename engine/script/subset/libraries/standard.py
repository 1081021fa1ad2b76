"""Functions of Python's own modules that constants decide: `math`, `functools`, `itertools`, `dataclasses`."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from ..builtins import applied, collected
from ..core import Evaluator, ReadCall
from ..scope import Unknown, Value
from ..targets import items
from ..values import Field, RecordType, TypeVariable


def _known(run: Evaluator, node: ast.Call) -> list[Value] | None:
    """Return the arguments of a function without keywords; None if one is not known."""
    found = items(run, node.args)
    if node.keywords or not found or any(isinstance(value, Unknown) for value in found):
        return None
    return found


def _of_numbers(compute: Callable[..., Any]) -> ReadCall:
    def read(run: Evaluator, node: ast.Call) -> Value:
        args = _known(run, node)
        if args is None or not all(isinstance(value, int | float) for value in args):
            return run.runs(node)
        try:
            found = compute(*args)
        except (ValueError, TypeError, OverflowError):
            raise run.error(node, "out-of-range", "this function has no value here", expected="other numbers") from None
        return found if isinstance(found, int | float) and abs(found) < 2**63 else run.runs(node)

    return read


def _product(run: Evaluator, node: ast.Call) -> Value:
    args = _known(run, node)
    if args is None or len(args) != 1:
        return run.runs(node)
    total: int | float = 1
    for item in collected(run, args[0], node):
        if not isinstance(item, int | float):
            return run.runs(node)
        total = run.dialect.fold(ast.Mult(), total, item)
    return total


def _reduce(run: Evaluator, node: ast.Call) -> Value:
    args = _known(run, node)
    if args is None or not 2 <= len(args) <= 3:
        return run.runs(node, args or ())
    found = collected(run, args[1], node)
    if len(args) == 2 and not found:
        raise run.error(node, "out-of-range", "there are no items", expected="a list with items")
    total = args[2] if len(args) > 2 else found.pop(0)
    for item in found:
        total = applied(run, args[0], (total, item), node)
    return total


def _pairs(run: Evaluator, node: ast.Call) -> Value:
    args = _known(run, node)
    if args is None:
        return run.runs(node)
    lists = [collected(run, value, node) for value in args]
    run.budget.require_items(math.prod(map(len, lists)), node)
    return run.new(tuple(itertools.product(*lists)), node)


def _field(run: Evaluator, node: ast.Call) -> Value:
    """Read `dataclasses.field(default_factory=list)`."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    factory = given.get("default_factory")
    if factory is not None:
        name = factory.id if isinstance(factory, ast.Name) and factory.id not in run.scope else ""
        return Field(factory=name if name in ("list", "dict", "tuple") else run.value(factory))
    return Field(run.value(given["default"]), has_default=True) if "default" in given else Field()


def _named_tuple(run: Evaluator, node: ast.Call) -> Value:
    """Read `namedtuple("Point", ["x", "y"])` and `namedtuple("Point", "x y")`."""
    found = _known(run, node)
    if found is None or len(found) != 2 or not isinstance(found[0], str):
        return run.passed_call(node, keeps=True)
    names = found[1].replace(",", " ").split() if isinstance(found[1], str) else collected(run, found[1], node)
    fields = tuple(name for name in names if isinstance(name, str) and name.isidentifier())
    return RecordType(found[0], fields) if len(fields) == len(names) else run.passed_call(node, keeps=True)


def type_variable(run: Evaluator, node: ast.Call) -> Value:
    """Read `TypeVar("n")`."""
    run.passed_call(node, keeps=True)
    return TypeVariable()


FUNCTIONS: Mapping[str, ReadCall] = {
    "collections.namedtuple": _named_tuple,
    "dataclasses.field": _field,
    "functools.reduce": _reduce,
    "itertools.product": _pairs,
    "math.ceil": _of_numbers(math.ceil),
    "math.exp": _of_numbers(math.exp),
    "math.floor": _of_numbers(math.floor),
    "math.gcd": _of_numbers(math.gcd),
    "math.lcm": _of_numbers(math.lcm),
    "math.log": _of_numbers(math.log),
    "math.log2": _of_numbers(math.log2),
    "math.pow": _of_numbers(math.pow),
    "math.sqrt": _of_numbers(math.sqrt),
    "math.isqrt": _of_numbers(math.isqrt),
    "math.prod": _product,
    "typing.TypeVar": type_variable,
}
"""Functions of Python's modules by dotted name."""

CONSTANTS: Mapping[str, bool | int | float] = {
    "math.e": math.e,
    "math.inf": math.inf,
    "math.pi": math.pi,
    "sys.maxsize": 2**63 - 1,
    "typing.TYPE_CHECKING": False,
}
"""Constants of Python's modules by dotted name."""

__all__ = ["CONSTANTS", "FUNCTIONS", "type_variable"]
