"""The stages of a pipelined loop, as TileLang's pass PipelinePlanning chooses them (0.1.15, `src/transform/pipeline_planning.cc`).

Copies from global to shared memory, and what computes their addresses, are producers. The other statements run `num_stages` iterations
later. A producer goes on after the last statement that uses its result; if all producers end up last, they come first instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...ir import Buffer, BufferLoad, BufferStore, Call, Cast, Expr, Stmt, walk


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


__all__ = ["planned", "spread"]
