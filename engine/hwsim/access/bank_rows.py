"""Interleaved banks with ports of their own: the rows of each bank that a task accesses, and what decides about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np

from ...ir import Expr, IntImm, Var, build, substitute
from ..machine.parts import Memory
from ..tasks.geometry import Layout, TaskDomain, listed, without_loops
from ..tasks.grid import UnknownValueError, Values
from ..tasks.work import Access, element_bytes
from .byte_addresses import byte_addresses
from .placement import Placement


def banks_of_rows(placement: Placement, accesses: Iterable[tuple[Access, Layout, TaskDomain]]) -> list[int]:
    """Returns the bank of each row that accesses to a buffer touch; every bank once if addresses depend on data, or are too many to
    list.
    """
    memory = placement.memory
    row = memory.interleave_bytes
    rows: list[Values] = []
    try:
        for access, layout, where in accesses:
            size = element_bytes(access)
            if access.extents:
                raise UnknownValueError
            moving = layout.loops(where.extents)
            (places,) = listed([layout], without_loops(where, [v for v in where.extents if v not in moving]))
            first = byte_addresses(placement, places, where.outer)
            rows += [(first + offset) // row for offset in {*range(0, size, row), size - 1}]
    except UnknownValueError:
        return list(range(memory.banks))
    banks: list[int] = (np.unique(np.concatenate(rows)) % memory.banks).tolist()
    return banks


def first_row(memory: Memory, access: Access, layout: Layout, inner: Collection[Var]) -> Expr:
    """Returns the place among the rows of all banks at which an access begins, as an expression of the loops around the task: equal places
    mean equal banks.
    """
    found = layout.address
    if layout.progression is not None:
        found = build.const(layout.progression.constant, "int32")
        for around, factor in layout.progression.around.items():
            found = build.add(found, build.mul(around, factor))
    assert found is not None
    zeros = {v: IntImm(0, v.dtype) for v in inner}
    start = build.mul(substitute(found, zeros), element_bytes(access))
    return build.floormod(start, memory.banks * memory.interleave_bytes)
