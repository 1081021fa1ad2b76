"""TVMScript's values in Python text: what T's functions and operators on expressions and buffers give to its evaluator."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...ir import And, Buffer, BufferLoad, Expr, FloatImm, IntImm, Node, Or, StringImm, Var
from ..subset.core import Dialect, Evaluator, ReadCall
from ..subset.libraries.standard import type_variable
from ..subset.scope import Foreign, Scope, Value
from ..subset.values import Module
from ..targets import TargetName, target_part
from ..tilelang.expressions import function_named
from ..tilelang.names import is_of_language, type_named, type_part
from . import operators
from .expressions import ExpressionReader

_TYPES: Mapping[str, type] = {
    "IntImm": IntImm, "FloatImm": FloatImm, "StringImm": StringImm, "Var": Var, "PrimExpr": Expr, "Expr": Expr, "Buffer": Buffer,
    "BufferLoad": BufferLoad,
}  # fmt: skip


_WRAPPING = frozenset((
    "tvm.convert", "tvm.runtime.convert", "te.convert", "tir.convert", "tvm.tir.IndexMap.from_func", "tir.IndexMap.from_func",
    "tvm.tirx.IndexMap.from_func", "tirx.IndexMap.from_func", "IndexMap.from_func",
))  # fmt: skip
"""Functions that make an object of TVM of their argument, which calls take as it is."""


def is_wrapping(name: str, node: ast.Call) -> bool:
    """Whether a call has the value of its argument."""
    return name in _WRAPPING and len(node.args) == 1 and not node.keywords


class ScriptDialect(Dialect):
    """Adds the values of an expression reader."""

    builtins: Mapping[str, ReadCall] = {"TypeVar": type_variable}

    def __init__(self, reader: ExpressionReader) -> None:
        self.reader = reader

    def entered(self, scope: Scope) -> None:
        self.reader.scope = scope

    def module(self, name: str) -> Module | None:
        return Module(f"tvm.script.{name}") if name in (*self.reader.namespaces, "tvm") else None

    def call(self, run: Evaluator, name: str, node: ast.Call) -> Value:
        known = self.of_tiles(name, node)
        if known is not None:
            return known
        if is_wrapping(name, node):
            return run.value(node.args[0])
        if self.reader.called(node) is not None:
            return self.reader.intrinsic(node)
        return super().call(run, name, node)

    def of_tiles(self, name: str, node: ast.Call) -> Value:
        """Return the value of a call of a function of TileLang, or of one that asks for the device; None for other calls."""
        read = function_named(name) if is_of_language(name) else None
        return self.reader.device.value(self.reader.source, name, node) if read is None else read(self.reader, node)

    def global_value(self, run: Evaluator, name: str, node: ast.expr) -> Value:
        dtype = type_named(name)
        if dtype is not None:
            return dtype
        return Module(name) if self.reader.script_name(node) is not None else run.runs(node)

    def keeps(self, name: str) -> bool:
        return (
            name.partition(".")[0] in ("tvm", "te", "topi", "vta", "numpy", "np", "torch", "tilelang", "triton")
            and "shuffle" not in name
        )

    def has_axes(self, run: Evaluator) -> bool:
        return True

    def placed(self, value: Node, node: ast.expr) -> None:
        self.reader.positions.add(value, self.reader.source.place(node))

    def binary(self, run: Evaluator, node: ast.BinOp, a: Value, b: Value) -> Value:
        return operators.combined(self.reader, node, a, b)

    def unary(self, run: Evaluator, node: ast.UnaryOp, value: Value) -> Value:
        return operators.negated(self.reader, node, value)

    def compare(self, run: Evaluator, node: ast.Compare, op: ast.cmpop, a: Value, b: Value) -> Value:
        return operators.compared(self.reader, node, op, a, b)

    def logical(self, run: Evaluator, node: ast.expr, op: ast.boolop, a: Value, b: Value) -> Value:
        return operators.logical(self.reader, And if isinstance(op, ast.And) else Or, a, b, node)

    def truth(self, run: Evaluator, value: Value, node: ast.AST) -> bool | None:
        return bool(value.value) if isinstance(value, IntImm) else super().truth(run, value, node)

    def is_of(self, value: Value, name: str) -> bool | None:
        known = _TYPES.get(name.rpartition(".")[2])
        if known is None or (isinstance(value, Foreign) and known is Expr):
            return None
        return isinstance(value, known)

    def method(self, run: Evaluator, owner: Value, name: str, node: ast.Call) -> Value:
        return self.reader.method_of(owner, name, node)

    def attribute(self, run: Evaluator, owner: Value, name: str, node: ast.Attribute) -> Value:
        if isinstance(owner, IntImm) and name == "value":
            return owner.value
        if isinstance(owner, TargetName):
            found = target_part(owner, name)
        else:
            found = type_part(owner, name) if isinstance(owner, str) else self.reader.attribute_of(owner, name)
        return super().attribute(run, owner, name, node) if found is None else found

    def item(self, run: Evaluator, owner: Value, node: ast.Subscript) -> Value:
        if isinstance(owner, Buffer):
            return self.reader.element(owner, node)
        return super().item(run, owner, node)


__all__ = ["ScriptDialect", "is_wrapping"]
