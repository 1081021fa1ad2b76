"""Addresses that a kernel gives to its buffers (`T.annotate_address`): they may share memory, but each has memory of its own here. This is
the same while no buffer is read after another has overwritten it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import combinations
from math import prod

import msgspec

from ....ir import BlockRealize, Buffer, BufferLoad, BufferStore, For, IfThenElse, SeqStmt, Stmt, build, free_vars, walk
from ....ir import dtype as dt


class _Event(msgspec.Struct, frozen=True, eq=False):
    """An access of a block, in the branches `within`. `elements` are those that it certainly writes, 0 for a read."""

    buffer: Buffer
    within: tuple[Stmt, ...] = ()
    elements: int = 0
    writes: bool = False


def overwritten(body: Stmt, addresses: Mapping[Buffer, int], cores: int) -> tuple[Buffer, Buffer] | None:
    """Return a buffer that may be read after another one at its addresses was written, and the other one. Buffers of a vector core
    have a first axis of length `cores`."""
    for pair in combinations(addresses, 2):
        if _meet(*pair, addresses, cores):
            events = list(_events(body, pair))
            for buffer, other in (pair, pair[::-1]):
                if _is_lost(events, buffer):
                    return buffer, other
    return None


def _meet(a: Buffer, b: Buffer, addresses: Mapping[Buffer, int], cores: int) -> bool:
    if a.scope != b.scope:
        return False
    ends = [
        addresses[buffer] + _elements(buffer) * dt.bits(buffer.dtype) // 8 // (cores if buffer.scope == "shared" else 1)
        for buffer in (a, b)
    ]
    return addresses[a] < ends[1] and addresses[b] < ends[0]


def _elements(buffer: Buffer) -> int:
    return prod(build.int_value(extent) or 1 for extent in buffer.shape)


def _is_lost(events: Collection[_Event], buffer: Buffer) -> bool:
    """Whether a buffer is read where elements of it may be overwritten. Events are those of two buffers."""
    written: list[_Event] | None = None  # since the other buffer was written, if it was
    for event in events:
        if event.buffer is not buffer:
            written = [] if event.writes else written
        elif written is None:
            continue
        elif event.writes:
            written.append(event)
        elif sum(w.elements for w in written if event.within[: len(w.within)] == w.within) < _elements(buffer):
            return True
    return False


def _events(
    stmt: Stmt, pair: Collection[Buffer], loops: tuple[For, ...] = (), within: tuple[Stmt, ...] = ()
) -> Iterator[_Event]:
    """Yield the accesses to a pair of buffers in order. A loop around several of them counts twice, so that what follows a block includes
    the next iteration; `loops` are those around one block of them alone."""
    match stmt:
        case SeqStmt(seq=seq):
            for part in seq:
                yield from _events(part, pair, loops, within)
        case For(body=inside):
            several = sum(isinstance(node, BlockRealize) and _uses(node, pair) for node in walk(stmt)) > 1
            for _ in range(2 if several else 1):
                yield from _events(inside, pair, () if several else (*loops, stmt), within)
        case IfThenElse(then_case=first, else_case=second):
            for branch in (first, *(() if second is None else (second,))):
                yield from _events(branch, pair, loops, (*within, branch))
        case BlockRealize(block=block):
            nodes = list(walk(block.body))
            for load in nodes:
                if isinstance(load, BufferLoad) and load.buffer in pair:
                    yield _Event(load.buffer, within)
            whole = build.is_const(stmt.predicate, 1)
            extents = {loop.loop_var: build.int_value(loop.extent) or 0 for loop in loops}
            values = {iv.var: value for iv, value in zip(block.iter_vars, stmt.iter_values, strict=True)}
            for store in nodes:
                if isinstance(store, BufferStore) and store.buffer in pair:
                    used = {
                        v for index in store.indices for iv in free_vars(index) for v in free_vars(values.get(iv, iv))
                    }
                    count = prod(extents[v] for v in used if v in extents) if whole else 0
                    yield _Event(store.buffer, within, count, writes=True)
        case _:
            inside = getattr(stmt, "body", None)
            if isinstance(inside, Stmt):
                yield from _events(inside, pair, loops, within)


def _uses(stmt: Stmt, pair: Collection[Buffer]) -> bool:
    return any(isinstance(node, BufferLoad | BufferStore) and node.buffer in pair for node in walk(stmt))


__all__ = ["overwritten"]
