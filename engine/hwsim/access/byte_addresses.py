"""Byte addresses of the elements of a buffer, from their places in its layout (`geometry.Layout`) and its cells."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from ...ir import Buffer, Var
from ...ir import dtype as dt
from ..tasks.geometry import far_elements
from ..tasks.grid import Values
from .placement import Placement, constant_shape


def byte_addresses(placement: Placement, places: Values | int, at: Mapping[Var, int]) -> Values:
    """Returns the addresses of elements, with loops around at iterations `at`, which select the slot. Physical blocks follow each other at
    whole bursts.
    """
    elements = np.asarray(places, np.int64)
    loop = placement.site.slot_loop
    slot = 0 if loop is None else at.get(loop.var, 0) % placement.slots
    part, within = _parted(placement.buffer, elements)
    within = stored_places(placement, within)
    cell = np.clip(slot * placement.parts + part, 0, placement.cells - 1)
    return _starts(placement)[cell] + within * dt.size_bytes(placement.buffer.dtype)


def stored_places(placement: Placement, within: Values) -> Values:
    """Returns the places in memory of elements that are given by their row-major numbers in a part."""
    if placement.order is None:
        return within
    size, order = placement.order
    matrix, element = np.divmod(within, len(order))
    return matrix * size + order[element]


def step_bytes(placement: Placement, step: int) -> int | None:
    """Returns the distance in bytes of two elements that are `step` apart in the layout; None if it is not the same for all of them. Parts
    in physical blocks that all begin at a burst count as neighbours: no burst has elements of two of them.
    """
    if placement.order is not None and step % len(placement.order[1]):
        return None
    part, within = (int(n) for n in _parted(placement.buffer, np.asarray(step, np.int64)))
    apart, starts, alignment = 0, _starts(placement), placement.memory.alignment_bytes
    if part:
        distances = set(np.diff(starts).tolist())
        if len(distances) == 1:
            apart = distances.pop()
        elif placement.memory.blocks > 1 and not (starts % alignment).any():
            apart = -(-placement.part_bytes // alignment) * alignment
        else:
            return None
    if placement.order is not None:
        within = within // len(placement.order[1]) * placement.order[0]
    return within * dt.size_bytes(placement.buffer.dtype) + part * apart


def _parted(buffer: Buffer, elements: Values) -> tuple[Values, Values]:
    """Returns the part of each element, which its leading axes select, and its place in the part. Groups of axes are far apart in a layout,
    but contiguous within a part.
    """
    part = np.zeros_like(elements)
    if not buffer.axis_separators:
        return part, elements
    shape, far = constant_shape(buffer), far_elements(buffer)
    digits: list[Values] = []
    for _ in buffer.axis_separators:
        # An access at a border may begin before its group.
        rounded = (elements + far // 2) // far
        digits.append(elements - rounded * far)
        elements = rounded
    within = sum(
        (digit * prod(shape[first:]) for digit, first in zip(digits[1:], buffer.axis_separators[:0:-1], strict=True)),
        digits[0],
    )
    return elements, within


def _starts(placement: Placement) -> Values:
    """Returns the address of each cell, with the physical blocks one after the other."""
    memory = placement.memory
    block_bytes = -(-memory.capacity_bytes // memory.blocks // memory.alignment_bytes) * memory.alignment_bytes
    return np.asarray(placement.addresses, np.int64) + np.asarray(placement.banks, np.int64) * block_bytes
