"""Updates of annotations that name a buffer by its position among a block's writes, for blocks that lose writes.

`buffer_dim_align = [[position, axis, factor, offset], …]`, `double_buffer_scope = position`. If a buffer moves inside of the annotated
block, the request moves to the inner block that writes the buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from ..ir import Annotations, Block, Buffer, BufferRegion, Expr, IntImm, build
from .pipelining.slots import BANKS_KEY, DOUBLE_BUFFER_KEY, SLOTS_KEY

ALIGN_KEY = "buffer_dim_align"

Alignment = dict[int, tuple[int, int]]
"""For each axis: factor and offset."""


def alignments_of(block: Block) -> dict[Buffer, Alignment]:
    """The alignments that the block requests for its buffers; later requests override earlier ones. Requests for a position or an axis that
    does not exist are ignored (calls may change the buffer that the block writes)."""
    found: dict[Buffer, Alignment] = {}
    for key, value in block.annotations:
        if key != ALIGN_KEY or not isinstance(value, tuple):
            continue
        for item in cast("tuple[object, ...]", value):
            numbers = tuple(map(build.int_value, cast("tuple[Expr, ...]", item))) if isinstance(item, tuple) else ()
            if len(numbers) == 4 and None not in numbers:
                position, axis, factor, offset = cast("tuple[int, int, int, int]", numbers)
                buffer = block.writes[position].buffer if 0 <= position < len(block.writes) else None
                if buffer is not None and 0 <= axis < len(buffer.shape):
                    found.setdefault(buffer, {})[axis] = (factor, offset)
    return found


def annotations_for(block: Block, writes: Sequence[BufferRegion], asked: Mapping[Buffer, Alignment]) -> Annotations:
    """The block's annotations for these writes, with the `asked` alignments added."""
    place = {w.buffer: n for n, w in enumerate(writes)}
    align = {b: dict(axes) for b, axes in alignments_of(block).items() if b in place}
    for buffer, axes in asked.items():
        align[buffer] = {**axes, **align.get(buffer, {})}
    doubled = next((v for k, v in block.annotations if k == DOUBLE_BUFFER_KEY), None)
    first = _buffer_at(block, doubled)
    kept: list[tuple[str, object]] = []
    for key, value in block.annotations:
        if key == DOUBLE_BUFFER_KEY and first is not None:
            value = IntImm(place[first]) if first in place else None
        elif (key in (BANKS_KEY, SLOTS_KEY) and first is not None and first not in place) or key == ALIGN_KEY:
            value = None
        if value is not None:
            kept.append((key, value))
    rows = tuple(
        tuple(map(IntImm, (place[b], axis, *numbers))) for b, axes in align.items() for axis, numbers in axes.items()
    )
    return cast("Annotations", (*kept, *(((ALIGN_KEY, rows),) if rows else ())))


def _buffer_at(block: Block, position: object) -> Buffer | None:
    number = position.value if isinstance(position, IntImm) else -1
    return block.writes[number].buffer if 0 <= number < len(block.writes) else None
