"""Placement of buffers: memory, physical block, and cells, the parts that tasks synchronise on individually.

A buffer whose layout has axis separators has parts, one for each value of its first group of axes; with two slots it has twice as many.
Part i (slots first) is in physical block i, modulo the number of blocks. If the schedule names banks, slot i is in the i-th of them, with
all its parts. Any other buffer is placed as a whole in the first block with enough room.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm, prod

import msgspec

from ...ir import Buffer, build
from ...ir import dtype as dt
from ..errors import refuse
from ..machine.model import Machine
from ..machine.parts import Memory
from ..tasks.nest import Nest, Site


class Placement(msgspec.Struct, frozen=True, eq=False):
    """Placement of one buffer. Cells are numbered `first_cell + slot * parts + part`; `banks` has the physical block of each, in that
    order.

    The first begins at byte `address` of its memory (its block): buffers are placed one after the other, each aligned to a row and a burst.
    """

    site: Site
    is_param: bool
    memory: Memory
    parts: int
    part_bytes: int
    first_cell: int
    banks: tuple[int, ...]
    address: int = 0

    @property
    def buffer(self) -> Buffer:
        return self.site.buffer

    @property
    def slots(self) -> int:
        return self.site.slots

    @property
    def cells(self) -> int:
        return self.slots * self.parts

    @property
    def indexed_cells(self) -> int:
        """The number of cells that an access selects from by its leading indices: of all slots, or of the current slot."""
        return self.cells if self.site.indexed else self.parts

    @property
    def total_bytes(self) -> int:
        return self.cells * self.part_bytes

    def slot_of(self, cell: int) -> int:
        return (cell - self.first_cell) // self.parts

    def bank_of(self, cell: int) -> int:
        return self.banks[cell - self.first_cell]

    def label(self, cell: int) -> str:
        """The displayed name of a cell: "A#0" for slot 0, "A" with a single slot."""
        return f"{self.buffer.name}#{self.slot_of(cell)}" if self.slots > 1 else self.buffer.name


class Places(msgspec.Struct, frozen=True, eq=False):
    """All buffers of a program on a machine, parameters first."""

    machine: Machine
    placements: tuple[Placement, ...]
    by_buffer: dict[Buffer, Placement]
    of_cell: tuple[Placement, ...]


def row_name(memory: Memory, bank: int) -> str:
    """Returns the name of a physical block: "local.vtcm[0]", or the scope if there is one block."""
    return f"{memory.scope}[{bank}]" if memory.blocks > 1 else memory.scope


def place(machine: Machine, nest: Nest) -> Places:
    """Places all buffers. Raises MachineError for a scope that no memory implements, or an unknown shape."""
    filled = {memory.name: [0] * memory.blocks for memory in machine.memories}
    ends: dict[tuple[str, int], int] = {}
    placements: list[Placement] = []
    of_cell: list[Placement] = []
    for site in nest.sites:
        buffer = site.buffer
        memory = memory_of(machine, buffer, nest)
        shape = constant_shape(buffer)
        lead = site.lead
        parts = prod(shape[int(site.indexed) : lead])
        part_bytes = _elements(buffer, lead, shape[lead:]) * dt.size_bytes(buffer.dtype)
        part_bytes *= prod(loop.extent for loop in site.threads)
        named = memory.block_of(buffer.scope)
        if named is not None:
            require_block(buffer, memory, named)
            banks = (named,) * (site.slots * parts)
        elif site.banks and memory.blocks > 1:
            require_banks(site, memory)
            banks = tuple(site.banks[slot % len(site.banks)] for slot in range(site.slots) for _ in range(parts))
        else:
            separated = bool(buffer.axis_separators)
            banks = _banks(filled[memory.name], memory, site.slots * parts, part_bytes, separated=separated)
        row = lcm(memory.interleave_bytes or 1, memory.burst_bytes)
        address = -(-ends.get((memory.name, banks[0]), 0) // row) * row
        ends[memory.name, banks[0]] = address + banks.count(banks[0]) * part_bytes
        is_param = nest.index.is_param(buffer)
        placement = Placement(site, is_param, memory, parts, part_bytes, len(of_cell), banks, address)
        for bank in banks:
            filled[memory.name][bank] += part_bytes
        placements.append(placement)
        of_cell += [placement] * len(banks)
    return Places(machine, tuple(placements), {p.buffer: p for p in placements}, tuple(of_cell))


def _elements(buffer: Buffer, lead: int, shape: Sequence[int]) -> int:
    """Returns the number of elements that the axes after the leading ones span."""
    stride = build.int_value(buffer.strides[lead]) if buffer.strides and shape else None
    return prod(shape) if stride is None else stride * shape[0]


def _banks(filled: Sequence[int], memory: Memory, cells: int, part_bytes: int, *, separated: bool) -> tuple[int, ...]:
    if separated:
        return tuple(i % memory.blocks for i in range(cells))
    room = memory.capacity_bytes // memory.blocks
    whole = cells * part_bytes
    first = next((b for b, used in enumerate(filled) if used + whole <= room), None)
    return (filled.index(min(filled)) if first is None else first,) * cells


# A scope that names a physical block names an existing one.
def require_block(buffer: Buffer, memory: Memory, block: int) -> None:
    if block >= memory.blocks:
        raise refuse(
            "no-such-bank", f"buffer {buffer.name!r} is placed in {buffer.scope}, block {block} of {memory.name!r}, which the machine "
            "does not have", buffer, found=f"{memory.blocks} of {memory.name!r}", expected=f"{block + 1} blocks at least",
        )  # fmt: skip


# The banks that a schedule assigns to slots exist.
def require_banks(site: Site, memory: Memory) -> None:
    missing = [b for b in site.banks if b >= memory.blocks]
    if missing:
        raise refuse(
            "no-such-bank", f"a slot of {site.buffer.name!r} is placed in {memory.scope}[{missing[0]}], which the machine does not have",
            site.buffer, found=", ".join(f"{memory.scope}[{b}]" for b in site.banks),
            expected=", ".join(f"{memory.scope}[{b}]" for b in range(memory.blocks)),
        )  # fmt: skip


# Every scope of the program belongs to a memory of the machine.
def memory_of(machine: Machine, buffer: Buffer, nest: Nest) -> Memory:
    memory = machine.find_memory(buffer.scope)
    if memory is not None:
        return memory
    known = [s for m in machine.memories for s in (*m.scopes, *m.block_scopes)]
    writers = () if nest.index.is_param(buffer) else writers_of(buffer, nest)[:1]
    raise refuse(
        "unknown-scope", f"buffer {buffer.name!r} is in scope {buffer.scope!r}, for which {machine.name!r} has no memory",
        *map(nest.index.block, writers), buffer, found=buffer.scope, expected=", ".join(known),
        fix=tuple(f"sch.set_scope({w!r}, 0, {s!r})" for w in writers for s in known if s != "global"),
    )  # fmt: skip


def writers_of(buffer: Buffer, nest: Nest) -> tuple[str, ...]:
    """Returns the blocks that write `buffer` and have a name in the schedule, without those that planning adds around allocations."""
    return tuple(name for name in nest.index.writers(buffer) if name)


def strides_of(buffer: Buffer) -> tuple[int, ...]:
    """Returns the elements between neighbours of each axis, in its group of axes. Raises MachineError."""
    if buffer.strides:
        return tuple(build.int_value(s) or 0 for s in buffer.strides)
    shape = constant_shape(buffer)
    found, step = [0] * len(shape), 1
    for n in reversed(range(len(shape))):
        step = 1 if n + 1 in buffer.axis_separators else step
        found[n], step = step, step * shape[n]
    return tuple(found)


def constant_shape(buffer: Buffer) -> tuple[int, ...]:
    """Returns the shape in numbers. Raises MachineError."""
    shape = [build.int_value(e) for e in buffer.shape]
    if any(e is None for e in shape):
        raise refuse("symbolic-shape", f"the size of buffer {buffer.name!r} is unknown, so it cannot be placed in memory", buffer,
                     expected="a constant shape")  # fmt: skip
    return tuple(e for e in shape if e is not None)
