"""Python's builtin functions, as far as constants decide their results. Others, such as `open`, are passed over."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from ...ir import IntImm
from .calls import called
from .core import Evaluator, ReadCall
from .libraries.options import count_of_arguments
from .methods import ordered
from .operators import key
from .scope import Unknown, Value
from .targets import items
from .values import Array, Bound, Class, Function, Instance, Lazy, Module, View

_RUNNING = (
    "print", "get_ipython", "display", "type", "repr", "help", "input", "open", "exit", "quit", "id", "hash", "iter", "next", "hasattr",
    "issubclass", "bytes", "bytearray", "memoryview", "set", "frozenset", "complex", "object", "vars", "dir", "format", "chr", "ord",
    "hex", "oct", "bin", "breakpoint", "callable", "eval", "exec", "compile", "globals", "locals", "setattr", "delattr", "__import__",
)  # fmt: skip
"""Builtins that have no part in a program, or whose results are not evaluated."""
_CHANGING = ("next", "setattr", "delattr", "eval", "exec", "iter")


def _passed(name: str) -> ReadCall:
    def read(run: Evaluator, node: ast.Call) -> Value:
        return run.passed_call(node, keeps=name not in _CHANGING)

    return read


def _args(run: Evaluator, node: ast.Call, least: int = 1, most: int = 1, *names: str) -> list[Value] | None:
    """Return the arguments of a builtin; None if one of them is not known."""
    found = items(run, node.args)
    if not least <= len(found) <= most or any(keyword.arg not in names for keyword in node.keywords):
        raise run.error(node, "wrong-arguments", "these are not the arguments of this function",
                        expected=f"{least} to {most} arguments")  # fmt: skip
    return None if any(isinstance(value, Unknown) for value in found) else found


def _keyword(run: Evaluator, node: ast.Call, name: str) -> Value:
    return next((run.value(keyword.value) for keyword in node.keywords if keyword.arg == name), None)


def collected(run: Evaluator, value: Value, node: ast.AST) -> list[Value]:
    """Return the items of a value. Raises "too-large"."""
    found: list[Value] = []
    for item in run.iterate(run.require_known(value, node), node) or ():
        found.append(item)
        run.budget.require_items(len(found), node)
    return found


def _length(run: Evaluator, node: ast.Call) -> Value:
    if len(node.args) == 1 and run.dotted(node.args[0]) == "sys.argv":
        return count_of_arguments(run)
    args = _args(run, node)
    if args is None:
        return run.runs(node)
    if isinstance(args[0], View):
        return len(args[0].owner)
    if isinstance(args[0], Array) and args[0].data.ndim:
        return len(args[0].data)
    if not isinstance(args[0], tuple | list | dict | str | range):
        return run.dialect.builtin(run, "len", args, node)
    return len(args[0])


def _number(kind: type[int] | type[float] | type[bool]) -> ReadCall:
    def read(run: Evaluator, node: ast.Call) -> Value:
        args = _args(run, node, 0)
        if args is None:
            return run.runs(node)
        value = args[0] if args else 0
        value = value.value if isinstance(value, IntImm) else value
        if kind is bool:
            truth = run.truth_of(value, node)
            return run.runs(node) if truth is None else truth
        if isinstance(value, str) and len(value) <= 20:
            with suppress(ValueError):
                value = kind(value)
        if kind is float and isinstance(value, float) and not math.isfinite(value):
            return value
        if not isinstance(value, int | float) or not abs(value) <= 2**63:
            raise run.error(node, "wrong-type", "only constants can be converted to numbers", expected="a number")
        return kind(value)

    return read


def _sequence(kind: type[list[Value]] | type[tuple[Value, ...]]) -> ReadCall:
    def read(run: Evaluator, node: ast.Call) -> Value:
        args = _args(run, node, 0)
        if args is None:
            return run.runs(node)
        return run.new(kind(collected(run, args[0], node) if args else ()), node)

    return read


def _dict(run: Evaluator, node: ast.Call) -> Value:
    args = items(run, node.args)
    found: dict[Value, Value] = {}
    if args and isinstance(args[0], dict):
        found |= args[0]
    else:
        for pair in collected(run, args[0], node) if args else ():
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise run.error(node, "wrong-type", "a dict is made of pairs", expected="dict(a=1)")
            found[key(run, run.require_known(pair[0], node), node)] = pair[1]
    for keyword in node.keywords:
        if keyword.arg is None:
            raise run.error(node, "unsupported", "** is not supported here", expected="dict(a=1)")
        found[keyword.arg] = run.value(keyword.value)
    return run.new(found, node)


def _range(run: Evaluator, node: ast.Call) -> Value:
    ends = [run.number(argument) for argument in node.args]
    if not 1 <= len(ends) <= 3 or ends[2:] == [0] or node.keywords:
        raise run.error(node, "wrong-arguments", "a range needs one to three numbers", expected="range(4)")
    found = range(*ends)
    run.budget.require_items(len(found), node)
    return found


def _iterators(run: Evaluator, node: ast.Call, values: list[Value]) -> list[Iterator[Value]]:
    found: list[Iterator[Value]] = []
    for value in values:
        made = run.iterate(run.require_known(value, node), node)
        assert made is not None
        found.append(made)
    return found


def _lazy(combine: Callable[..., Iterable[Value]]) -> ReadCall:
    """Return a reader of a function of lists whose result gives its items once, such as `zip`."""

    def read(run: Evaluator, node: ast.Call) -> Value:
        args = items(run, node.args)
        if any(isinstance(value, Unknown) for value in args):
            return run.runs(node, args)
        if not args or node.keywords:
            raise run.error(node, "wrong-arguments", "this function needs lists", expected="lists")
        return Lazy(iter(combine(*_iterators(run, node, args))))

    return read


def _enumerate(run: Evaluator, node: ast.Call) -> Value:
    args, start = _args(run, node, 1, 2, "start"), _keyword(run, node, "start")
    if args is None:
        return run.runs(node)
    first = args[1] if len(args) > 1 else start or 0
    if not isinstance(first, int):
        raise run.error(node, "wrong-type", "the start must be an integer", expected="enumerate(items)")
    return Lazy(iter(enumerate(_iterators(run, node, args[:1])[0], first)))


def _backwards(run: Evaluator, node: ast.Call) -> Value:
    args = _args(run, node)
    if args is None:
        return run.runs(node)
    if not isinstance(args[0], tuple | list | str | range):
        raise run.error(node, "wrong-type", "only a list can be reversed", expected="a list")
    return Lazy(reversed(args[0]))


def _map(run: Evaluator, node: ast.Call) -> Value:
    args = items(run, node.args)
    if len(args) < 2 or any(isinstance(value, Unknown) for value in args):
        return run.runs(node, args)
    if not isinstance(args[0], Function | Bound | Class | Module):
        raise run.error(
            node, "unsupported", "only functions of the text and of modules are applied to lists", expected="a list"
        )
    return Lazy(applied(run, args[0], values, node) for values in zip(*_iterators(run, node, args[1:]), strict=False))


def applied(run: Evaluator, function: Value, args: Sequence[Value], node: ast.Call) -> Value:
    """Call a function with values, one of the text or of a module."""
    if not isinstance(function, Module):
        return called(run, function, args, node)
    scope = run.scope.opened("comprehension")
    scope.define("function", function)
    names = [f"value_{number}" for number in range(len(args))]
    for name, value in zip(names, args, strict=True):
        scope.define(name, value)
    call = ast.parse(f"function({', '.join(names)})", mode="eval").body
    for part in ast.walk(call):
        ast.copy_location(part, node)
    with run.inside(scope):
        return run.value(call)


def _decided(is_all: bool) -> ReadCall:
    """Return a reader of `all` or `any`, which end at the first item that decides."""

    def read(run: Evaluator, node: ast.Call) -> Value:
        args = _args(run, node)
        found = None if args is None else run.iterate(args[0], node)
        if found is None:
            return run.runs(node)
        for item in found:
            truth = run.truth_of(item, node)
            if truth is None:
                return run.runs(node)
            if truth is not is_all:
                return truth
        return is_all

    return read


def _sum(run: Evaluator, node: ast.Call) -> Value:
    args = _args(run, node, 1, 2)
    if args is None:
        return run.runs(node)
    total: Value = args[1] if len(args) > 1 else 0
    for item in collected(run, args[0], node):
        if isinstance(item, Unknown):
            return run.runs(node)
        if not isinstance(total, int | float) or not isinstance(item, int | float):
            raise run.error(node, "wrong-type", "only numbers are added here", expected="sum(numbers)")
        total = run.dialect.fold(ast.Add(), total, item)
    return total


def extreme(name: str) -> ReadCall:
    """Return a reader of Python's `min` or `max` of numbers."""

    def read(run: Evaluator, node: ast.Call) -> Value:
        args = _args(run, node, 1, 64, "default")
        if args is None:
            return run.runs(node)
        found = collected(run, args[0], node) if len(args) == 1 else args
        if not found and node.keywords:
            return _keyword(run, node, "default")
        if any(isinstance(value, Unknown) for value in found):
            return run.runs(node)
        numbers = [value for value in found if isinstance(value, int | float)]
        words = [value for value in found if isinstance(value, str)]
        if found and len(numbers) == len(found):
            return min(numbers) if name == "min" else max(numbers)
        if found and len(words) == len(found):
            return min(words) if name == "min" else max(words)
        return run.dialect.builtin(run, name, found, node)

    return read


def _text(run: Evaluator, node: ast.Call) -> Value:
    args = _args(run, node, 0)
    value = args[0] if args else ""
    return str(value) if args is not None and isinstance(value, int | float | str) else run.runs(node)


def _absolute(run: Evaluator, node: ast.Call) -> Value:
    args = _args(run, node)
    if args is None:
        return run.runs(node)
    if not isinstance(args[0], int | float):
        raise run.error(node, "wrong-type", "only numbers have an absolute value here", expected="abs(-4)")
    return abs(args[0])


def _rounded(run: Evaluator, node: ast.Call) -> Value:
    args = _args(run, node, 1, 2)
    if args is None or len(args) > 1 or not isinstance(args[0], int | float):
        return run.runs(node)
    return round(args[0])


def _power(run: Evaluator, node: ast.Call) -> Value:
    args = _args(run, node, 2, 2)
    if args is None or not all(isinstance(value, int | float) for value in args):
        return run.runs(node)
    try:
        return run.dialect.fold(ast.Pow(), *args)  # pyright: ignore[reportArgumentType]
    except ValueError as error:
        raise run.error(node, "out-of-range", str(error)) from None


def _division(run: Evaluator, node: ast.Call) -> Value:
    args = _args(run, node, 2, 2)
    if args is None:
        return run.runs(node)
    a, b = args
    if not isinstance(a, int) or not isinstance(b, int) or b == 0:
        raise run.error(node, "wrong-type", "divmod needs integers here", expected="divmod(7, 2)")
    return divmod(a, b)


def _sorted(run: Evaluator, node: ast.Call) -> Value:
    args = _args(run, node, 1, 1, "reverse", "key")
    if args is None:
        return run.runs(node)
    named = {str(k.arg): run.value(k.value) for k in node.keywords}
    return run.new(ordered(run, collected(run, args[0], node), named, node), node)


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "int": int, "float": float, "str": str, "bool": bool, "list": list, "dict": dict, "tuple": tuple,
}  # fmt: skip


_ARRAYS = ("np.ndarray", "numpy.ndarray")
_NUMBERS: Mapping[str, type | tuple[type, ...]] = {
    "numbers.Integral": int, "numbers.Number": (int, float), "numbers.Real": (int, float),
}  # fmt: skip


def _is_instance(run: Evaluator, node: ast.Call) -> Value:
    """Read `isinstance(x, int)` for values and types of Python and of the text."""
    if len(node.args) != 2 or node.keywords:
        raise run.error(node, "wrong-arguments", "isinstance needs a value and a type", expected="isinstance(x, int)")
    value = run.value(node.args[0])
    found = [_is_of(run, value, kind) for kind in _kinds(node.args[1])]
    return True if True in found else run.runs(node) if None in found else False


def _kinds(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the types of `(A, B)` and of `A | B`."""
    match node:
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _kinds(part)
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _kinds(left)
            yield from _kinds(right)
        case _:
            yield node


def _is_of(run: Evaluator, value: Value, kind: ast.expr) -> bool | None:
    """Return whether a value is of a type; None if that is not known."""
    if isinstance(kind, ast.Constant) and kind.value is None:
        return None if isinstance(value, Unknown) else value is None
    if isinstance(kind, ast.Name) and kind.id not in run.scope and kind.id in _TYPES:
        return None if isinstance(value, Unknown) else isinstance(value, _TYPES[kind.id])
    owner = run.lenient(kind)
    name = run.dotted(kind) or ""
    if name in _NUMBERS and not isinstance(value, Unknown):
        return isinstance(value, _NUMBERS[name])
    plain = value is None or isinstance(value, int | float | str | tuple | list | dict | range)
    if not isinstance(value, Unknown) and name.startswith(("tvm.", "te.", "tir.", "tirx.")):
        return run.dialect.is_of(value, name)
    if not isinstance(value, Unknown) and name in _ARRAYS:
        return isinstance(value, Array)
    if not isinstance(value, Unknown) and name == "torch.Tensor":
        return False
    if isinstance(owner, Class) and isinstance(value, Instance):
        return True if owner in value.of.line() else None if value.of.opens else False
    if plain and isinstance(owner, Class):
        return None if owner.members else False
    return None


def _attribute(run: Evaluator, node: ast.Call) -> Value:
    """Read `getattr(object, "name")` of the text's own objects."""
    if len(node.args) in (2, 3) and not node.keywords:
        name = run.value(node.args[1])
        if isinstance(name, str):
            owner = run.value(node.args[0])
            has = isinstance(owner, Instance) and (name in owner.values or owner.of.owner_of(name) is not None)
            if len(node.args) == 2 or has:
                found = ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node)
                return run.value(found)
    return run.passed_call(node)


BUILTINS: Mapping[str, ReadCall] = {
    **{name: _passed(name) for name in _RUNNING},
    "len": _length,
    "int": _number(int),
    "float": _number(float),
    "bool": _number(bool),
    "str": _text,
    "list": _sequence(list),
    "tuple": _sequence(tuple),
    "dict": _dict,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _lazy(zip),
    "map": _map,
    "reversed": _backwards,
    "all": _decided(True),
    "any": _decided(False),
    "sum": _sum,
    "min": extreme("min"),
    "max": extreme("max"),
    "abs": _absolute,
    "round": _rounded,
    "pow": _power,
    "divmod": _division,
    "sorted": _sorted,
    "isinstance": _is_instance,
    "getattr": _attribute,
}
"""Python's builtins by name."""

__all__ = ["BUILTINS", "applied", "collected", "extreme"]
