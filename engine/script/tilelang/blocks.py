"""The blocks of tile operations: each is a loop nest around one block, whose iterators are the loops around it and its own axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from ...analysis import accessed_regions
from ...arith import bounds, prove, simplify
from ...ir import (
    Annotations,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    For,
    ForKind,
    IntImm,
    IterVar,
    Node,
    Ramp,
    Range,
    Stmt,
    Var,
    build,
    free_vars,
    rewrite,
    substitute,
    walk,
)
from ...ir.expr import IterType

N = TypeVar("N", bound=Node)
Loops: TypeAlias = Mapping[Var, For]
Regions: TypeAlias = tuple[tuple[BufferRegion, ...], tuple[BufferRegion, ...]]
"""What a block reads and writes."""


class Axis(msgspec.Struct, frozen=True, eq=False):
    """An axis of a tile operation, with a loop of its own."""

    var: Var
    extent: Expr
    kind: IterType = "spatial"
    thread_tag: str | None = None


def axis(name: str, extent: Expr, kind: IterType = "spatial") -> Axis:
    return Axis(Var(name, extent.dtype), extent, kind)


def axes_of(extents: Iterable[Expr]) -> tuple[list[Axis], list[Expr]]:
    """Return an axis for each extent but 1, and the position of an element along all of them."""
    axes: list[Axis] = []
    position: list[Expr] = []
    for extent in extents:
        if build.is_const(extent, 1):
            position.append(build.const(0, extent.dtype))
        else:
            axes.append(axis(f"ax{len(axes)}", extent))
            position.append(axes[-1].var)
    return axes, position


def block(
    name: str, around: Loops, axes: Sequence[Axis], body: Stmt, *, conditions: Sequence[Expr] = (),
    sums: bool = False, loop_kind: ForKind = "serial", regions: Regions | None = None, notes: Annotations = (),
) -> Stmt:  # fmt: skip
    """Return a block in loops of its `axes`, which runs if all `conditions` hold. It reads and writes what its body does, or the given
    `regions`.

    `around` are the loops around it. One whose iterations depend on each other and that does not occur in the written indices carries a
    value from one iteration to the next, a sum if it `sums`.
    """
    own = {a.var: For(a.var, build.const(0, a.extent.dtype), a.extent, loop_kind if a.thread_tag is None else "thread_binding", body,
                      a.thread_tag) for a in axes}  # fmt: skip
    written = _written(body)
    iterators: dict[Var, Var] = {}
    iter_vars: list[IterVar] = []
    kinds: dict[Var, IterType] = {a.var: a.kind for a in axes}
    independent = {v for v, loop in around.items() if loop.kind in ("thread_binding", "parallel")}
    loops = {**around, **own}
    for var, loop in loops.items():
        iterators[var] = Var(f"v{var.name}", var.dtype)
        kind: IterType | None = kinds.get(var)
        if kind is None:
            kind = _kind(is_free=var in independent or var in written, sums=sums)
        iter_vars.append(IterVar(iterators[var], _domain(loop, loops, iterators), kind))
    fresh = {a.var: Var(a.var.name, a.var.dtype) for a in axes}  # several blocks may share axes, but not loops
    values: tuple[Expr, ...] = tuple(fresh.get(var, var) for var in loops)
    if not loops:  # a block has at least one iterator
        iter_vars, values = [IterVar(Var("vi"), build.make_range(0, 1), "spatial")], (IntImm(0),)
    inside = substitute(body, iterators)
    made = Block(name, tuple(iter_vars), (), (), inside)
    if regions is None:
        reads, writes = accessed_regions(made)
    else:
        reads, writes = (tuple(substitute(region, iterators) for region in side) for side in regions)
    predicate = substitute(build.logical_and(*conditions), fresh)
    realize = BlockRealize(values, predicate, Block(name, tuple(iter_vars), reads, writes, inside, annotations=notes))
    return build.nest(
        [replace(loop, loop_var=fresh[var], extent=substitute(loop.extent, fresh)) for var, loop in own.items()],
        realize,
    )


def _kind(*, is_free: bool, sums: bool) -> IterType:
    """Return the kind of the iterator of a loop around a block."""
    if is_free:
        return "spatial"
    return "reduce" if sums else "opaque"


def _written(body: Stmt) -> set[Var]:
    """Return the variables that occur in the indices of all elements that a body writes."""
    stores = [node for node in walk(body) if isinstance(node, BufferStore)]
    found = [{v for index in store.indices for v in free_vars(index)} for store in stores]
    return set[Var].intersection(*found) if found else set()


def _domain(loop: For, loops: Loops, iterators: Mapping[Var, Expr]) -> Range:
    """Return the values of a loop's iterator: those of the loop, or up to a bound if they depend on other loops."""
    used = {v for v in free_vars(loop.extent) if v in loops}
    if not used and not any(v in loops for v in free_vars(loop.min)):
        return Range(loop.min, loop.extent)
    ranges = ranges_of(loops)
    low, high = bounds(loop.min, ranges), bounds(simplify(build.add(loop.min, loop.extent), ranges), ranges)
    if low.low is not None and high.high is not None:
        return Range(build.const(low.low, loop.min.dtype), build.const(high.high - low.low, loop.extent.dtype))
    return Range(substitute(loop.min, iterators), substitute(loop.extent, iterators))


def ranges_of(loops: Loops, axes: Iterable[Axis] = ()) -> dict[Var, Range]:
    """Return the values of the variables of loops and axes."""
    found = {var: Range(loop.min, loop.extent) for var, loop in loops.items()}
    return found | {a.var: Range(build.const(0, a.extent.dtype), a.extent) for a in axes}


def outside(buffer: Buffer, indices: Sequence[Expr], ranges: Mapping[Var, Range]) -> list[Expr]:
    """Return the conditions under which indices are inside of a buffer, without those that always hold."""
    found: list[Expr] = []
    if any(isinstance(index, Ramp) for index in indices):
        return found
    for index, extent in zip(indices, buffer.shape, strict=True):
        needed = (build.ge(index, build.const(0, index.dtype)), build.lt(index, extent))
        found += [condition for condition in needed if not prove(condition, ranges)]
    return found


def guarded(value: Expr, ranges: Mapping[Var, Range]) -> Expr:
    """Return a value whose loads from global memory give 0 outside of their buffers, unless a condition is around them already."""

    def enter(part: Node) -> Node | None:
        return part if isinstance(part, Call) and part.op == "if_then_else" else None

    def leave(part: Node) -> Node:
        if (
            not isinstance(part, BufferLoad)
            or part.buffer.scope != "global"
            or any(isinstance(index, Ramp) for index in part.indices)
        ):
            return part
        inside = outside(part.buffer, part.indices, ranges)
        return build.if_then_else(build.logical_and(*inside), part, build.const(0, part.dtype)) if inside else part

    return rewrite(value, leave, enter=enter)


class Lanes(msgspec.Struct, frozen=True, eq=False):
    """Units that run the same statements, each with its own number and its own copy of the private buffers: the threads of a block, or the
    vector cores of an AI core. Statements run one after the other, each on all units."""

    vars: tuple[Var, ...]
    extents: tuple[Expr, ...]
    tags: tuple[str | None, ...]

    def wide(self, buffer: Buffer) -> Buffer:
        """Return the copies of a private buffer in one."""
        return replace(buffer, shape=(*self.extents, *buffer.shape))

    def axes(self) -> list[Axis]:
        """Return new axes for the units."""
        return [
            Axis(Var(v.name, v.dtype), e, "spatial", tag)
            for v, e, tag in zip(self.vars, self.extents, self.tags, strict=True)
        ]


def on_lanes(
    lanes: Lanes, private: Mapping[Buffer, Buffer], body: Stmt, conditions: Sequence[Expr], *, updates: bool
) -> tuple[list[Axis], Stmt, list[Expr]]:
    """Return the axes of the units that run a statement, the statement, and its conditions. One that concerns no unit in particular runs
    once, unless it updates memory."""
    nodes = [node for part in (body, *conditions) for node in walk(part)]
    is_private = any(isinstance(node, BufferLoad | BufferStore) and node.buffer in private for node in nodes)
    used = {node for node in nodes if isinstance(node, Var)}
    axes = lanes.axes()
    needed = [a for a, var in zip(axes, lanes.vars, strict=True) if is_private or updates or var in used]
    numbers = {var: a.var for var, a in zip(lanes.vars, axes, strict=True)}
    place = tuple(a.var for a in axes)

    def leave(part: Node) -> Node:
        if isinstance(part, BufferLoad) and part.buffer in private:
            return BufferLoad(private[part.buffer], (*place, *part.indices))
        if isinstance(part, BufferStore) and part.buffer in private:
            return BufferStore(private[part.buffer], part.value, (*place, *part.indices))
        return part

    def moved(part: N) -> N:
        return rewrite(substitute(part, numbers), leave)

    return needed, moved(body), [moved(condition) for condition in conditions]


def seen_through(node: N, views: Mapping[Buffer, Buffer]) -> N:
    """Replace the elements of views by those of the buffers that they show."""

    def leave(part: Node) -> Node:
        if isinstance(part, BufferLoad) and part.buffer in views:
            return BufferLoad(*_shown(part.buffer, part.indices, views))
        if isinstance(part, BufferStore) and part.buffer in views:
            owner, indices = _shown(part.buffer, part.indices, views)
            return BufferStore(owner, part.value, indices)
        return part

    return rewrite(node, leave)


def _shown(buffer: Buffer, indices: Sequence[Expr], views: Mapping[Buffer, Buffer]) -> tuple[Buffer, tuple[Expr, ...]]:
    """Return the element of a buffer that an element of its view is: the one at the same place in row-major order."""
    while buffer in views:
        place: Expr = IntImm(0)
        for index, extent in zip(indices, buffer.shape, strict=True):
            place = build.add(build.mul(place, extent), index)
        buffer, found = views[buffer], list[Expr]()
        for extent in reversed(buffer.shape[1:]):
            found.append(build.floormod(place, extent))
            place = build.floordiv(place, extent)
        indices = (place, *reversed(found))
    return buffer, tuple(map(simplify, indices))


__all__ = [
    "Axis",
    "Lanes",
    "Loops",
    "axes_of",
    "axis",
    "block",
    "guarded",
    "on_lanes",
    "outside",
    "ranges_of",
    "seen_through",
]
