"""The stages of a pipelined loop, as TileLang's pass PipelinePlanning chooses them (0.1.15, `src/transform/pipeline_planning.cc`).

Copies from global to shared memory, and what computes their addresses, are producers. The other statements run `num_stages` iterations
later. A producer goes on after the last statement that uses its result; if all producers end up last, they come first instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ...analysis import accessed_regions
from ...arith import prove_equal
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Cast,
    Expr,
    For,
    IfThenElse,
    IntImm,
    Node,
    SeqStmt,
    Stmt,
    Var,
    build,
    rewrite,
    walk,
)
from ..reading.blocks import unique_name


class _Part(msgspec.Struct, frozen=True, eq=False):
    """A statement of the loop's body: the buffers that it reads and writes, and whether it copies from global to shared memory."""

    reads: frozenset[Buffer]
    writes: frozenset[Buffer]
    copies: bool


def planned(groups: Sequence[Sequence[Stmt]], num_stages: int) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the stage and the order of each statement in the body of a loop; None if nothing in it is copied ahead. A group has the
    statements that one operation became, which have one stage."""
    parts = [_part(group) for group in groups]
    producers = _producers(parts)
    if not producers:
        return None
    last_use = {
        p: max((n for n, part in enumerate(parts) if n not in producers and parts[p].writes & part.reads), default=-1)
        for p in producers
    }
    order: list[int] = [p for p in sorted(producers) if last_use[p] < 0]
    for number in range(len(parts)):
        if number not in producers:
            order.append(number)
            order += [p for p in sorted(producers) if last_use[p] == number]
    stages = [0 if n in producers else num_stages for n in range(len(parts))]
    tail = order[len(parts) - len(producers) :]
    if num_stages >= 2 and set(tail) == producers:
        order = [*tail, *order[: len(parts) - len(producers)]]
        stages = [stage - 1 if stage else 0 for stage in stages]
    return _spread(groups, stages, order)


def spread(
    groups: Sequence[Sequence[Stmt]], stages: Sequence[int], order: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the stage and the order of each statement for those of the operations, whose `order` gives their positions."""
    return _spread(groups, stages, sorted(range(len(groups)), key=lambda n: order[n]))


STAGE, ORDER = "software_pipeline_stage", "software_pipeline_order"


def with_own_tiles(body: Stmt) -> tuple[Stmt, list[Buffer]]:
    """Give each pipelined loop a buffer of its own for a tile that several of them copy, so that each has its slots, as in TileLang.
    Return the new body and the new buffers."""
    loops = [node for node in walk(body) if isinstance(node, For) and STAGE in dict(node.annotations)]
    copied = [_copied(loop) for loop in loops]
    everywhere = _accesses(body)
    made: list[Buffer] = []
    for number, loop in enumerate(loops):
        renamed: dict[Buffer, Buffer] = {}
        for buffer in sorted(copied[number], key=lambda b: b.name):
            owners = [other for other, found in zip(loops, copied, strict=True) if buffer in found]
            inside = sum(_accesses(owner)[buffer] for owner in owners)
            if loop is not owners[0] and inside == everywhere[buffer]:
                renamed[buffer] = replace(buffer, name=f"{buffer.name}_{owners.index(loop)}")
        if renamed:
            made += renamed.values()
            body = rewrite(
                body, lambda node, loop=loop, renamed=renamed: _moved(loop, renamed) if node is loop else node
            )
    return body, made


def with_tiles_in_branches(body: Stmt, used: dict[str, int]) -> tuple[Stmt, set[Buffer]]:
    """Allocate in each iteration of a pipelined loop a tile that it copies only under a condition, which its uses share, or in both
    branches of a condition: no iteration needs the tile of another one. Return the new body and these tiles."""
    everywhere, moved = _accesses(body), set[Buffer]()
    for loop in [node for node in walk(body) if isinstance(node, For) and STAGE in dict(node.annotations)]:
        parts = loop.body.seq if isinstance(loop.body, SeqStmt) else ()
        shared = bool(parts) and all(isinstance(part, IfThenElse) and part.else_case is None for part in parts)
        inside = _accesses(loop)
        tiles = [b for b in _copied(loop) if inside[b] == everywhere[b] and (shared or _in_both_branches(parts, b))]
        own = tuple(sorted(tiles, key=lambda b: b.name))
        if own:
            reads, writes = accessed_regions(loop.body)
            name = unique_name(f"{loop.loop_var.name}_tiles", used)
            owner = Block(name, (), _without(reads, own), _without(writes, own), loop.body, alloc_buffers=own)
            wrapped = replace(loop, body=BlockRealize((), build.TRUE, owner))
            body = rewrite(body, lambda node, loop=loop, wrapped=wrapped: wrapped if node is loop else node)
            moved |= set(own)
    return body, moved


def _in_both_branches(parts: Sequence[Stmt], tile: Buffer) -> bool:
    """Whether the first statement that accesses a tile has branches, and all overwrite it as a whole."""
    first = next((part for part in parts if _accesses(part)[tile]), None)
    return first is not None and any(isinstance(n, IfThenElse) for n in walk(first)) and _overwrites(first, tile)


def _overwrites(stmt: Stmt | None, tile: Buffer) -> bool:
    """Whether a statement begins with what overwrites a tile as a whole."""
    match stmt:
        case IfThenElse(then_case=then, else_case=other):
            return _overwrites(then, tile) and _overwrites(other, tile)
        case SeqStmt(seq=parts):
            return _overwrites(next((part for part in parts if _accesses(part)[tile]), None), tile)
        case For(body=inner):
            return _overwrites(inner, tile)
        case BlockRealize(block=Block(body=BufferStore() as store)):
            return store.buffer is tile and _is_whole(stmt, store) and _accesses(store)[tile] == 1
        case _:
            return False


def _without(regions: Sequence[BufferRegion], own: Sequence[Buffer]) -> tuple[BufferRegion, ...]:
    return tuple(region for region in regions if region.buffer not in own)


def _copied(loop: For) -> set[Buffer]:
    """Return the tiles that the first stage of a loop overwrites as a whole."""
    stages = dict(loop.annotations)[STAGE]
    parts = loop.body.seq if isinstance(loop.body, SeqStmt) else (loop.body,)
    assert isinstance(stages, tuple)
    first = [part for part, stage in zip(parts, stages, strict=True) if isinstance(stage, IntImm) and stage.value == 0]
    blocks = [node for part in first for node in walk(part) if isinstance(node, BlockRealize)]
    return {
        store.buffer
        for realize in blocks
        for store in (realize.block.body,)
        if isinstance(store, BufferStore) and _copies(store) and _is_whole(realize, store)
    }


def _is_whole(realize: BlockRealize, store: BufferStore) -> bool:
    """Whether a block writes all elements of a buffer, one for each value of an iterator."""
    extents = {iv.var: iv.dom.extent for iv in realize.block.iter_vars}
    return build.is_true(realize.predicate) and all(
        (isinstance(index, Var) and index in extents and prove_equal(extents[index], extent))
        or build.is_const(extent, 1)
        for index, extent in zip(store.indices, store.buffer.shape, strict=True)
    )


def _accesses(stmt: Stmt) -> Counter[Buffer]:
    return Counter(node.buffer for node in walk(stmt) if isinstance(node, BufferLoad | BufferStore))


def _moved(loop: For, renamed: Mapping[Buffer, Buffer]) -> For:
    """Return a loop with other buffers."""

    def leave(node: Node) -> Node:
        if isinstance(node, BufferLoad | BufferStore | BufferRegion) and node.buffer in renamed:
            return replace(node, buffer=renamed[node.buffer])
        return node

    return rewrite(loop, leave)


def _spread(
    groups: Sequence[Sequence[Stmt]], stages: Sequence[int], order: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    places: dict[tuple[int, int], int] = {}
    for group in order:
        for number in range(len(groups[group])):
            places[group, number] = len(places)
    found = [(stages[g], places[g, n]) for g, group in enumerate(groups) for n in range(len(group))]
    return tuple(stage for stage, _ in found), tuple(place for _, place in found)


def _producers(parts: Sequence[_Part]) -> set[int]:
    """Return the copies, and the statements that write what a copy reads."""
    found = {n for n, part in enumerate(parts) if part.copies}
    while True:
        needed = frozenset(buffer for n in found for buffer in parts[n].reads if buffer.scope != "global")
        more = {n for n, part in enumerate(parts) if part.writes & needed} - found
        if not more:
            return found
        found |= more


def _part(group: Sequence[Stmt]) -> _Part:
    nodes = [node for stmt in group for node in walk(stmt)]
    stores = [node for node in nodes if isinstance(node, BufferStore)]
    return _Part(
        frozenset(node.buffer for node in nodes if isinstance(node, BufferLoad)),
        frozenset(store.buffer for store in stores),
        bool(stores) and all(_copies(store) for store in stores),
    )


def _copies(store: BufferStore) -> bool:
    """Whether a store moves an element from global to shared memory, also one that is 0 outside of a buffer."""
    value: Expr = store.value
    while isinstance(value, Cast) or (isinstance(value, Call) and value.op == "if_then_else"):
        value = value.value if isinstance(value, Cast) else value.args[1]
    return store.buffer.scope.startswith("shared") and isinstance(value, BufferLoad) and value.buffer.scope == "global"


__all__ = ["ORDER", "STAGE", "planned", "spread", "with_own_tiles", "with_tiles_in_branches"]
