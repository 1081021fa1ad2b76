"""Shapes, element types and outputs of operations."""

from __future__ import annotations

import ast

from ..ir import Expr, IntImm
from ..ir import dtype as dt
from .model import Operation, Tensor
from .reader import TEReader
from .sizes import require_small

MAX_RANK = 64


def read_shape(reader: TEReader, node: ast.expr) -> tuple[Expr, ...]:
    found = reader.shape(node)
    require_small(reader, found, node)
    for extent in found:
        if not dt.is_index(extent.dtype) or (isinstance(extent, IntImm) and extent.value <= 0):
            raise reader.error(
                node, "out-of-range", "a shape must have positive integers", expected="(128, 64), (n, m)"
            )
    if len(found) > MAX_RANK:
        raise reader.error(node, "too-large", f"{len(found)} axes are too many", expected=f"at most {MAX_RANK}")
    return found


def read_dtype(reader: TEReader, node: ast.expr | None) -> str:
    """Return the element type; until 0.6 None meant float32."""
    return "float32" if node is None or reader.value(node) is None else reader.dtype(node)


def outputs_of(reader: TEReader, op: Operation) -> tuple[Tensor, ...]:
    reader.operations.append(op)
    for buffer in op.buffers:
        reader.positions.add(buffer, reader.source.place(op.node))
    return tuple(Tensor(op, i) for i in range(len(op.buffers)))


def identifier(name: str) -> str:
    """Return a tensor's name as an identifier: TVM's printer writes `B.v0` as B_v0 too."""
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "tensor"
