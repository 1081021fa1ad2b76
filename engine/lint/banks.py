"""Lints: bank conflicts between lanes, and operands that share one physical block."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from ..hwsim import Memory, Placement, Report, Template, row_name
from ..ir import AXIS_SEPARATOR, IndexMap, Var, build, uses_var
from ..ir import dtype as dt
from ..schedule import Schedule
from .finding import LintFinding, lint_finding
from .revisions import Chain
from .slots import is_doubled, one_slot
from .subject import Subject, in_parts

PART_OF_ALL = 20
"""Conflicts below one in this many of the program's cycles are in the report, but not a finding."""

WAITS = 10
"""An engine that waits for its operands in less than one in this many cycles is not reported."""

MOST_SHIFTS = 4
"""Paddings tried for one axis of a buffer."""

MOST_TOGETHER = 3
"""Buffers that are padded together."""


def find_bank_conflicts(subject: Subject) -> Iterator[LintFinding]:
    """The lanes of a vector access different rows of one bank at once, and a bank serves one row per cycle: a stride is a multiple of the
    banks' period, or operands start in the same bank. Conflicts are counted from the addresses of the accesses."""
    for finding in subject.findings("bank-conflict"):
        if subject.report is not None and finding.cycles * PART_OF_ALL >= subject.report.cycles:
            yield lint_finding(finding)


def bank_conflict_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`storage_align` of one buffer, or of all with different paddings, so that neighbouring rows start in different banks; the axes in
    another order (`set_layout`). The simulator counts the conflicts of each."""
    own = [p for name in finding.buffers if (p := subject.placement(name)) is not None and subject.writers(name)]
    for placement in own:
        yield from (subject.then(lambda sch, c=c: _align(sch, *c)) for c in _paddings(subject, placement))
    for placement in own:
        rank = len(placement.buffer.shape)
        block = subject.writers(placement.buffer.name)[0]
        if rank > 1:
            order = (*range(rank - 2), rank - 1, rank - 2)
            yield subject.then(lambda sch, b=block, n=placement.buffer.name, o=order: sch.set_layout(b, n, o))
    if 1 < len(own) <= MOST_TOGETHER:
        each = [(None, *_paddings(subject, p)[: MOST_SHIFTS // 2 + 1]) for p in own]
        for chosen in product(*each):
            calls = [c for c in chosen if c is not None]
            if len(calls) > 1:
                yield subject.then(lambda sch, calls=calls: [_align(sch, *c) for c in calls])


Padding = tuple[str, int, int, int, int]
"""The arguments of `storage_align`."""


def _paddings(subject: Subject, placement: Placement) -> list[Padding]:
    """Paddings with which each row of the buffer begins some banks further."""
    memory, buffer = placement.memory, placement.buffer
    if memory.mapping == "block" or memory.banks == 1:
        return []
    block = subject.writers(buffer.name)[0]
    position = subject.write_position(block, buffer.name)
    size = dt.size_bytes(buffer.dtype)
    groups = memory.bank_groups or memory.banks
    period, bank = memory.interleave_bytes * groups // size, max(1, memory.interleave_bytes // size)
    shifts = [n for n in (1, 2, groups // 4, groups // 2) if n and n < groups][:MOST_SHIFTS]
    return [
        (block, position, axis, period, bank * shift)
        for axis in range(len(buffer.shape) - 2, -1, -1)
        for shift in dict.fromkeys(shifts)
    ]


def _align(sch: Schedule, block: str, position: int, axis: int, factor: int, offset: int) -> None:
    sch.storage_align(block, position, axis, factor, offset)


# Physical blocks.


def find_one_bank(subject: Subject) -> Iterator[LintFinding]:
    """A memory has several physical blocks, but all tiles that an engine reads are in one of them. The engine waits for the copies, because
    they cannot fill one block while it reads the other. A simulation with two slots for each tile, one in each of two blocks, proves it: a
    schedule that this does not make faster waits for another reason."""
    if subject.report is None:
        return
    for template in subject.report.program.templates:
        if subject.is_copier(template):
            continue
        for memory in subject.machine.memories:
            tiles = _tiles_of(subject, template, memory)
            banks = {bank for p in tiles for bank in p.banks}
            if memory.blocks < 2 or len(tiles) < 2 or len(banks) > 1:
                continue
            waits = _waits(subject, template, tiles)
            if waits * WAITS < subject.report.cycles:
                continue
            apart = _in_two_blocks(subject, memory, tiles)
            if apart is not None and apart.cycles < subject.report.cycles and apart.is_comparable(subject.report):
                yield _one_bank(subject, template, memory, tiles, waits, subject.report.cycles - apart.cycles)


def _in_two_blocks(subject: Subject, memory: Memory, tiles: list[Placement]) -> Report | None:
    """The report with two slots for each tile, in two blocks; None if they cannot have them."""
    copies = [w for p in tiles for w in subject.writers(p.buffer.name)]
    after = subject.then(_slots_apart(copies, tuple(row_name(memory, bank) for bank in range(2))))
    return None if after is None else after.report


def _slots_apart(copies: list[str], banks: tuple[str, ...]) -> Chain:
    """The calls that give the copied tiles a slot in each of these blocks."""

    def slots(sch: Schedule) -> None:
        for block in copies:
            if is_doubled(sch.index.block(block).annotations):
                one_slot(sch, block)
            sch.double_buffer(block, banks=banks)

    return slots


def _tiles_of(subject: Subject, template: Template, memory: Memory) -> list[Placement]:
    """The operands of the task that are copied into a memory and may be in any block of it."""
    assert subject.report is not None
    places = subject.report.program.places.by_buffer
    read = dict.fromkeys(a.buffer for choice in template.choices for work in choice.works for a in work.reads)
    tiles = [
        places[b] for b in read if places[b].memory is memory and b.scope in memory.scopes and not places[b].is_param
    ]
    return [p for p in tiles if (w := subject.writers(p.buffer.name)) and all(map(subject.is_copy, w))]


def _waits(subject: Subject, template: Template, tiles: list[Placement]) -> int:
    """Cycles in which the engine waits for its tiles."""
    assert subject.report is not None
    names = [p.buffer.name for p in tiles]
    engine = subject.report.engines[subject.engine_of(template).name]
    return sum(w.cycles for w in engine.waits if w.cause == "data" and w.buffer in names)


def _one_bank(
    subject: Subject, template: Template, memory: Memory, tiles: list[Placement], waits: int, saved: int
) -> LintFinding:
    assert subject.report is not None
    engine = subject.engine_of(template).name
    names = [p.buffer.name for p in tiles]
    row = row_name(memory, tiles[0].banks[0])
    where = f"in {row}, one of {memory.blocks} blocks"
    which = f"{names[0]} and {names[1]} are both {where}" if len(names) == 2 else f"{', '.join(names)} are all {where}"
    return LintFinding(
        "one-bank", "warning",
        f"{which}: {engine} waits {waits} of {subject.report.cycles} cycles for them, because no copy can fill one block while it reads "
        f"the other; with a slot in each block the program takes {saved} cycles less",
        tuple(dict.fromkeys(b.name for b in template.blocks if b.name)), buffers=tuple(names), saved=saved,
    )  # fmt: skip


def one_bank_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """Half the step with two slots, one in each block (`double_buffer(banks=…)`): the next half is loaded during the computation of this
    one, in the same number of bytes; two slots of the whole tile; the tile in two halves, by an axis before AXIS_SEPARATOR."""
    tiles = [p for name in finding.buffers if (p := subject.placement(name)) is not None]
    copies = [w for p in tiles for w in subject.writers(p.buffer.name)]
    slots = _slots_apart(copies, tuple(row_name(tiles[0].memory, bank) for bank in range(2)))

    for consumer in finding.blocks:
        for loop, top in _step_loops(subject, consumer, copies):
            yield subject.then(lambda sch, loop=loop, top=top: [_halved(sch, copies, loop, top), slots(sch)])
    yield subject.then(slots)
    for consumer in finding.blocks:
        yield subject.then(lambda sch, consumer=consumer: [_split_in_two(sch, subject, consumer, p) for p in tiles])


def _step_loops(subject: Subject, consumer: str, copies: list[str]) -> Iterator[tuple[Var, Var]]:
    """Yields the loops below the copies that a reduction of the consumer uses and that have an even extent, and the outermost loop
    there."""
    if not subject.index.has_block(consumer):
        return
    around = {f.loop_var for n in copies for f in subject.loops_above(n)}
    realize = subject.index.realize(consumer)
    summed = [v for iv, v in zip(realize.block.iter_vars, realize.iter_values, strict=True) if iv.iter_type == "reduce"]
    inside = [f for f in subject.index.loops_of(consumer) if f.loop_var not in around]
    for loop in inside:
        extent = build.int_value(loop.extent) or 1
        if extent % 2 == 0 and any(uses_var(value, loop.loop_var) for value in summed):
            yield loop.loop_var, inside[0].loop_var


def _halved(sch: Schedule, copies: list[str], loop: Var, top: Var) -> None:
    """Splits a step of the loop around the copies in two, as steps of the same loop."""
    half = in_parts(sch, copies, loop, top, 2)
    above = sch.index.loops_above(sch.index.loop(half))
    if above and [r.block.name for r in sch.index.child_blocks(above[-1])] == [
        r.block.name for r in sch.index.child_blocks(sch.index.loop(half))
    ]:
        sch.fuse(above[-1].loop_var, half)


def _split_in_two(sch: Schedule, subject: Subject, consumer: str, tile: Placement) -> None:
    """Splits the reduction axis of the consumer into halves, the half as the first axis, each in a separate block."""
    block = subject.writers(tile.buffer.name)[0]
    axis = _summed_axis(subject, consumer, tile.buffer.name)
    extent = build.int_value(tile.buffer.shape[axis]) or 1
    if extent % 2:
        return
    axes = [Var(f"i{n}", e.dtype) for n, e in enumerate(tile.buffer.shape)]
    at, half = axes[axis], extent // 2
    items = [
        build.floormod(build.floordiv(at, half), 2), AXIS_SEPARATOR,
        *axes[:axis], build.floordiv(at, extent), build.floormod(at, half), *axes[axis + 1 :],
    ]  # fmt: skip
    index_map = IndexMap.from_items(axes, items)
    sch.transform_layout(block, ("write", subject.write_position(block, tile.buffer.name)), index_map)


def _summed_axis(subject: Subject, consumer: str, buffer: str) -> int:
    """The first axis of a buffer that a reduction of a block uses; 0 if none does."""
    block = subject.index.block(consumer)
    summed = [iv.var for iv in block.iter_vars if iv.iter_type == "reduce"]
    region = next((r.region for r in block.reads if r.buffer.name == buffer), ())
    return next((n for n, r in enumerate(region) if any(uses_var(r.min, v) for v in summed)), 0)
