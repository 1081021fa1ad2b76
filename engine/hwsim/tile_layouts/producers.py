"""Threads that TileLang's compiler adds to a block on sm_90: a group of warps that makes the bulk copies of a pipelined loop.

Source: TileLang 0.1.15, `src/cuda/transform/producer_consumer_ws.cc`.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    PrimFunc,
    build,
    walk,
)
from ...ir import dtype as dt
from ...script.tilelang.names import COPY, NO_PRODUCERS
from ...script.tilelang.sync.warps import has_groups
from .products import DEFAULT_THREADS, Unit, integers, threads_of_kernel

PRODUCERS = 128
STAGES = "num_stages"
LATER = "the producer threads make those of an earlier loop only"
STRIDE = 16
"""Bytes of which the strides of a tensor and the rows of a box are multiples in a bulk copy."""


def producer_threads(func: PrimFunc, unit: Unit) -> int | None:
    """Returns the threads that the compiler adds: 128, as many as the block has if one of the copies is no bulk copy, or none. None if the
    text has groups of warps itself."""
    if unit != "wgmma":
        return 0
    if has_groups(func.body):
        return None
    for loop in walk(func.body):
        if isinstance(loop, For) and NO_PRODUCERS in dict(loop.annotations):
            return 0
        stages = dict(loop.annotations).get(STAGES) if isinstance(loop, For) else None
        if not isinstance(loop, For) or not isinstance(stages, IntImm) or not stages.value:
            continue
        copies = [
            not found
            for node in walk(loop.body)
            if isinstance(node, BlockRealize) and (found := copied(node)) is not None
        ]
        if any(copies):
            return PRODUCERS if all(copies) else threads_of_kernel(func) or DEFAULT_THREADS
    return 0


def unfit_copies(func: PrimFunc) -> Iterator[tuple[str, str]]:
    """Yields the copies from global to shared memory in pipelined loops that are no bulk copies: their blocks, and why."""
    first: For | None = None  # the loop whose copies the producer threads make
    for loop in walk(func.body):
        stages = dict(loop.annotations).get(STAGES) if isinstance(loop, For) else None
        if not isinstance(loop, For) or not isinstance(stages, IntImm) or not stages.value:
            continue
        nodes = [(node.block.name, copied(node)) for node in walk(loop.body) if isinstance(node, BlockRealize)]
        reasons = {block: reason for block, reason in nodes if reason is not None}
        is_later = first is not None and all(node is not loop for node in walk(first)) and not has_groups(func.body)
        yield from ((block, reason or LATER) for block, reason in reasons.items() if reason or is_later)
        if first is None and not all(reasons.values()):
            first = loop


def copied(realize: BlockRealize) -> str | None:
    """Returns why a copy from global to shared memory is no bulk copy, "" if it is one; None for a block that does something else."""
    nodes = list(walk(realize.block.body))
    store = next((n for n in nodes if isinstance(n, BufferStore)), None)
    if store is None or any(isinstance(n, BlockRealize) for n in nodes) or not store.buffer.scope.startswith("shared"):
        return None
    value: Expr = store.value
    while isinstance(value, Cast) or (isinstance(value, Call) and value.op == "if_then_else"):
        value = value.value if isinstance(value, Cast) else value.args[1]
    if not isinstance(value, BufferLoad) or value.buffer.scope != "global":
        return None
    extents = integers(dict(realize.block.annotations).get(COPY))
    source, bits = value.buffer, dt.bits(value.buffer.dtype)
    if not extents:
        return "it is no T.copy, or an option forbids it"
    if source.dtype != store.buffer.dtype:
        return f"it converts {source.dtype} to {store.buffer.dtype}"
    if extents[-1] * bits % (STRIDE * 8):
        return f"its rows of {extents[-1] * bits // 8} bytes are no multiple of {STRIDE}"
    shape = [build.int_value(extent) for extent in source.shape]
    steps = [shape[n + 1 :] for n in range(len(shape) - 1)]
    uneven = [prod(n or 0 for n in step) * bits // 8 for step in steps if None not in step]
    return next(
        (f"the stride of {n} bytes of {source.name} is no multiple of {STRIDE}" for n in uneven if n % STRIDE), ""
    )
