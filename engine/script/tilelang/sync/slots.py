"""What the annotations of a kernel say of its buffers: their whole shapes, whether they share memory, and those that a text divides into
slots itself, `A_L1 = T.alloc_L1((2, 128, 64), …)`: each operation uses one, `A_L1[k % 2]`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ....ir import (
    Annotation,
    Annotations,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    For,
    IntImm,
    PrimFunc,
    Stmt,
    StringImm,
    Var,
    build,
    child_stmts,
    free_vars,
    walk,
    walk_stmts,
)
from ..names import REUSE, SLOTS, WHOLE

MOST_SLOTS = 8


def slots_noted(body: Stmt, wide: Collection[Buffer], lanes: int) -> Annotations:
    """Return the buffers with slots as an annotation. Buffers of units, `wide`, have axes of as many `lanes` in front."""
    found: dict[Buffer, bool] = {}
    for realize, own in _blocks(body, frozenset()):
        iterators = {iv.var for iv, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
                     if not own.isdisjoint(free_vars(value))}  # fmt: skip
        declared = {region.buffer for region in (*realize.block.reads, *realize.block.writes)}
        for node in walk(realize.block.body):
            if isinstance(node, BufferLoad | BufferStore):
                at = lanes if node.buffer in wide else 0
                is_slot = _may_have(node.buffer, at) and iterators.isdisjoint(free_vars(node.indices[at]))
                found[node.buffer] = found.get(node.buffer, True) and is_slot
                declared.discard(node.buffer)
        found.update(dict.fromkeys(declared, False))
    noted = tuple(
        (StringImm(b.name), IntImm(lanes if b in wide else 0)) for b, is_slotted in found.items() if is_slotted
    )
    return ((SLOTS, noted),) if noted else ()


def slot_axes(func: PrimFunc) -> dict[str, int]:
    """Return the buffers of a kernel that its text divides into slots, with the axis of the slots."""
    return {name.value: axis.value for value in _noted(func, SLOTS) if isinstance(value, tuple) for name, axis in value}


def reuses_memory(func: PrimFunc) -> bool:
    """Whether the text of a kernel says that its buffers share memory."""
    return any(True for _ in _noted(func, REUSE))


def whole_noted(buffers: Iterable[Buffer]) -> Annotations:
    """Return those of a kernel's buffers that its threads share as an annotation. TileLang cuts none to the part that is used."""
    names = (buffer.name for buffer in buffers if not buffer.scope.startswith(("global", "local")))
    noted = tuple(StringImm(name) for name in dict.fromkeys(names))
    return ((WHOLE, noted),) if noted else ()


def whole_buffers(func: PrimFunc) -> set[str]:
    """Return the names of the buffers that have their whole shapes."""
    return {name.value for value in _noted(func, WHOLE) if isinstance(value, tuple) for name in value}


def _noted(func: PrimFunc, key: str) -> Iterator[Annotation]:
    for stmt in walk_stmts(func.body):
        if isinstance(stmt, For):
            yield from (value for found, value in stmt.annotations if found == key)


def _may_have(buffer: Buffer, at: int) -> bool:
    slots = build.int_value(buffer.shape[at]) if len(buffer.shape) > at + 1 else None
    return not buffer.scope.startswith(("global", "local")) and slots is not None and 1 < slots <= MOST_SLOTS


def _blocks(stmt: Stmt, own: frozenset[Var]) -> Iterator[tuple[BlockRealize, frozenset[Var]]]:
    """Yield the blocks of a body, each with the loops around it that are around nothing else."""
    if isinstance(stmt, BlockRealize):
        yield stmt, own
    elif isinstance(stmt, For):
        yield from _blocks(stmt.body, own | {stmt.loop_var})
    else:
        parts = [part for part in child_stmts(stmt) if isinstance(part, Stmt)]
        for part in parts:
            yield from _blocks(part, own if len(parts) == 1 else frozenset())


__all__ = ["reuses_memory", "slot_axes", "slots_noted"]
