"""Smaller programs of the same form, to test schedules of programs that take too long to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from msgspec.structs import replace as replace_fields

from ..arith import Analyzer
from ..execute import MOST_TRIPS, ExecuteError, operation_count, run_cost
from ..ir import (
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IntImm,
    Node,
    PrimFunc,
    Range,
    Var,
    build,
    free_vars,
    rewrite,
    walk,
)

LEAST = 16
"""Extents up to this stay, as those of windows and vectors."""

GRAINS = (64, 16, 4, 2, 1)
"""A smaller extent has the same remainder by the largest of these that leaves it large enough, so factors divide it as before."""

SLACK = 4
"""A program whose extents are all small may have so many times the operations."""

MOST_COST = 1_000_000_000
"""Limit on the estimated cost of a run, which is higher for loops that run in order: a second."""

MOST_ELEMENTS = 1 << 24
"""Limit on the elements of all buffers."""


def smaller_program(func: PrimFunc, most: int) -> tuple[PrimFunc, Mapping[int, int]] | None:
    """Return the program with about halved extents, the largest first, until it has at most this many operations, and the new value of
    each old one; None if there is no such program. Equal extents stay equal, and axes keep their distance from the last index."""
    axes = _Axes(func)
    new = {v: v for v in sorted({*_extents(func), *axes.free()})}
    found = func
    while _is_too_large(found, most):
        smaller = {v: halved for v, now in new.items() if (halved := _halved(now)) < now}
        if not smaller:
            if _is_too_large(found, SLACK * most):
                return None
            break
        largest = max(smaller, key=lambda v: new[v])
        new[largest] = smaller[largest]
        found = axes.fitted(_with_extents(func, new))
    changed = {old: now for old, now in new.items() if old != now}
    return (found, changed) if changed else None


def _is_too_large(func: PrimFunc, most: int) -> bool:
    """Whether a run needs too many operations, or too large buffers. Trip counts that are data count as those of generated data."""
    shapes = [[build.int_value(e) or 1 for e in buffer.shape] for buffer in _buffers(func)]
    if (operation_count(func, MOST_TRIPS) or 0) > most or sum(map(prod, shapes)) > MOST_ELEMENTS:
        return True
    try:
        return run_cost(func) > MOST_COST
    except ExecuteError:
        return False


def _halved(extent: int) -> int:
    """About half of an extent; the extent itself if it is small."""
    if extent <= LEAST:
        return extent
    half = extent // 2
    for grain in GRAINS:
        found = half - (half - extent) % grain
        if found >= max(LEAST, grain) or (grain == 1 and found > 0):
            return found
    return extent


def _extents(func: PrimFunc) -> set[int]:
    """The constant extents of the loops."""
    return {n for s in walk(func.body) if isinstance(s, For) and (n := build.int_value(s.extent)) is not None}


def _buffers(func: PrimFunc) -> set[Buffer]:
    return {*func.buffers, *(node for node in walk(func) if isinstance(node, Buffer))}


def _with_extents(func: PrimFunc, new: Mapping[int, int]) -> PrimFunc:
    """The program with other extents of loops, ranges and buffers."""

    def of(extent: Expr) -> Expr:
        return IntImm(new[extent.value], extent.dtype) if isinstance(extent, IntImm) and extent.value in new else extent

    def leave(node: Node) -> Node:
        match node:
            case For() | Range():
                return replace_fields(node, extent=of(node.extent))
            case Buffer():
                return replace_fields(node, shape=tuple(map(of, node.shape)))
            case _:
                return node

    # Known elements are those of the whole program.
    return replace_fields(rewrite(func, leave), data=tuple(c for c in func.data if not c.is_known))


class _Axes:
    """The axes of buffers whose extents follow from the indices: one more than the last index, as that of an input with a halo."""

    def __init__(self, func: PrimFunc) -> None:
        last = _last_indices(func)
        self._extents = {
            (buffer.name, axis): build.int_value(extent)
            for buffer in _buffers(func)
            for axis, extent in enumerate(buffer.shape)
        }
        self._following = {key for key, n in last.items() if n is not None and n + 1 == self._extents.get(key)}
        self._unknown = {key for key, n in last.items() if n is None}

    def free(self) -> Iterator[int]:
        """The extents of axes that only data indexes."""
        return (n for key in self._unknown if (n := self._extents[key]) is not None)

    def fitted(self, func: PrimFunc) -> PrimFunc:
        """The program with the extents that its indices need."""
        last = _last_indices(func)

        def leave(node: Node) -> Node:
            if not isinstance(node, Buffer):
                return node
            shape = [
                build.const(needed + 1, extent.dtype)
                if key in self._following
                and (needed := last[key]) is not None
                and needed + 1 != build.int_value(extent)
                else extent
                for extent, key in ((e, (node.name, axis)) for axis, e in enumerate(node.shape))
            ]
            return (
                replace_fields(node, shape=tuple(shape))
                if any(a is not b for a, b in zip(shape, node.shape, strict=True))
                else node
            )

        return rewrite(func, leave)


def _last_indices(func: PrimFunc) -> dict[tuple[str, int], int | None]:
    """The largest index of each axis of each accessed buffer; None if data decides about one."""
    ranges: dict[Var, Range] = {}
    by_data: set[Var] = set()
    accesses: list[BufferLoad | BufferStore] = []
    for node in walk(func.body):
        if isinstance(node, For):
            ranges[node.loop_var] = Range(node.min, node.extent)
            if any(isinstance(n, BufferLoad) for e in (node.min, node.extent) for n in walk(e)):
                by_data.add(node.loop_var)
        elif isinstance(node, Block):
            ranges.update({iv.var: iv.dom for iv in node.iter_vars})
        elif isinstance(node, BufferLoad | BufferStore):
            accesses.append(node)
    analyzer = Analyzer(ranges)
    found: dict[tuple[str, int], int | None] = {}
    for access in accesses:
        for axis, index in enumerate(access.indices):
            key, high = (access.buffer.name, axis), analyzer.bounds(index).high
            if any(isinstance(n, BufferLoad) for n in walk(index)) or not by_data.isdisjoint(free_vars(index)):
                high = None
            before = found.get(key, -1)
            found[key] = None if high is None or before is None else max(high, before)
    return found


__all__ = ["smaller_program"]
