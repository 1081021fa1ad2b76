"""Rules: what comes from the far memory and goes there: operands, padding, results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ...adopt import call_of
from ...hwsim import DmaEngine, Memory, filled_load
from ...ir import Block, Buffer, BufferLoad, BufferRegion, BufferStore, ScheduleCall, Var, free_vars, walk
from ...ir import dtype as dt
from ...schedule import gathered_places
from ..space.schedule_builder import ScheduleBuilder
from .draft import Group, ScheduleDraft
from .groups import bytes_of
from .lanes import is_summed

SMALL = 64
"""A buffer of at most this part of a memory, and of the largest operand of the group, is copied there whole, once."""


def decompose_padding(draft: ScheduleDraft) -> None:
    """Requires a block of the group that pads, with its result on chip. Line: `decompose_padding` below its loop over tiles: the constant
    is filled in, and a DMA copies the interior to its place."""
    for name in draft.group.members[:-1]:
        body = draft.block(name).body
        if not isinstance(body, BufferStore) or filled_load(body.value) is None:
            continue
        if body.buffer.name not in draft.near:
            continue
        around = draft.loops_of(name)
        depth = sum(loop.loop_var in (draft.grid, *draft.loops.values()) for loop in around)
        if depth < len(around) and _decomposed(draft, name, depth):
            copier = next((e for e in draft.machine.engines if isinstance(e, DmaEngine)), None)
            if copier is not None:
                draft.engines[name] = copier
            draft.decide(f"padding {name}: filled, then copied in place")
        else:
            draft.leave_out(f"padding {name} decomposed", "its loops do not allow it")


def _decomposed(draft: ScheduleDraft, name: str, depth: int) -> bool:
    """Fills the constant of a block that pads at the loop of this position around it; returns whether its loops allow it."""
    builder = draft.builder

    def calls() -> object:
        (loop,) = builder.call("get_loops", name, into=[f"{name}_loop"], at=depth)
        return builder.call("decompose_padding", name, loop, into=[f"{name}_fill"])

    return builder.attempt(calls) is not None


def stage_operands(draft: ScheduleDraft) -> None:
    """Requires a buffer in the far memory that an engine of the group cannot read there. Lines: `cache_read` along the shortest path of
    copies, for all readers at the same loop together, and `compute_at` the innermost loop over tiles that the region depends on; a region
    that depends on none, and a small buffer, is copied once, before all loops. `reindex_cache_read` copies every second element alone
    where its only reader skips the others, as a 1 x 1 convolution with a stride of two. A buffer that the engine could read in the far
    memory is copied if a sum reads it again and again and the memory on chip is faster, or if neighbours come from different rows. In a
    memory whose blocks have ports of their own, `double_buffer` in neighbouring blocks, a hole: while one slot fills, an engine reads the
    other."""
    banked = 0
    for (buffer, at, memory), readers in _operands(draft).items():
        consumers: Mapping[str, Sequence[str]] = consumers_argument(draft, buffer, readers)
        home = draft.memory_of(buffer)
        if home is None:
            continue
        reader = readers[0]
        for scope in draft.copy_path(home, memory)[1:]:
            calls = copy_calls(draft.block(reader), reader, buffer.name, buffer.name, scope, consumers)
            made = first_made(draft.builder, calls if len(readers) == 1 else calls[-1:], f"{buffer.name}_in")
            if made is None:
                draft.leave_out(f"a copy of {buffer.name}", f"cache_read to {scope} is refused")
                break
            call, reader = made
            if call is not calls[-1]:
                draft.decide(f"{buffer.name} copied without the elements between those that are read")
            placed = draft.first_accepted("compute_at", reader, draft.outward(at))
            where = "the start" if placed is None else f"loop {draft.name(placed)}"
            draft.decide(f"{buffer.name} copied at {where}")
            consumers = {}
            kept = draft.machine.find_memory(scope)
            spread_rows(draft, reader, buffer, kept)
            if placed is not None and kept is not None and _divides_ports(kept):
                pairs = neighbours_first(kept, banked)
                banks = draft.choice(f"{buffer.name}_banks", f"{buffer.name} banks", pairs)
                banked += 1
                draft.builder.accepts("double_buffer", reader, banks=banks)


def copy_calls(
    block: Block, reader: str, buffer: str, source: str | int, scope: str, consumers: Mapping[str, Sequence[str]]
) -> list[ScheduleCall]:
    """The calls that copy what a block reads of a buffer, the best first: without the elements between those that it reads, if it skips
    some (a copy for this reader alone), and the box of all. `source` names the operand, or is its position."""
    calls = [call_of("cache_read", (reader, source, scope), consumers)]
    try:
        places, has_gaps = gathered_places(block, buffer)
    except ValueError:
        return calls
    if has_gaps:
        position = [r.buffer.name for r in block.reads].index(buffer)
        calls.insert(0, call_of("reindex_cache_read", (reader, position, scope, places)))
    return calls


def first_made(builder: ScheduleBuilder, calls: Sequence[ScheduleCall], into: str) -> tuple[ScheduleCall, str] | None:
    """Makes the first of these calls that is accepted; returns it and the block that it adds, with this variable."""
    for call in calls:
        made = builder.attempt(partial(builder.make, call, [into]))
        if made is not None:
            return call, made[0]
    return None


def neighbours_first(memory: Memory, turn: int) -> tuple[tuple[int, int], None]:
    """Where two slots are: in two neighbouring blocks, others for each turn, or in any."""
    first = 2 * turn % memory.blocks
    return (first, (first + 1) % memory.blocks), None


def _divides_ports(memory: Memory) -> bool:
    return memory.has_own_ports and memory.blocks > 1


def spread_rows(draft: ScheduleDraft, copy: str, buffer: Buffer, memory: Memory | None) -> None:
    """Pads the rows of a buffer in interleaved banks, so that a column lies in many of them: by an element, beside tensor cores by the 16
    bytes to which the rows of fragments are aligned. `copy` is the block that writes it."""
    if memory is not None and memory.mapping == "interleave" and memory.blocks == 1 and len(buffer.shape) > 1:
        row = memory.banks * memory.interleave_bytes // dt.size_bytes(buffer.dtype)
        pad = max(1, 16 // dt.size_bytes(buffer.dtype)) if draft.in_fragments else 1
        draft.builder.accepts("storage_align", copy, 0, len(buffer.shape) - 2, row, pad)


def consumers_argument(draft: ScheduleDraft, buffer: Buffer, readers: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The argument that gives a copy these readers; none for a single one, as a copy without it serves all readers of the buffer."""
    index = draft.index
    every = [n for n in index.block_names[1:] if any(r.buffer is buffer for r in index.block(n).reads)]
    return {} if len(every) == 1 else {"consumer_blocks": tuple(readers)}


def _operands(draft: ScheduleDraft) -> dict[tuple[Buffer, Var | None, Memory], list[str]]:
    """The readers of each far buffer by loop and memory."""
    found: dict[tuple[Buffer, Var | None, Memory], list[str]] = {}
    largest = max((bytes_of(r.buffer) for n in draft.group.every for r in draft.block(n).reads), default=0)
    for name in draft.group.every:
        engine = draft.engines[name]
        block = draft.block(name)
        written = {w.buffer for w in block.writes}
        for region in block.reads:
            buffer = region.buffer
            home = draft.memory_of(buffer)
            if buffer in written or home is None:
                continue
            near = draft.on_chip(engine.reads)
            if home.name in engine.reads:
                is_scattered = draft.is_far(home) and _is_scattered(draft, name, region)
                is_reread = _is_reread(draft, name, buffer)
                is_sum = draft.is_far(home) and draft.index.is_reduction(name)
                near = [
                    m
                    for m in near
                    if _is_filled(draft, home, m)
                    and (is_scattered or (is_reread and (draft.binds_threads or (is_sum and _is_slower(home, m)))))
                ]
            if not near:
                continue
            small = SMALL * bytes_of(buffer) <= min(near[0].capacity_bytes, largest)
            loops = frozenset[str]() if small else draft.flow.of_block_read(name, buffer) & draft.tiled_around(name)
            inner = draft.inner.get(name)
            follows = inner is not None and any(inner.iterator in free_vars(axis.min) for axis in region.region)
            at = inner.loop if inner is not None and follows else draft.innermost(loops)
            found.setdefault((buffer, at, near[0]), []).append(name)
    return {key: list(dict.fromkeys(readers)) for key, readers in found.items()}


def _is_filled(draft: ScheduleDraft, home: Memory, memory: Memory) -> bool:
    """Whether a DMA copies from one memory to the other."""
    engines = draft.machine.engines
    return any(isinstance(e, DmaEngine) and home.name in e.reads and memory.name in e.writes for e in engines)


def _is_slower(home: Memory, near: Memory) -> bool:
    """Whether an engine reads a memory on chip faster than another one."""
    return home.read_bytes_per_cycle < near.read_bytes_per_cycle


def _is_scattered(draft: ScheduleDraft, name: str, region: BufferRegion) -> bool:
    """Whether neighbours in the result of a block come from different rows of an operand, as in a transpose."""
    written = draft.block(name).writes[0].region
    if not written or not region.region:
        return False
    along = free_vars(written[-1].min)
    *rows, last = [free_vars(axis.min) for axis in region.region]
    return not along & last and any(along & row for row in rows)


def _is_reread(draft: ScheduleDraft, name: str, buffer: Buffer) -> bool:
    """Whether the group reads elements of a buffer several times: in several blocks, at several places, or in several iterations."""
    block = draft.block(name)
    readers = sum(any(r.buffer is buffer for r in draft.block(n).reads) for n in draft.group.every)
    loads = [n for n in walk(block.body) if isinstance(n, BufferLoad) and n.buffer is buffer]
    used = {v for load in loads for index in load.indices for v in free_vars(index)}
    return readers > 1 or len(loads) > 1 or any(iv.var not in used for iv in block.iter_vars) or _overlaps(loads)


def _overlaps(loads: Sequence[BufferLoad]) -> bool:
    """Whether an index of a load is a sum of iterators, as in a window."""
    return any(len(free_vars(index)) > 1 for load in loads for index in load.indices)


def store_part(draft: ScheduleDraft) -> None:
    """Requires a result of the group that blocks of other groups write, too, as the halves of a concatenation. Line: `reindex`: the block
    writes a buffer of its own, and a DMA copies that to its part of the result, tile by tile in place of the block."""
    index, group = draft.index, draft.group
    buffer = draft.block(group.result).writes[0].buffer
    writers, home = index.writers(buffer), draft.memory_of(buffer)
    engines = (e for e in draft.machine.engines if isinstance(e, DmaEngine))
    copier = next((e for e in engines if home is not None and home.name in e.writes), None)
    if len(writers) == 1 or copier is None:
        return
    spatial = [f.loop_var.name for f in draft.loops_of(group.last) if not is_summed(index.realize(group.last), f)]
    into = f"{group.result}_out"
    made = draft.builder.attempt(lambda: draft.builder.call("reindex", group.result, ("write", 0), into=[into]))
    if made is None:
        draft.leave_out(f"{group.result} tile by tile", f"blocks {', '.join(writers)} write {buffer.name}")
        return
    (copy,) = made
    own = dict(zip(spatial, (f.loop_var.name for f in draft.loops_of(copy)), strict=False))
    tiled = tuple(own[name] for name in group.tiled if name in own)
    draft.group, draft.part = Group((*group.every, copy), tiled), copy
    draft.flow = draft.flow_of_group()
    draft.engines[copy] = copier
    draft.decide(f"{group.result} leaves as a part of {buffer.name}")


def store_result(draft: ScheduleDraft) -> None:
    """Requires a result of the group in a memory that its block's engine does not write. Lines: `cache_write` along the shortest path of
    copies, for a matrix unit its first memory a hole if several have direct copies, `reverse_compute_at` the innermost loop over tiles
    outside of reductions, and two slots or one as a hole, with their banks where these have ports of their own."""
    last = draft.group.result
    engine = draft.engines[last]
    home = draft.memory_of(draft.block(last).writes[0].buffer)
    near = draft.on_chip(engine.writes)
    if home is None or home.name in engine.writes or not near or last in draft.in_fragments:
        return
    at = draft.of_result()
    paths = {m.scope: draft.copy_path(m, home)[:-1] for m in near}
    direct = [scope for scope, path in paths.items() if path == (scope,)]
    if engine.name in draft.matrix_names and len(direct) > 1 and direct[0] == near[0].scope:
        stages = [draft.choice(f"{last}_scope", f"{last} scope", direct)]
    else:
        direct, stages = [near[0].scope], list(reversed(paths[near[0].scope]))
    for scope in stages:
        made = first_made(draft.builder, [call_of("cache_write", (last, 0, scope))], f"{last}_out")
        if made is None:
            draft.leave_out(f"{last} on chip", f"cache_write to {scope} is refused")
            return
        if at is not None:
            draft.first_accepted("reverse_compute_at", made[1], [at])
    draft.decide(f"{last} leaves tile by tile from {' or '.join(direct)}")
    _rotate_result(draft, near[0] if len(direct) == 1 else None)


def _rotate_result(draft: ScheduleDraft, memory: Memory | None) -> None:
    """Offers two slots or one for the result, and neighbouring blocks for them in a memory whose blocks have ports of their own."""
    last, builder = draft.group.result, draft.builder
    slots = draft.choice(f"{last}_slots", f"{last} slots", (2, 1))
    if memory is not None and _divides_ports(memory):
        banks = draft.choice(f"{last}_banks", f"{last} banks", neighbours_first(memory, 0))
        if builder.accepts("double_buffer", last, slots=slots, banks=banks):
            return
    builder.accepts("double_buffer", last, slots=slots)


__all__ = [
    "consumers_argument",
    "decompose_padding",
    "neighbours_first",
    "spread_rows",
    "stage_operands",
    "store_part",
    "store_result",
]
