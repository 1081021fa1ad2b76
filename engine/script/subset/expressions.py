"""Python's expressions: constants, names, operators, lists, dicts, comprehensions, formatted strings, brackets."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ...ir import Expr, IntImm
from . import constants
from .calls import attribute_of, function_of, read_call
from .core import Evaluator, ReadExpression
from .libraries.arrays import array_item
from .libraries.standard import CONSTANTS
from .operators import compared, key, operate
from .scope import Scope, Unknown, Value
from .targets import assign, items
from .values import Array, Attributes, Lazy, Module, ReadItem, TextModule, unknown_error

# --- constants and names


def _constant(run: Evaluator, node: ast.Constant) -> Value:
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > constants.LIMIT:
        raise run.error(node, "out-of-range", "the number is too large", expected="a number of at most 64 bits")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if value is ...:
        raise run.error(node, "unsupported", "the text leaves these arguments out", expected="the arguments")
    raise run.error(node, "unsupported", f"{type(value).__name__} constants are not supported",
                    expected="a number or a string")  # fmt: skip


def _name(run: Evaluator, node: ast.Name) -> Value:
    if node.id in run.scope:
        return run.scope[node.id]
    module = run.dialect.module(node.id)
    return run.dialect.name(run, node) if module is None else module


def _walrus(run: Evaluator, node: ast.NamedExpr) -> Value:
    value = run.value(node.value)
    run.scope.define_outside(node.target.id, value)
    run.dialect.named(value, node.target.id)
    return value


# --- operators


def _binary(run: Evaluator, node: ast.BinOp) -> Value:
    return operate(run, node, run.value(node.left), run.value(node.right))


def _unary(run: Evaluator, node: ast.UnaryOp) -> Value:
    value = run.value(node.operand)
    if isinstance(value, Unknown):
        return run.runs(node)
    if isinstance(node.op, ast.Not) and not isinstance(value, Expr):
        truth = run.truth_of(value, node.operand)
        return run.runs(node) if truth is None else not truth
    if isinstance(value, int) and isinstance(node.op, ast.Invert):
        return ~value
    if isinstance(value, int | float) and not isinstance(node.op, ast.Invert):
        return -value if isinstance(node.op, ast.USub) else +value
    return run.dialect.unary(run, node, value)


def _bool_op(run: Evaluator, node: ast.BoolOp) -> Value:
    """Read `and` and `or`: operands decide from left to right, as in Python."""
    result = run.value(node.values[0])
    for number, part in enumerate(node.values[1:], 1):
        if isinstance(result, Unknown):
            for rest in node.values[number:]:
                run.memory.forget(run.scope, rest)
            return run.runs(node)
        if isinstance(result, Expr):
            result = run.dialect.logical(run, node, node.op, result, run.value(part))
            continue
        truth = run.truth_of(result, node)
        if truth is None:
            return run.runs(node)
        if truth == isinstance(node.op, ast.Or):
            return result
        result = run.value(part)
    return result


def _compare(run: Evaluator, node: ast.Compare) -> Value:
    """Read a chain of comparisons, which ends at the first false one."""
    same = _of_type(run, node)
    if same is not None:
        return same
    left = run.value(node.left)
    result: Value = True
    for number, (op, part) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = run.value(part) if not isinstance(part, ast.Set) else tuple(items(run, part.elts))
        term = compared(run, node, op, left, right)
        if isinstance(term, Unknown):
            for rest in node.comparators[number + 1 :]:
                run.memory.forget(run.scope, rest)
            return term
        result = term if number == 0 else run.dialect.logical(run, node, ast.And(), result, term) if isinstance(
            result, Expr) or isinstance(term, Expr) else term  # fmt: skip
        if result is False:
            return False
        left = right
    return result


_TYPES: Mapping[str, type] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "list": list,
    "tuple": tuple,
    "dict": dict,
}


def _of_type(run: Evaluator, node: ast.Compare) -> Value:
    """Return whether `type(x) == int` holds; None for other comparisons."""
    match node:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="type"), args=[part], keywords=[]),
            ops=[ast.Eq() | ast.NotEq() | ast.Is() | ast.IsNot() as op],
            comparators=[ast.Name(id=name)],
        ) if name in _TYPES and not {"type", name} & run.scope.all_names():
            value = run.value(part)
            if isinstance(value, Unknown | Module):
                return run.runs(node)
            return (type(value) is _TYPES[name]) == isinstance(op, ast.Eq | ast.Is)
        case _:
            return None


def _conditional(run: Evaluator, node: ast.IfExp) -> Value:
    test = run.truth(node.test)
    if test is None:
        run.memory.forget(run.scope, node.body)
        run.memory.forget(run.scope, node.orelse)
        return run.runs(node)
    return run.value(node.body if test else node.orelse)


# --- lists, dicts, strings


def _tuple(run: Evaluator, node: ast.Tuple) -> Value:
    return run.new(tuple(items(run, node.elts)), node)


def _list(run: Evaluator, node: ast.List) -> Value:
    return run.new(items(run, node.elts), node)


def _set(run: Evaluator, node: ast.Set) -> Value:
    items(run, node.elts)
    return run.runs(node)


def _dict(run: Evaluator, node: ast.Dict) -> Value:
    found: dict[Value, Value] = {}
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        if key_node is None:
            other = run.known(value_node)
            if not isinstance(other, dict):
                raise run.error(value_node, "wrong-type", "only a dict can be unpacked here", expected="**options")
            found |= other
        else:
            name = key(run, run.known(key_node), key_node)
            found[name] = run.value(value_node)
    return run.new(found, node)


def _list_comprehension(run: Evaluator, node: ast.ListComp) -> Value:
    found: list[Value] = []
    for value in _generated(run, node.elt, node.generators):
        found.append(value)
        run.budget.require_items(len(found), node)
    return run.new(found, node)


def _dict_comprehension(run: Evaluator, node: ast.DictComp) -> Value:
    pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
    found: dict[Value, Value] = {}
    for value in _generated(run, pair, node.generators):
        assert isinstance(value, tuple)
        found[key(run, run.require_known(value[0], node.key), node.key)] = value[1]
        run.budget.require_items(len(found), node)
    return run.new(found, node)


def _generator(run: Evaluator, node: ast.GeneratorExp) -> Value:
    return Lazy(_generated(run, node.elt, node.generators))


def _generated(run: Evaluator, element: ast.expr, generators: Sequence[ast.comprehension]) -> Iterator[Value]:
    """Yield the values of a comprehension, each when it is asked for; the first list is evaluated at once."""
    first = run.value(generators[0].iter)
    return _elements(run, element, generators, first)


def _elements(
    run: Evaluator, element: ast.expr, generators: Sequence[ast.comprehension], first: Value
) -> Iterator[Value]:
    scope = run.scope.opened("comprehension")
    for _ in _each(run, generators, scope, first):
        with run.inside(scope):
            value = run.value(element)
        yield value


def _each(run: Evaluator, generators: Sequence[ast.comprehension], scope: Scope, first: Value) -> Iterator[None]:
    """Define the variables of a comprehension's loops for each of their combinations."""
    found = run.iterate(first, generators[0].iter)
    if found is None:
        raise unknown_error(run.source, first, generators[0].iter) if isinstance(first, Unknown) else run.error(
            generators[0].iter, "unsupported", "the items are not known")  # fmt: skip
    for item in found:
        with run.inside(scope):
            assign(run, generators[0].target, item)
            kept = all(_kept(run, test) for test in generators[0].ifs)
            inner = run.value(generators[1].iter) if kept and len(generators) > 1 else None
        if not kept:
            continue
        if len(generators) > 1:
            yield from _each(run, generators[1:], scope, inner)
        else:
            yield


def _kept(run: Evaluator, test: ast.expr) -> bool:
    kept = run.truth(test)
    if kept is None:
        raise run.error(test, "unsupported", "the items are not known when the text is read",
                        expected="a condition on constants")  # fmt: skip
    return kept


def _formatted(run: Evaluator, node: ast.JoinedStr) -> Value:
    """Read an f-string of constants; one of other values is for printing."""
    found, known = "", True
    for part in node.values:
        value = run.value(part.value if isinstance(part, ast.FormattedValue) else part)
        if isinstance(part, ast.FormattedValue):
            simple = part.format_spec is None and part.conversion == -1
            known = known and simple and isinstance(value, str | int | float)
        if known:
            found += str(value)
            run.budget.require_text(len(found), node)
    return found if known else run.runs(node)


def _slice_end(run: Evaluator, node: ast.expr | None) -> int | None:
    value = None if node is None else run.known(node)
    value = value.value if isinstance(value, IntImm) else value
    if value is not None and not isinstance(value, int):
        raise run.error(
            node or ast.Pass(), "wrong-type", "the end of a slice must be an integer", expected="items[1:3]"
        )
    return value


def _slice_of(run: Evaluator, node: ast.Slice) -> slice:
    ends = [_slice_end(run, end) for end in (node.lower, node.upper, node.step)]
    if ends[2] == 0:
        raise run.error(node, "out-of-range", "the step of a slice is 0", expected="another number")
    return slice(*ends)


def _subscript(run: Evaluator, node: ast.Subscript) -> Value:
    dotted = run.dotted(node.value)
    if dotted == "sys.modules" and isinstance(node.slice, ast.Name) and node.slice.id == "__name__":
        return TextModule(Path(run.source.owner(node).filename), run.scope.of_module())
    owner = run.value(node.value)
    if dotted is not None and isinstance(owner, Module):
        return run.runs(node)  # a type, such as list[int]
    if isinstance(owner, Unknown) and run.dialect.is_whole(owner.origin):
        return owner
    if isinstance(owner, Unknown):
        run.lenient(node.slice) if not isinstance(node.slice, ast.Slice) else run.memory.forget(run.scope, node.slice)
        return run.runs(node)
    if isinstance(owner, Attributes):
        name = run.value(node.slice)
        if isinstance(name, str) and name in owner.values:
            return owner.values[name]
        return run.runs(node)
    if isinstance(owner, dict):
        name = run.value(node.slice)
        if isinstance(name, Unknown):
            return run.runs(node)
        name = key(run, name, node)
        if name not in owner:
            known = ", ".join(str(k) for k in owner if isinstance(k, str | int))
            raise run.error(node, "unknown-name", f"the dict has no entry {name}", expected=known[:200])
        return owner[name]
    if isinstance(owner, tuple | list | str | range):
        return _item(run, owner, node)
    if isinstance(owner, Array):
        return array_item(run, owner, node)
    return run.dialect.item(run, owner, node)


def _item(run: Evaluator, owner: tuple[Value, ...] | list[Value] | str | range, node: ast.Subscript) -> Value:
    if isinstance(node.slice, ast.Slice):
        found = owner[_slice_of(run, node.slice)]
        return found if isinstance(found, str | range) else run.new(found, node)
    position = run.value(node.slice)
    if isinstance(position, Unknown):
        return run.runs(node)
    position = position.value if isinstance(position, IntImm) else position
    if not isinstance(position, int):
        raise run.error(node.slice, "wrong-type", "this must be a constant integer", expected="an integer")
    if not -len(owner) <= position < len(owner):
        raise run.error(node, "out-of-range", f"there are {len(owner)} items")
    return owner[position]


def _attribute(run: Evaluator, node: ast.Attribute) -> Value:
    dotted = run.dotted(node)
    if dotted is not None:
        return CONSTANTS[dotted] if dotted in CONSTANTS else run.dialect.global_value(run, dotted, node)
    return attribute_of(run, run.value(node.value), node.attr, node)


EXPRESSIONS: Mapping[type[ast.expr], ReadExpression] = {
    ast.Constant: _constant,
    ReadItem: lambda _, node: node.item,
    ast.Name: _name,
    ast.NamedExpr: _walrus,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool_op,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.ListComp: _list_comprehension,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _generator,
    ast.JoinedStr: _formatted,
    ast.Subscript: _subscript,
    ast.Attribute: _attribute,
    ast.Call: read_call,
    ast.Lambda: function_of,
}
"""Readers of expressions by kind."""

__all__ = ["EXPRESSIONS"]
