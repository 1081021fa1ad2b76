"""TVM's functions that simplify sizes: `tvm.arith.Analyzer().simplify(n + 0)`, and the helpers of `tvm.topi.utils`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...arith import simplify
from ...ir import Expr, IntImm, Var
from ...script.reading.intrinsics import parameters
from ...script.subset.scope import Foreign, Value
from ...script.subset.values import several
from ..reader import TEReader


class Analyzer(Foreign):
    """TVM's simplifier of expressions."""

    __slots__ = ()


SIMPLIFYING = ("simplify", "canonical_simplify", "rewrite_simplify")
"""Methods of the analyzer."""
_MODULES = ("topi.utils.", "topi.util.", "utils.", "util.")


def simplified(reader: TEReader, node: ast.Call) -> Value:
    """Read a call with one expression, and return it simplified."""
    return _simple(_argument(reader, node))


def helper_named(name: str) -> Callable[[TEReader, ast.Call], Value] | None:
    """Return the reader of a helper by its dotted name, also under the relative name that operators of TVM import."""
    bare = name.removeprefix("tvm.")
    if bare in _QUESTIONS:
        return _QUESTIONS[bare]
    module = next((m for m in _MODULES if bare.startswith(m)), None)
    return None if module is None else _HELPERS.get(bare.removeprefix(module))


def _argument(reader: TEReader, node: ast.Call) -> Value:
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    return reader.require_known(reader.value(given[0]), given[0]) if given else None


def _simple(value: Value) -> Value:
    return simplify(value) if isinstance(value, Expr) else value


def _constant(value: Value) -> Value:
    found = _simple(value)
    return found.value if isinstance(found, IntImm) else found


def _const_tuple(reader: TEReader, node: ast.Call) -> Value:
    return tuple(map(_constant, several(_argument(reader, node))))


def _const_int(reader: TEReader, node: ast.Call) -> Value:
    found = _constant(_argument(reader, node))
    if isinstance(found, int):
        return found
    raise reader.error(node, "wrong-type", "this must be a constant integer", expected="an integer")


def _equals_const(reader: TEReader, node: ast.Call) -> Value:
    expr, value = parameters(reader, node, ("expr", "value"))
    assert expr is not None and value is not None
    return _constant(reader.value(expr)) == _constant(reader.value(value))


def _is_expression(reader: TEReader, node: ast.Call) -> Value:
    """Read `tvm.ir.is_prim_expr(x)`."""
    value = _argument(reader, node)
    return value is not None and isinstance(value, Expr)


def _is_variable(reader: TEReader, node: ast.Call) -> Value:
    """Read `tvm.ir.is_prim_var(x)`."""
    return isinstance(_argument(reader, node), Var)


_HELPERS: dict[str, Callable[[TEReader, ast.Call], Value]] = {
    "get_const_tuple": _const_tuple,
    "get_const_int": _const_int,
    "equal_const_int": _equals_const,
    "simplify": simplified,
}
_QUESTIONS: dict[str, Callable[[TEReader, ast.Call], Value]] = {
    "ir.is_prim_expr": _is_expression,
    "ir.is_prim_var": _is_variable,
}

__all__ = ["SIMPLIFYING", "Analyzer", "helper_named", "simplified"]
