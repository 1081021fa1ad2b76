"""Tile operations of tilelang-ascend for the cores of A2 and A3: `T.tile.*` with the destination first, copies between the memories of an
AI core, and products on the cube core.

The meaning is that of `tilelang/language/ascend*.py` and `src/tl_templates/ascend/common.h`: an operation on the unified buffer concerns a
contiguous run of elements; a copy from global memory writes its padding value where the source has no element.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ....ir import (
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    Call,
    Evaluate,
    Range,
    Stmt,
    StringImm,
    Var,
)
from ..operations import ReadOperation, whole
from .copies import COPIES
from .elementwise import ELEMENTWISE
from .runs import name_of
from .vectors import VECTOR

if TYPE_CHECKING:
    from ..base import TileBase

# --- operations that are only read


def _opaque(written: int = 1) -> ReadOperation:
    """An operation that is shown with what it reads and writes, and not run: the first operands are written."""

    def read(reader: TileBase, node: ast.Call) -> Stmt:
        regions: list[BufferRegion] = []
        for argument in node.args:
            value = reader.exprs.value(argument) if isinstance(argument, ast.Name | ast.Subscript) else None
            if isinstance(value, Buffer | BufferRegion):
                tile = whole(reader, argument)
                regions.append(
                    BufferRegion(tile.buffer, tuple(Range(a, e) for a, e in zip(tile.start, tile.shape, strict=True)))
                )
        owners = [reader.private.get(r.buffer, r.buffer) for r in regions]
        text = Call("call_extern", (StringImm(ast.unparse(node)), *map(BufferData, dict.fromkeys(owners))), "handle")
        return reader.declared(name_of(reader, node), Evaluate(text), regions[written:], regions[:written])

    return read


def _dumped(reader: TileBase, node: ast.Call) -> Stmt | None:
    """`T.dump_tensor(buffer, …)`: it reads the buffer."""
    value = reader.exprs.value(node.args[0]) if node.args else None
    buffer = value.buffer if isinstance(value, BufferRegion) else value
    if not isinstance(buffer, Buffer):
        return None
    return reader.read_here(BufferLoad(buffer, tuple(Var("any", extent.dtype) for extent in buffer.shape)))


def _without_effect(reader: TileBase, node: ast.Call) -> None:
    """Output, and what a kernel says about caches."""


OPERATIONS: Mapping[str, ReadOperation] = {
    **COPIES,
    **ELEMENTWISE,
    **VECTOR,
    **dict.fromkeys(
        ("tile.sort", "tile.sort32", "tile.merge_sort", "tile.topk", "tile.gather_mask", "tile.gatherb", "tile.init_sort_buf",
         "tile.gathermask_experiment", "tile.brcb", "tile.brcb_experiment", "tile.bilinear_interpolation", "tile.wholereducemax",
         "tile.wholereducemin", "tile.wholereducesum", "tile.block_reduce_max", "tile.block_reduce_min", "tile.block_reduce_sum",
         "tile.reduce_sum_experiment", "tile.reduce_sum_mask_experiment", "tile.fill_experiment", "tile.sum_experiment",
         "reinterpretcast", "shmem_put_nbi", "shmem_get_nbi", "shmem_ub_get_nbi"),
        _opaque(),
    ),
    "shmem_ub_put_nbi": _opaque(0),
    "dump_tensor": _dumped,
    **dict.fromkeys(
        ("printf", "tile.datacachecleanandinvalid_experiment", "set_deq_scale"), _without_effect
    ),
}  # fmt: skip
"""Readers of the operations of a kernel for an AI core by name."""

__all__ = ["OPERATIONS"]
