"""Copies by element: the one element that each iteration of a block accesses, its index in the copy, and the nest that copies it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    BufferStore,
    Expr,
    IterVar,
    Range,
    Stmt,
    Var,
    build,
    free_vars,
    substitute,
    uses_var,
)
from ....lower.access import BufferChange
from ...context import Context
from ...errors import refuse
from .staging import StatementSite


class Point(msgspec.Struct, frozen=True, eq=False):
    """The element of `buffer` that each iteration of a block accesses, and its index in `copy`, in the block's iterators."""

    buffer: Buffer
    element: tuple[Expr, ...]
    copy: Buffer
    place: tuple[Expr, ...]

    @property
    def change(self) -> BufferChange:
        return BufferChange(self.copy, lambda _: self.place, lambda _: tuple(map(build.point, self.place)))


class CopyNest(msgspec.Struct, frozen=True, eq=False):
    """The iteration space of a copy by element: loops, iterators in place of the block's, their bindings and the predicate."""

    name: str
    loops: Sequence[tuple[Var, Range]]
    iters: Sequence[IterVar]
    own: Mapping[Var, Expr]
    values: tuple[Expr, ...]
    predicate: Expr = build.TRUE


def over_domains(ctx: Context, iters: Sequence[IterVar], name: str) -> CopyNest:
    """One loop and one iterator for each of the `iters`, over its whole domain."""
    own = [IterVar(Var(f"v{n}", iv.var.dtype), iv.dom) for n, iv in enumerate(iters)]
    loops = [(Var(f"ax{n}", iv.var.dtype), iv.dom) for n, iv in enumerate(iters)]
    values = {iv.var: new.var for iv, new in zip(iters, own, strict=True)}
    block = ctx.fresh_block_name(f"{name}_reindex")
    return CopyNest(block, loops, own, values, tuple(var for var, _ in loops))


def over_loops(ctx: Context, realize: BlockRealize, point: Point, site: StatementSite) -> CopyNest:
    """The block's loops below the site that drive the iterators of the point, with their names."""
    pairs = [
        (iv, value)
        for iv, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if any(uses_var(p, iv.var) for p in point.place)
    ]
    below = [f for f in ctx.index.loops_above(realize) if ctx.index.is_inside(f, site.parent) and f is not site.parent]
    kept = [f for f in below if any(uses_var(value, f.loop_var) for _, value in pairs)]
    lost = {f.loop_var for f in below if f not in kept}
    if lost & (free_vars(realize.predicate) | {v for f in kept for end in (f.min, f.extent) for v in free_vars(end)}):
        raise refuse(
            "partial-domain", f"the domain of block {realize.block.name!r} depends on loops that the copy does not have", realize,
            expected="bounds and a predicate over the loops that select the element",
        )  # fmt: skip
    renamed: dict[Var, Expr] = {}
    loops: list[tuple[Var, Range]] = []
    for loop in kept:
        var = Var(loop.loop_var.name, loop.loop_var.dtype)
        loops.append((var, substitute(Range(loop.min, loop.extent), renamed)))
        renamed[loop.loop_var] = var
    own = [IterVar(Var(iv.var.name, iv.var.dtype), iv.dom) for iv, _ in pairs]
    return CopyNest(
        ctx.fresh_block_name(point.copy.name),
        loops,
        own,
        {iv.var: new.var for (iv, _), new in zip(pairs, own, strict=True)},
        tuple(substitute(value, renamed) for _, value in pairs),
        substitute(realize.predicate, renamed),
    )


def copied(nest: CopyNest, point: Point, *, to_copy: bool) -> Stmt:
    """The nest that copies each element to its index in the copy, or back."""
    element, place = (tuple(substitute(i, nest.own) for i in side) for side in (point.element, point.place))
    (source, read), (target, written) = (point.buffer, element), (point.copy, place)
    if not to_copy:
        (source, read), (target, written) = (target, written), (source, read)
    block = Block(
        name=nest.name,
        iter_vars=tuple(nest.iters),
        reads=(BufferRegion(source, tuple(map(build.point, read))),),
        writes=(BufferRegion(target, tuple(map(build.point, written))),),
        body=BufferStore(target, build.load(source, read), written),
    )
    stmt: Stmt = BlockRealize(nest.values, nest.predicate, block)
    for var, domain in reversed(nest.loops):
        stmt = replace_fields(build.serial(var, domain.extent, stmt), min=domain.min)
    return stmt
