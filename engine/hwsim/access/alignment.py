"""What decides, among the iterations of the loops around a task, about the bursts and bank conflicts of its accesses: where they begin.

An access that begins a whole number of bursts later moves as many bursts; one that begins whole rows later, in other banks, has the same
conflicts. Operands that are accessed together have the same conflicts if all of them move by the same number of rows, or by whole rounds
over the banks. Loops around a task that move its accesses otherwise make tasks of other kinds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import lcm

import msgspec

from ...arith import Analyzer
from ...ir import Expr, IntImm, Var, build, substitute
from ..machine.parts import Engine, MatrixEngine, Memory, SystolicEngine, VectorEngine
from ..tasks.geometry import Layout
from ..tasks.work import Access, Work, element_bytes
from .bank_conflicts import Banking, banking
from .byte_addresses import step_bytes
from .placement import Placement, Places
from .vectors import groups_of


class Start(msgspec.Struct, frozen=True, eq=False):
    """An access, and its layout. Its task's cost may depend on where it begins."""

    access: Access
    layout: Layout


def is_aligned_by(engine: Engine, memory: Memory, places: Places) -> bool:
    """Returns whether the cost of an engine's tasks depends on where in the bursts or banks of a memory its accesses begin."""
    banked = banking(memory) is not None
    match engine:
        case VectorEngine():
            return banked or (memory.burst_bytes > 1 and not places.machine.caches_of(engine.name, memory.name))
        case MatrixEngine() | SystolicEngine():
            return banked and engine.operand_rows != "ideal"
        case _:
            return False


def deciding_places(
    engine: Engine, work: Work, layouts: Sequence[Layout], inner: Collection[Var], places: Places, analyzer: Analyzer
) -> Iterator[Expr]:
    """Yields expressions over the loops around a task: where all of them are equal, so are the bursts and conflicts of its accesses."""
    starts = [Start(a, x) for a, x in zip((*work.reads, *work.writes), layouts, strict=True) if not a.extents]
    groups = groups_of(engine, work, starts) if isinstance(engine, VectorEngine) else [[s] for s in starts]
    for start in starts:
        memory = places.by_buffer[start.access.buffer].memory
        if is_aligned_by(engine, memory, places) and isinstance(engine, VectorEngine) and memory.burst_bytes > 1:
            yield from _remainders([start], memory.burst_bytes, memory.burst_bytes, inner, places, analyzer)
    for memory in places.machine.memories:
        rule = banking(memory)
        if rule is None or not is_aligned_by(engine, memory, places):
            continue
        for group in groups:
            here = [s for s in group if places.by_buffer[s.access.buffer].memory is memory]
            one, all_ = _periods(rule, engine, here, places)
            yield from _remainders(here, one, all_, inner, places, analyzer)


def _periods(rule: Banking, engine: Engine, group: Sequence[Start], places: Places) -> tuple[int, int]:
    """Returns the distances by which one, or all of the accesses that are made at once, may move without other conflicts."""
    several = len(group) > 1
    for start in group:
        order = places.by_buffer[start.access.buffer].order
        if order is not None:  # a swizzle repeats after some rows of the matrix; its size is a multiple of each
            size = order[0] * element_bytes(start.access)
            return lcm(rule.row_bytes * rule.groups, size), lcm(rule.row_bytes, size)
    if rule.region_bytes and (rule.ports > 1 or several):
        ends = [end for s in group for end in _ends(places.by_buffer[s.access.buffer])]
        if len({end // rule.region_bytes for end in ends}) > 1:
            period = rule.region_bytes * rule.regions
            return period, period
    return rule.row_bytes * rule.groups, rule.row_bytes


def _ends(placement: Placement) -> tuple[int, int]:
    """Returns the first and the last byte of a buffer."""
    return min(placement.addresses), max(placement.addresses) + placement.part_bytes - 1


def _remainders(
    group: Sequence[Start], one: int, all_: int, inner: Collection[Var], places: Places, analyzer: Analyzer
) -> Iterator[Expr]:
    """Yields the place of the first access, and the distances of the others from it, as remainders: of the distances by which `one` access
    may move, and all of them.
    """
    found = [_place(start, one, inner, places.by_buffer[start.access.buffer]) for start in group]
    if found:
        yield analyzer.simplify(build.floormod(found[0], all_))
    for place in found[1:]:
        yield analyzer.simplify(build.floormod(build.sub(place, found[0]), one))


def _place(start: Start, period: int, inner: Collection[Var], placement: Placement) -> Expr:
    """Returns the part of the first address, in bytes, that loops around do not move by whole periods."""
    progression = start.layout.progression
    if progression is None:
        assert start.layout.address is not None
        zeros = {v: IntImm(0, v.dtype) for v in inner}
        return build.mul(substitute(start.layout.address, zeros), element_bytes(start.access))
    found: Expr = build.const(0, "int32")
    for around, factor in progression.around.items():
        step = step_bytes(placement, factor)
        moved = factor * element_bytes(start.access) if step is None else step
        if moved % period:
            found = build.add(found, build.mul(around, moved % period))
    return found
