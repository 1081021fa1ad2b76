"""Threads that TileLang's compiler adds to a block on sm_90: a group of warps that makes the bulk copies of a pipelined loop.

Source: TileLang 0.1.15, `src/cuda/transform/producer_consumer_ws.cc`.
"""

from __future__ import annotations

from math import prod

from ...ir import (
    BlockRealize,
    BufferLoad,
    BufferStore,
    Call,
    Cast,
    Expr,
    For,
    IntImm,
    NodeAttr,
    PrimFunc,
    build,
    walk,
)
from ...ir import dtype as dt
from ...script.tilelang.names import COPY, WARP_GROUP
from .products import DEFAULT_THREADS, Unit, integers, threads_of_kernel

PRODUCERS = 128
STAGES = "num_stages"
STRIDE = 16
"""Bytes of which the strides of a tensor and the rows of a box are multiples in a bulk copy."""


def producer_threads(func: PrimFunc, unit: Unit) -> int | None:
    """Returns the threads that the compiler adds: 128, as many as the block has if one of the copies is no bulk copy, or none. None if the
    text has groups of warps itself."""
    if unit != "wgmma":
        return 0
    if any(isinstance(node, NodeAttr) and node.key == WARP_GROUP for node in walk(func.body)):
        return None
    for loop in walk(func.body):
        stages = dict(loop.annotations).get(STAGES) if isinstance(loop, For) else None
        if not isinstance(loop, For) or not isinstance(stages, IntImm) or not stages.value:
            continue
        copies = [
            found for node in walk(loop.body) if isinstance(node, BlockRealize) and (found := _copy(node)) is not None
        ]
        if any(copies):
            return PRODUCERS if all(copies) else threads_of_kernel(func) or DEFAULT_THREADS
    return 0


def _copy(realize: BlockRealize) -> bool | None:
    """Whether a block copies from global to shared memory by a bulk copy; None if it does something else."""
    store = next((n for n in walk(realize.block.body) if isinstance(n, BufferStore)), None)
    if store is None or not store.buffer.scope.startswith("shared"):
        return None
    value: Expr = store.value
    while isinstance(value, Cast) or (isinstance(value, Call) and value.op == "if_then_else"):
        value = value.value if isinstance(value, Cast) else value.args[1]
    if not isinstance(value, BufferLoad) or value.buffer.scope != "global":
        return None
    extents = integers(dict(realize.block.annotations).get(COPY))
    source, bits = value.buffer, dt.bits(value.buffer.dtype)
    if not extents or source.dtype != store.buffer.dtype or extents[-1] * bits % (STRIDE * 8):
        return False
    shape = [build.int_value(extent) for extent in source.shape]
    steps = [shape[n + 1 :] for n in range(len(shape) - 1)]
    return not any(prod(n or 0 for n in step) * bits // 8 % STRIDE for step in steps if None not in step)
