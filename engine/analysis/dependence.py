"""Dependences between iterations, for reordering, parallel loops and block motion.

All answers are conservative: "independent" and "covered" require a proof, for affine accesses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from ..arith import Analyzer, prove_equal
from ..ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    For,
    Node,
    Range,
    SeqStmt,
    Stmt,
    Var,
    addressed_buffers,
    build,
    free_vars,
    structural_equal,
    substitute,
    walk,
)
from .boxes import contains_box
from .cover import common_loops, is_covered, touched_box
from .index import ProgramIndex
from .instances import HOLDS, Decision, Elements, Instances, never_meet
from .regions import accessed_regions, realized
from .separation import separated_loops

Ranges = Mapping[Var, Range]


class DependenceConflict(msgspec.Struct, frozen=True, eq=False):
    """Two blocks whose accesses to `buffer` may meet in different iterations. `detail`: where they meet, or why that is undecided."""

    first: BlockRealize
    second: BlockRealize
    buffer: Buffer
    detail: str


def find_conflicts(index: ProgramIndex, top: For, moving: Sequence[Var]) -> Iterator[DependenceConflict]:
    """The pairs of blocks below `top` that may exchange values across iterations of the `moving` loops.

    Values that a block reads from an earlier block in the same iteration (see `is_covered`) are no conflict.
    """
    below = index.child_blocks(top)
    for position, first in enumerate(below):
        for second in below[position + 1 :]:
            for buffer in shared_buffers(first.block, second.block):
                if _is_private(index, first, second, buffer):
                    continue
                apart = _never_carried(index, first, second, buffer, moving)
                if not apart:
                    yield DependenceConflict(first, second, buffer, apart.detail)


def find_carried(
    index: ProgramIndex, first: BlockRealize, second: BlockRealize, moving: Sequence[Var], below: Var | None = None
) -> DependenceConflict | None:
    """A buffer, written by one block, whose elements both may access in different iterations of `moving` loops; None if provably none.

    The iterations are in the same iteration of the loops outside of the moving ones, or of those outside of loop `below`.
    """
    for buffer in shared_buffers(first.block, second.block):
        apart = _never_carried(index, first, second, buffer, moving, below)
        if not apart:
            return DependenceConflict(first, second, buffer, apart.detail)
    return None


def shared_buffers(first: Block, second: Block) -> list[Buffer]:
    """Buffers that both blocks access and at least one writes."""
    written = {w.buffer for w in (*first.writes, *second.writes)}
    mine = {r.buffer for r in (*first.reads, *first.writes)}
    return [b for b in dict.fromkeys(r.buffer for r in (*second.reads, *second.writes)) if b in mine and b in written]


def _is_private(index: ProgramIndex, first: BlockRealize, second: BlockRealize, buffer: Buffer) -> bool:
    """Whether `second` only reads `buffer`, and only elements that `first`, its single writer, wrote in the same iteration."""
    return bool(
        all(w.buffer is not buffer for w in second.block.writes)
        and any(w.buffer is buffer for w in first.block.writes)
        and index.writers(buffer) == (first.block.name,)
        and is_covered(index, first, second, buffer)
    )


def _never_carried(
    index: ProgramIndex,
    first: BlockRealize,
    second: BlockRealize,
    buffer: Buffer,
    moving: Sequence[Var],
    below: Var | None = None,
) -> Decision:
    """Whether accesses to `buffer` never meet in two iterations that differ in a `moving` loop."""
    common = common_loops(index, first, second)
    loops = {f.loop_var: Range(f.min, f.extent) for f in common}
    wanted = {v for v in moving if v in loops and not build.is_const(loops[v].extent, 1)}
    if not wanted:
        return HOLDS
    places = [n for n, v in enumerate(loops) if v in wanted]
    boxes = [{w: touched_box(index, r, buffer, common, writes=w) for w in (True, False)} for r in (first, second)]
    for mine_writes, other_writes in ((True, True), (True, False), (False, True)):
        mine, other = boxes[0][mine_writes], boxes[1][other_writes]
        if not mine or not other or wanted <= separated_loops(mine.region, other.region, loops):
            continue
        left, right = _elements(index, first, buffer, mine_writes), _elements(index, second, buffer, other_writes)
        same = min(places) if below is None else list(loops).index(below)
        apart = never_meet(left, right, same, places)
        if not apart:
            return apart
    return HOLDS


def _elements(index: ProgramIndex, realize: BlockRealize, buffer: Buffer, writes: bool) -> Elements:
    """The elements of the buffer that the block reads or writes, in terms of the loops around it."""
    loops = {f.loop_var: Range(f.min, f.extent) for f in index.loops_above(realize)}
    regions = realize.block.writes if writes else realize.block.reads
    around = {iv.var: iv.dom for iv in index.scope_of(realize).iter_vars}
    return Elements(
        Instances.of(realize, loops, around), tuple(realized(r, realize) for r in regions if r.buffer is buffer)
    )


def iterations_apart(index: ProgramIndex, loop: For, realize: BlockRealize, buffer: Buffer) -> Decision:
    """Whether iterations of a loop around the block never write the same element."""
    written = _elements(index, realize, buffer, True)
    place = index.loops_above(realize).index(loop)
    return never_meet(written, written, place, [place])


def updates_only_own_element(block: Block) -> bool:
    """Whether the block's reads of its written buffers stay within the boxes that it writes in the same iteration.

    Accesses through an address count as the block's declared regions.
    """
    written = {w.buffer: w for w in block.writes}
    nodes = list(walk(block))
    views = {m.buffer for b in nodes if type(b) is Block for m in b.match_buffers if m.source.buffer in written}
    addressed = addressed_buffers(block)
    if any(not _reads_what_it_writes(block, w) for b, w in written.items() if b in addressed or addressed & views):
        return False
    loads = [node for node in nodes if type(node) is BufferLoad]
    if any(load.buffer in views for load in loads):
        return False
    other = {b for b in (n.buffer for n in loads) if b in written}
    other -= {b for b in other if all(_is_written_point(n, written[b]) for n in loads if n.buffer is b)}
    if not other:
        return True
    domain = {iv.var: iv.dom for iv in block.iter_vars}
    reads, writes = ({r.buffer: r for r in regions} for regions in accessed_regions(block.body))
    inside = {b: reads[b] if b in reads else writes.get(b) for b in other}
    return all(
        box is not None
        and contains_box(written[b], box, Analyzer(domain))
        and (_summed_inside(block, b) if b not in reads else not _is_point(written[b]))
        for b, box in inside.items()
    )


def _touches(expr: Node, buffer: Buffer) -> bool:
    return any(isinstance(n, BufferData | BufferLoad) and n.buffer is buffer for n in walk(expr))


def _summed_inside(block: Block, buffer: Buffer) -> bool:
    """Whether only reductions inside of the block load the buffer, and each loads only its own elements, after its init."""
    users = [(r, loops) for r, loops in _reductions_below(block.body, ()) if _touches(r.block.body, buffer)]
    within = {node for r, _ in users for node in walk(r.block)}
    loose = (n for n in walk(block.body) if isinstance(n, BufferLoad) and n.buffer is buffer and n not in within)
    return not any(loose) and all(
        r.block.init is not None and updates_only_own_element(r.block) and _begins_at_first_trip(r, loops)
        for r, loops in users
    )


def _reductions_below(stmt: Stmt, loops: tuple[For, ...]) -> Iterator[tuple[BlockRealize, tuple[For, ...]]]:
    """The blocks below a statement under plain loops, and these loops."""
    match stmt:
        case BlockRealize():
            yield stmt, loops
        case For(body=body):
            yield from _reductions_below(body, (*loops, stmt))
        case SeqStmt(seq=seq):
            for part in seq:
                yield from _reductions_below(part, loops)
        case _:
            pass


def _begins_at_first_trip(realize: BlockRealize, loops: Sequence[For]) -> bool:
    """Whether the first trips of the reduction loops run the init, for each element."""
    first = {f.loop_var: f.min for f in loops}
    pairs = [(iv, value) for iv, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)]
    reducing = {v for iv, value in pairs if iv.iter_type == "reduce" for v in free_vars(value) & first.keys()}
    others = {v for iv, value in pairs if iv.iter_type != "reduce" for v in free_vars(value)}
    return (
        build.is_true(realize.predicate)
        and not reducing & others
        and all(prove_equal(substitute(v, first), iv.dom.min) for iv, v in pairs if iv.iter_type == "reduce")
    )


def _is_point(region: BufferRegion) -> bool:
    return all(build.is_const(r.extent, 1) for r in region.region)


def _reads_what_it_writes(block: Block, write: BufferRegion) -> bool:
    return all(
        structural_equal(a, b)
        for r in block.reads
        if r.buffer is write.buffer
        for a, b in zip(r.region, write.region, strict=True)
    )


def _is_written_point(load: BufferLoad, write: BufferRegion) -> bool:
    return _is_point(write) and all(structural_equal(i, r.min) for i, r in zip(load.indices, write.region, strict=True))
