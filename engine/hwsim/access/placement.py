"""Placement of buffers: memory, physical block, and cells, the parts that tasks synchronise on individually.

A buffer whose layout has axis separators has parts, one for each value of its first group of axes; with two slots it has twice as many.
Part i (slots first) is in physical block i, modulo the number of blocks. If the schedule names banks, slot i is in the i-th of them, with
all its parts. Any other buffer is placed as a whole in one block.

`allocation` chooses the addresses. Where buffers share addresses, a write to one waits for the accesses to the others (`Places.clobbered`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod

import msgspec

from ...ir import Buffer, IntImm, PrimFunc, build
from ...ir import dtype as dt
from ..errors import refuse
from ..machine.model import Machine
from ..machine.parts import Memory
from ..tasks.grid import Values
from ..tasks.lifetimes import lifetimes_of
from ..tasks.nest import AllocationSite, Nest, leaves_of
from ..tile_layouts.products import matrix_unit
from ..tile_layouts.stored import ROW_MAJOR, StoredLayout, stored_layouts
from .allocation import ANY, Chunk, ChunkSpot, allocate, largest_live

MAX_TOKENS = 64
"""The largest number of a flag that is told from others."""


class Placement(msgspec.Struct, frozen=True, eq=False):
    """Placement of one buffer. Cells are numbered `first_cell + slot * parts + part`; `banks` has the physical block of each, in that
    order.

    Each begins at its byte of `addresses`, in its memory or physical block; a buffer's first cell in a block is aligned to a row and a
    burst.
    """

    site: AllocationSite
    is_param: bool
    memory: Memory
    parts: int
    part_bytes: int
    first_cell: int
    banks: tuple[int, ...]
    addresses: tuple[int, ...]
    stored: StoredLayout = ROW_MAJOR
    order: tuple[int, Values] | None = None
    """The elements of a matrix, and the place of each in memory, if that is another one."""

    @property
    def buffer(self) -> Buffer:
        return self.site.buffer

    @property
    def address(self) -> int:
        """The address of the first cell."""
        return self.addresses[0]

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

    def address_of(self, cell: int) -> int:
        return self.addresses[cell - self.first_cell]

    def label(self, cell: int) -> str:
        """The displayed name of a cell: "A#0" for slot 0, "A" with a single slot."""
        if self.site.own_axis is not None:
            return f"{self.buffer.name}#{cell - self.first_cell}"
        return f"{self.buffer.name}#{self.slot_of(cell)}" if self.slots > 1 else self.buffer.name


class MemoryUse(msgspec.Struct, frozen=True):
    """Static use of a memory, or of a physical block. `end_bytes` is the end of the highest used address; `live_bytes` the largest sum of
    buffers that live at the same point of the program, and `live` are those at the first such point: (placement, bytes), the largest first.
    """

    end_bytes: int
    live_bytes: int
    live: tuple[tuple[int, int], ...]


class Places(msgspec.Struct, frozen=True, eq=False):
    """All buffers of a program on a machine, parameters first. `use` is by row. `sharing` has the cells with which a cell shares addresses:
    a write to the cell destroys their contents.
    """

    machine: Machine
    placements: tuple[Placement, ...]
    by_buffer: dict[Buffer, Placement]
    of_cell: tuple[Placement, ...]
    use: dict[str, MemoryUse]
    sharing: dict[int, tuple[int, ...]]
    tokens: Mapping[str, range] = {}
    """The cells of the tokens of flags and barriers, without a byte, by name. They are behind those of the buffers."""

    def is_token(self, cell: int) -> bool:
        return self.of_cell[cell].buffer.name in self.tokens

    @property
    def peaks(self) -> dict[str, int]:
        """The end of the highest used address of each row."""
        return {row: use.end_bytes for row, use in self.use.items()}


def row_name(memory: Memory, bank: int) -> str:
    """Returns the name of a physical block: "local.vtcm[0]", or the scope if there is one block."""
    return f"{memory.scope}[{bank}]" if memory.blocks > 1 else memory.scope


def place(machine: Machine, nest: Nest, func: PrimFunc | None = None) -> Places:
    """Places all buffers of the planned program in `nest`; `func` is the program before it was planned.

    Raises MachineError for a scope that no memory implements, or an unknown shape.
    """
    lifetimes = lifetimes_of(nest)
    layouts = _layouts(machine, func or nest.func)
    requests = [_request(machine, nest, site, layouts) for site in nest.sites]
    spots: dict[Part, ChunkSpot] = {}
    use: dict[str, MemoryUse] = {}
    for memory in machine.memories:
        chunks = {
            (number, block): Chunk(count * r.part_bytes, lifetimes[r.site].first, lifetimes[r.site].last, block)
            for number, r in enumerate(requests)
            if r.memory is memory
            for block, count in Counter(r.blocks).items()
        }
        room = memory.capacity_bytes // memory.blocks
        spread = memory.has_own_ports
        found = allocate(tuple(chunks.values()), memory.blocks, room, memory.alignment_bytes, spread=spread)
        spots.update(zip(chunks, found, strict=True))
        for block in range(memory.blocks):
            use[row_name(memory, block)] = _use({p: c for p, c in chunks.items() if spots[p].block == block}, spots)
    placements: list[Placement] = []
    of_cell: list[Placement] = []
    for number, request in enumerate(requests):
        of_block = {block: spots[number, block] for block in request.blocks}
        placements.append(
            _placement(request, of_block, len(of_cell), is_param=nest.index.is_param(request.site.buffer))
        )
        of_cell += [placements[-1]] * len(request.blocks)
    by_buffer = {p.buffer: p for p in placements}
    sharing = _sharing(of_cell)
    tokens: dict[str, range] = {}
    for name, count in _tokens(nest).items():
        tokens[name] = range(len(of_cell), len(of_cell) + count)
        site = AllocationSite(Buffer(name, (IntImm(count),), "int8", machine.far.scope))
        nowhere = (0,) * count
        of_cell += [Placement(site, True, machine.far, count, 0, len(of_cell), nowhere, nowhere)] * count
    return Places(machine, tuple(placements), by_buffer, tuple(of_cell), use, sharing, tokens)


def _tokens(nest: Nest) -> dict[str, int]:
    """Returns the tokens of flags and barriers by name, each with the largest number of one and 1; 1 if that is not known."""
    found: dict[str, int] = {}
    for leaf in leaves_of(nest.children):
        for name, index in (*leaf.awaits, *leaf.signals):
            high = nest.analyzer.bounds(index).high
            found[name] = max(found.get(name, 1), 1 + high if high is not None and high < MAX_TOKENS else 1)
    return found


def bytes_of_sites(machine: Machine, nest: Nest) -> dict[AllocationSite, tuple[Memory, int]]:
    """Returns the memory of each buffer and its bytes there, in all slots. Raises MachineError as `place` does."""
    layouts = _layouts(machine, nest.func)
    requests = (_request(machine, nest, site, layouts) for site in nest.sites)
    return {r.site: (r.memory, len(r.blocks) * r.part_bytes) for r in requests}


Part = tuple[int, int]
"""The cells of a buffer, by its number, in one physical block."""


class _Request(msgspec.Struct, frozen=True, eq=False):
    """A buffer to place: `blocks` has the physical block of each cell, or ANY."""

    site: AllocationSite
    memory: Memory
    parts: int
    part_bytes: int
    blocks: tuple[int, ...]
    stored: StoredLayout = ROW_MAJOR
    order: tuple[int, Values] | None = None


Layouts = Mapping[str, tuple[tuple[int | None, ...], StoredLayout]]
"""The layouts of buffers by name, with the extents of the matrix of each."""


def _layouts(machine: Machine, func: PrimFunc) -> Layouts:
    """Returns the layouts that TileLang's compiler chooses on a machine whose matrix unit it knows."""
    unit = matrix_unit(machine)
    found = {} if unit is None else stored_layouts(func, unit)
    names = Counter(buffer.name for buffer in found)
    return {
        b.name: (tuple(map(build.int_value, b.shape[-2:])), layout) for b, layout in found.items() if names[b.name] == 1
    }


def _request(machine: Machine, nest: Nest, site: AllocationSite, layouts: Layouts) -> _Request:
    buffer = site.buffer
    memory = memory_of(machine, buffer, nest)
    shape = constant_shape(buffer)
    lead = site.lead
    parts = prod(shape[int(site.indexed) : lead])
    part_bytes = _elements(buffer, lead, shape[lead:]) * dt.size_bytes(buffer.dtype)
    if site.own_axis is not None:
        parts = shape[site.own_axis]
        part_bytes //= parts
    part_bytes *= prod(loop.extent for loop in site.threads)
    matrix, stored = layouts.get(buffer.name, ((), ROW_MAJOR))
    order: tuple[int, Values] | None = None
    if len(shape) - lead >= 2 and matrix == shape[-2:] and not buffer.strides:
        places = stored.order(shape[-2], shape[-1], dt.bits(buffer.dtype))
        order = None if places is None else (shape[-2] * stored.row_elements(shape[-1]), places)
        part_bytes = part_bytes // shape[-1] * stored.row_elements(shape[-1])
    elif stored.kind not in ("row-major", "unknown"):
        stored = StoredLayout("unknown", reason="only a part of it is in use")
    return _Request(site, memory, parts, part_bytes, _blocks(site, memory, parts), stored, order)


def _blocks(site: AllocationSite, memory: Memory, parts: int) -> tuple[int, ...]:
    """Returns the physical block that the program requires for each cell, else ANY."""
    named = memory.block_of(site.buffer.scope)
    if named is not None:
        require_block(site.buffer, memory, named)
        return (named,) * (site.slots * parts)
    if site.banks and memory.blocks > 1:
        require_banks(site, memory)
        return tuple(site.banks[slot % len(site.banks)] for slot in range(site.slots) for _ in range(parts))
    if site.buffer.axis_separators:
        return tuple(cell % memory.blocks for cell in range(site.slots * parts))
    return (ANY,) * (site.slots * parts)


def _placement(request: _Request, spots: Mapping[int, ChunkSpot], first_cell: int, *, is_param: bool) -> Placement:
    before: Counter[int] = Counter()
    addresses: list[int] = []
    for block in request.blocks:
        addresses.append(spots[block].address + before[block] * request.part_bytes)
        before[block] += 1
    banks = tuple(spots[block].block for block in request.blocks)
    return Placement(
        request.site, is_param, request.memory, request.parts, request.part_bytes, first_cell, banks, tuple(addresses),
        request.stored, request.order,
    )  # fmt: skip


def _use(chunks: Mapping[Part, Chunk], spots: Mapping[Part, ChunkSpot]) -> MemoryUse:
    """Returns the use of one physical block by its chunks."""
    most, leaf = largest_live(chunks.values())
    live = {part: c.size_bytes for part, c in chunks.items() if c.first <= leaf <= c.last}
    end = max((spots[part].address + c.size_bytes for part, c in chunks.items()), default=0)
    return MemoryUse(end, most, tuple(sorted(((n, size) for (n, _), size in live.items()), key=lambda row: -row[1])))


def _sharing(of_cell: Sequence[Placement]) -> dict[int, tuple[int, ...]]:
    """Returns for each cell those with which it shares addresses, if there are any."""
    spans: dict[str, list[tuple[int, int, int]]] = {}
    for cell, placement in enumerate(of_cell):
        address = placement.address_of(cell)
        row = row_name(placement.memory, placement.bank_of(cell))
        spans.setdefault(row, []).append((address, address + placement.part_bytes, cell))
    found: dict[int, tuple[int, ...]] = {}
    for row in spans.values():
        below: list[tuple[int, int]] = []
        for start, end, cell in sorted(row):
            below = [(until, other) for until, other in below if until > start]
            for _, other in below:
                found[cell] = (*found.get(cell, ()), other)
                found[other] = (*found.get(other, ()), cell)
            below.append((end, cell))
    return found


def _elements(buffer: Buffer, lead: int, shape: Sequence[int]) -> int:
    """Returns the number of elements that the axes after the leading ones span."""
    stride = build.int_value(buffer.strides[lead]) if buffer.strides and shape else None
    return prod(shape) if stride is None else stride * shape[0]


# A scope that names a physical block names an existing one.
def require_block(buffer: Buffer, memory: Memory, block: int) -> None:
    if block >= memory.blocks:
        raise refuse(
            "no-such-bank", f"buffer {buffer.name!r} is placed in {buffer.scope}, block {block} of {memory.name!r}, which the machine "
            "does not have", buffer, found=f"{memory.blocks} of {memory.name!r}", expected=f"{block + 1} blocks at least",
        )  # fmt: skip


# The banks that a schedule assigns to slots exist.
def require_banks(site: AllocationSite, memory: Memory) -> None:
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
