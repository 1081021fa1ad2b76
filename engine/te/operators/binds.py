"""Storage of tensors from `tvm.build(…, binds={X: tvm.decl_buffer(…, strides=[…])})`.

TVM accepted binds for parameters only; users requested them for intermediate tensors (strides of 1, rows, rows * chans). Here they set the
scope and the layout of a tensor, if the strides are those of its axes in some order, without gaps.
"""

from __future__ import annotations

import ast

from ...arith import prove_equal
from ...ir import Expr, build
from ...script import expr_text
from ...script.reading.intrinsics import parameters
from ...script.subset.scope import Value
from ...script.subset.values import several
from ..model import Tensor
from ..reader import TEReader
from ..stages import DeclaredBuffer, StageRequest


def read_layout(reader: TEReader, node: ast.Call) -> Value:
    """Read `tvm.decl_buffer(shape, dtype, name, strides=…, scope=…)`."""
    names = ("shape", "dtype", "name", "data", "strides", "elem_offset", "scope", "data_alignment", "offset_factor",
             "layout")  # fmt: skip
    found = dict(zip(names, parameters(reader, node, names, 1), strict=True))
    scope, strides = found["scope"], found["strides"]
    value = reader.value(strides) if strides is not None else ()
    items = several(value)
    return DeclaredBuffer(
        reader.string(scope) if scope is not None else "", tuple(reader.as_expr(v, node) for v in items), node
    )


def bind_buffers(reader: TEReader, node: ast.expr) -> None:
    """Record the storage of each tensor in the dict."""
    if isinstance(node, ast.Constant) and node.value is None:
        return
    if not isinstance(node, ast.Dict) or None in node.keys:
        raise reader.error(
            node, "wrong-type", "binds= is a dict of tensors and buffers", expected="{X: tvm.decl_buffer(…)}"
        )
    for key, value in zip(node.keys, node.values, strict=True):
        assert key is not None
        tensor, layout = reader.value(key), reader.value(value)
        if not isinstance(tensor, Tensor) or not isinstance(layout, DeclaredBuffer):
            raise reader.error(
                value, "wrong-type", "a tensor is bound to a buffer", expected="X: tvm.decl_buffer(X.shape, …)"
            )
        _bind(reader, tensor, layout, key)


def _bind(reader: TEReader, tensor: Tensor, layout: DeclaredBuffer, node: ast.expr) -> None:
    schedule = reader.record.schedule
    assert schedule is not None, "the lowered object has no schedule"
    stage = schedule.stage(reader, tensor, node)
    if layout.scope and layout.scope != "global":
        stage.storage.append(StageRequest("set_scope", node, options={"storage_scope": layout.scope}))
    order = _order(reader, tensor, layout) if layout.strides else ()
    if list(order) != sorted(order):
        stage.storage.append(StageRequest("set_layout", node, options={"order_or_strides": order}))


def _order(reader: TEReader, tensor: Tensor, layout: DeclaredBuffer) -> tuple[int, ...]:
    """Return the axes from the outermost in memory to the innermost. Raises "wrong-arguments" if the strides match no order."""
    shape, strides = tensor.buffer.shape, layout.strides
    if len(strides) != len(shape):
        raise reader.error(layout.node, "wrong-arguments", f"{len(strides)} strides do not match the axes of {tensor.op.name}",
                           expected=f"{len(shape)} strides")  # fmt: skip
    inner: list[int] = []
    span: Expr = build.const(1, shape[0].dtype if shape else "int32")
    while len(inner) < len(shape):
        rest = [axis for axis in range(len(shape)) if axis not in inner]
        fitting = [axis for axis in rest if prove_equal(strides[axis], span)]
        if not fitting:
            raise reader.error(
                layout.node, "wrong-arguments", f"the strides of {tensor.op.name} do not match a permutation of its axes",
                expected=f"{expr_text(span)} for one of the axes " + ", ".join(tensor.op.axes[a].name for a in rest)
                + "; found " + ", ".join(expr_text(strides[a]) for a in rest),
                fix=("use the same sizes in the shape and in the strides", "s[X].transform_layout(lambda …: […]) needs no strides"),
            )  # fmt: skip
        # Of axes with equal strides, the longer one is further out: the others have one element.
        axis = next((a for a in fitting if build.is_const(shape[a], 1)), fitting[0])
        inner.append(axis)
        span = build.mul(span, shape[axis])
    return tuple(reversed(inner))
