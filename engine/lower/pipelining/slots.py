"""Slots: a leading axis for several versions of a buffer's contents, used in turn.

Blocks request slots with annotations (`schedule`'s `double_buffer` writes them):
    double_buffer_scope = 0              the position, among the block's writes, of the buffer that gets two slots (TVM's)
    double_buffer_slots = 3              another number of slots (Tilewright's)
    double_buffer_banks = [0, 1]         the physical block of memory for each slot (Tilewright's)
A buffer with banks gets an axis separator after the slots, so that its lowered form is `[2][4096]`: slots need not be adjacent in memory.
The annotation `slot_banks` at the allocation records the banks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

import msgspec
from msgspec.structs import replace as replace_fields

from ...ir import (
    AnnotationMap,
    Annotations,
    Block,
    Buffer,
    Expr,
    For,
    IntImm,
    PrimFunc,
    Range,
    addressed_buffers,
    build,
    walk_stmts,
)
from ..access import Axes, BufferChange, Indices

DOUBLE_BUFFER_KEY = "double_buffer_scope"
SLOTS_KEY = "double_buffer_slots"
BANKS_KEY = "double_buffer_banks"
DOUBLE_BUFFER_KEYS = (DOUBLE_BUFFER_KEY, SLOTS_KEY, BANKS_KEY)
PLACED_KEY = "slot_banks"

Banks = tuple[int, ...]
"""The physical block of each slot, in order; empty if unspecified."""

MAX_SLOTS = 64


class Slots(msgspec.Struct, frozen=True):
    """The slots that a block requests for its buffer: their number, and the physical block of each."""

    count: int = 2
    banks: Banks = ()


def marked_buffers(func: PrimFunc) -> dict[Buffer, Slots]:
    """The buffers that blocks mark for several slots."""
    found: dict[Buffer, Slots] = {}
    for block in (s for s in walk_stmts(func.body) if isinstance(s, Block)):
        found.update(marks_of(block))
    return found


def marks_of(block: Block) -> dict[Buffer, Slots]:
    """The marks in the block's own annotations. A number of slots outside of 2 to MAX_SLOTS is ignored."""
    notes = dict(block.annotations)
    place = notes.get(DOUBLE_BUFFER_KEY)
    if not isinstance(place, IntImm) or not 0 <= place.value < len(block.writes):
        return {}
    asked, banks = notes.get(SLOTS_KEY), notes.get(BANKS_KEY)
    count = asked.value if isinstance(asked, IntImm) and 2 <= asked.value <= MAX_SLOTS else 2
    return {block.writes[place.value].buffer: Slots(count, _numbers(banks) if isinstance(banks, tuple) else ())}


def _numbers(values: tuple[object, ...]) -> Banks:
    return tuple(v.value for v in values if isinstance(v, IntImm))


def without_marks(annotations: Annotations) -> Annotations:
    return tuple((key, value) for key, value in annotations if key not in DOUBLE_BUFFER_KEYS)


def sliceable(func: PrimFunc, buffers: Iterable[Buffer]) -> set[Buffer]:
    """The `buffers` whose accesses can use slots: the program does not use their address."""
    wanted = set(buffers)
    return wanted - addressed_buffers(func.body) if wanted else wanted


def with_slots(buffer: Buffer, slots: int, banks: Banks = ()) -> Buffer:
    """`[64, 64]` as `[slots, 64, 64]`; the slot axis joins the first group of a buffer that has axis separators."""
    number = build.const(slots, buffer.shape[0].dtype if buffer.shape else "int32")
    separators = tuple(s + 1 for s in buffer.axis_separators)
    if banks and not separators and buffer.shape:
        separators = (1,)
    strides = (_slot_stride(buffer, separated=1 in separators), *buffer.strides) if buffer.strides else ()
    return replace_fields(buffer, shape=(number, *buffer.shape), strides=strides, axis_separators=separators)


def _slot_stride(buffer: Buffer, *, separated: bool) -> Expr:
    if separated:
        return build.const(1, buffer.strides[0].dtype)
    return build.mul(buffer.strides[0], buffer.shape[0])


def slot_change(slotted: Buffer, slot: Expr, *, all_slots: bool = False) -> BufferChange:
    """The change that directs accesses to `slot`, and regions to `slot` or to all slots."""
    first = Range(build.const(0, slot.dtype), slotted.shape[0]) if all_slots else build.point(slot)

    def indices(old: Indices) -> Indices:
        return (slot, *old)

    def region(old: Axes) -> Axes:
        return (first, *old)

    return BufferChange(slotted, indices, region)


def slot_in_turn(loop: For, slots: int) -> Expr:
    """The slot that an iteration of the loop uses."""
    steps = build.sub(loop.loop_var, loop.min)
    return build.floormod(steps, build.const(slots, loop.loop_var.dtype))


def bank_notes(banks: Mapping[Buffer, Banks]) -> Annotations:
    """The annotation of a block that allocates these buffers."""
    placed = tuple((b.name, tuple(map(IntImm, numbers))) for b, numbers in banks.items() if numbers)
    return ((PLACED_KEY, AnnotationMap(placed)),) if placed else ()


def banks_noted(annotations: Annotations) -> dict[str, Banks]:
    """The banks that `bank_notes` recorded, by the buffer's name."""
    noted = dict(annotations).get(PLACED_KEY)
    if not isinstance(noted, AnnotationMap):
        return {}
    return {
        name: _numbers(cast("tuple[object, ...]", value)) for name, value in noted.items if isinstance(value, tuple)
    }
