"""Initialization of layout padding: places of a layout that hold no element. As in TVM, the first case that fits applies:

- Nothing writes the buffer: the caller provides it and promises the value. A block at the front declares this (`T.assume`).
- A loop nest covers the buffer row by row: it covers the new layout instead and stores the value in the padding.
- Otherwise, a block after the last write fills the padding.

The program never accesses padding, so only the value at the end matters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace as replace_fields

from ...analysis import fresh_name
from ...arith import PaddedMap, keeps_order, simplify
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IndexMap,
    IterVar,
    LetStmt,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    build,
    child_stmts,
    free_vars,
    map_children,
    replace_nodes,
    rewrite,
    structural_equal,
    substitute,
    walk_stmts,
)
from ..context import Context
from ..errors import ScheduleError
from .checks import require_order_free


class Padding(msgspec.Struct, frozen=True, eq=False):
    """A layout change from `old` to `new` by `index_map`; places without an element hold `value`."""

    old: Buffer
    new: Buffer
    index_map: IndexMap
    places: PaddedMap
    value: IndexMap


class _Write(msgspec.Struct, frozen=True, eq=False):
    """A store to the buffer. `indices` are in terms of the loops; `nest` contains the loops from the first to the last that they use.
    `path` leads from the body of the buffer's home block to the store; statements further out never access the buffer."""

    store: BufferStore
    indices: tuple[Expr, ...]
    nest: tuple[For, ...]
    path: tuple[Stmt, ...]

    @property
    def realize(self) -> BlockRealize | None:
        """The innermost block around the store, excluding the buffer's home block."""
        return next((s for s in reversed(self.path) if isinstance(s, BlockRealize)), None)


def padded(ctx: Context, padding: Padding) -> PrimFunc:
    """The function with the padding initialized; all other accesses still use the old buffer."""
    writes = list(_writes(ctx, padding.old))
    if not writes:
        return _with_assumption(ctx, padding)
    replaced: dict[Node, Node] = {}
    for write in writes:
        if write.nest and write.nest[0] not in replaced and _is_row_major(ctx, padding, write):
            replaced[write.nest[0]] = _renested(padding, write)
    return replace_nodes(ctx.func, replaced) if replaced else _with_filling(ctx, padding, writes[-1])


# Stores to the buffer.


def _writes(ctx: Context, buffer: Buffer) -> Iterator[_Write]:
    """The stores in text order."""
    home = _home(ctx, buffer)

    def visit(stmt: Stmt, path: tuple[Stmt, ...], values: Mapping[Var, Expr]) -> Iterator[_Write]:
        path = (*path, stmt)
        if isinstance(stmt, BlockRealize):
            pairs = zip(stmt.block.iter_vars, stmt.iter_values, strict=True)
            values = {**values, **{iv.var: substitute(value, values) for iv, value in pairs}}
        elif isinstance(stmt, LetStmt):
            values = {**values, stmt.var: substitute(stmt.value, values)}
        elif isinstance(stmt, BufferStore) and stmt.buffer is buffer:
            indices = tuple(substitute(i, values) for i in stmt.indices)
            yield _Write(stmt, indices, _nest(path, indices), path)
        for child in child_stmts(stmt):
            if isinstance(child, Stmt):
                yield from visit(child, path, values)

    for part in (home.init, home.body):
        if part is not None:
            yield from visit(part, (), {})


def _nest(path: Sequence[Stmt], indices: Sequence[Expr]) -> tuple[For, ...]:
    loops = [s for s in path if isinstance(s, For)]
    used = {var for index in indices for var in free_vars(index)}
    places = [k for k, loop in enumerate(loops) if loop.loop_var in used]
    return tuple(loops[places[0] : places[-1] + 1]) if places else ()


# A nest that visits each element once, unconditionally, may visit the places of the new layout too.
def _is_row_major(ctx: Context, padding: Padding, write: _Write) -> bool:
    nest, shape = write.nest, padding.old.shape
    if len(nest) != len(shape):
        return False
    for loop, index, extent in zip(nest, write.indices, shape, strict=True):
        plain = index is loop.loop_var and build.is_const(loop.min, 0) and loop.kind == "serial"
        if not plain or not structural_equal(loop.extent, extent):
            return False
    if any(outer.body is not inner for outer, inner in pairwise(nest)):
        return False
    outside = write.path[: write.path.index(nest[0])]
    if any(map(_may_be_left_out, outside)) or not _only_pads(write):
        return False
    in_order = keeps_order(padding.index_map, padding.old.shape, padding.new.shape)
    return in_order or _is_order_free(ctx, nest)


def _may_be_left_out(stmt: Stmt) -> bool:
    return isinstance(stmt, IfThenElse) or (isinstance(stmt, BlockRealize) and not build.is_true(stmt.predicate))


def _only_pads(write: _Write) -> bool:
    """Whether the nest only stores elements of the buffer at its own indices, and can do so for padding: only the stored value depends on
    the element's position."""
    moving = {loop.loop_var for loop in write.nest}
    inner = _block_iterators(write)
    for stmt in walk_stmts(write.nest[-1].body):
        match stmt:
            case BufferStore():
                same = len(stmt.indices) == len(write.store.indices) and stmt.buffer is write.store.buffer
                if not same or not all(map(structural_equal, stmt.indices, write.store.indices)):
                    return False
            case For():
                if (free_vars(stmt.min) | free_vars(stmt.extent)) & (moving | set(inner)):
                    return False
            case BlockRealize():
                others = zip(stmt.block.iter_vars, stmt.iter_values, strict=True)
                driven = any(iv.var not in inner and free_vars(value) & moving for iv, value in others)
                if driven or not build.is_true(stmt.predicate) or stmt.block.match_buffers or stmt.block.alloc_buffers:
                    return False
            case Block() | SeqStmt():
                pass
            case _:
                return False
    return True


def _block_iterators(write: _Write) -> list[Var]:
    """The iterators of the innermost block in the nest that equal the store's indices, adjacent and in order; empty if there are none."""
    realize = write.realize
    if realize is None or write.path.index(realize) < write.path.index(write.nest[0]):
        return []
    variables = [iv.var for iv in realize.block.iter_vars if iv.iter_type == "spatial"]
    everyone = [iv.var for iv in realize.block.iter_vars]
    indices = write.store.indices
    if not indices or indices[0] not in everyone:
        return []
    first = everyone.index(indices[0])  # pyright: ignore[reportArgumentType]
    mine = everyone[first : first + len(indices)]
    fits = tuple(mine) == indices and all(var in variables for var in mine)
    return mine if fits else []


def _is_order_free(ctx: Context, nest: Sequence[For]) -> bool:
    try:
        require_order_free(ctx, nest, [loop.loop_var for loop in nest], "lay out")
    except ScheduleError:
        return False
    return True


# The nest over the new layout.


def _renested(padding: Padding, write: _Write) -> For:
    axes = padding.places.inverse.params
    elements = dict(zip((loop.loop_var for loop in write.nest), padding.places.inverse.indices, strict=True))
    inner = _block_iterators(write)
    at = _block_vars(axes) if inner else axes
    over = dict(zip(axes, at, strict=True))
    values: dict[Var, Expr] = elements | {
        var: simplify(substitute(e, over)) for var, e in zip(inner, padding.places.inverse.indices, strict=False)
    }
    condition = substitute(padding.places.padding, over)

    def leave(node: Node) -> Node:
        if isinstance(node, BufferStore):
            value = build.if_then_else(condition, padding.value.apply(at)[0], node.value)
            return BufferStore(padding.new, value, at)
        return node

    stored = rewrite(write.nest[-1].body, leave)
    if inner:
        stored = _with_iterators(stored, padding, inner, axes, at)
    return _loops(axes, padding.new, substitute(stored, values))


def _with_iterators(body: Stmt, padding: Padding, inner: Sequence[Var], axes: Sequence[Var], at: Sequence[Var]) -> Stmt:
    """`body` with the block's iterators of the old axes replaced by those of the new axes."""

    def visit(node: Node) -> Node:
        if isinstance(node, BlockRealize) and any(iv.var is inner[0] for iv in node.block.iter_vars):
            first = next(k for k, iv in enumerate(node.block.iter_vars) if iv.var is inner[0])
            behind = first + len(inner)
            iterators, values = node.block.iter_vars, node.iter_values
            new = tuple(map(_spatial, at, padding.new.shape))
            block = replace_fields(node.block, iter_vars=(*iterators[:first], *new, *iterators[behind:]))
            return replace_fields(node, block=block, iter_values=(*values[:first], *axes, *values[behind:]))
        return map_children(node, visit) if isinstance(node, Stmt) else node

    done = visit(body)
    assert isinstance(done, Stmt)
    return done


def _block_vars(axes: Sequence[Var]) -> tuple[Var, ...]:
    return tuple(Var(f"v_{axis.name}", axis.dtype) for axis in axes)


def _spatial(var: Var, extent: Expr) -> IterVar:
    return IterVar(var, build.make_range(build.const(0, var.dtype), build.cast(extent, var.dtype)), "spatial")


def _loops(axes: Sequence[Var], buffer: Buffer, body: Stmt) -> For:
    for axis, extent in reversed(list(zip(axes, buffer.shape, strict=True))):
        body = build.serial(axis, build.cast(extent, axis.dtype), body)
    assert isinstance(body, For)
    return body


# Separate blocks for the padding.


def _with_assumption(ctx: Context, padding: Padding) -> PrimFunc:
    at, condition, value = _anywhere(padding)
    holds = build.logical_or(build.logical_not(condition), build.eq(build.load(padding.new, at), value))
    assume = Evaluate(Call("assume", (holds,), "bool"))
    touched = BufferRegion(padding.new, tuple(map(build.point, at)))
    nest = _nest_of(ctx, padding, at, build.TRUE, f"buffer_{padding.old.name}_assumptions", (touched,), (), assume)
    return ctx.replaced({(body := _home(ctx, padding.old).body): build.seq([nest, body])})


def _with_filling(ctx: Context, padding: Padding, last: _Write) -> PrimFunc:
    at, _, value = _anywhere(padding)
    touched = BufferRegion(padding.new, tuple(map(build.point, at)))
    store = BufferStore(padding.new, value, at)
    name = f"buffer_{padding.old.name}_padding"
    nest = _nest_of(ctx, padding, at, padding.places.padding, name, (), (touched,), store)
    place = _behind(last)
    around = ctx.index.parent(place)
    if isinstance(around, SeqStmt):
        return ctx.replaced(
            {around: build.seq([s for stmt in around.seq for s in ((stmt, nest) if stmt is place else (stmt,))])}
        )
    return ctx.replaced({place: build.seq([place, nest])})


def _anywhere(padding: Padding) -> tuple[tuple[Var, ...], Expr, Expr]:
    """Block variables for a place, the condition that it is padding, and its value then."""
    at = _block_vars(padding.places.inverse.params)
    over = dict(zip(padding.places.inverse.params, at, strict=True))
    return at, substitute(padding.places.padding, over), padding.value.apply(at)[0]


def _nest_of(
    ctx: Context, padding: Padding, at: tuple[Var, ...], predicate: Expr, name: str,
    reads: tuple[BufferRegion, ...], writes: tuple[BufferRegion, ...], body: Stmt,
) -> For:  # fmt: skip
    axes = padding.places.inverse.params
    name = fresh_name(name, set(ctx.index.block_names))
    block = Block(name, tuple(map(_spatial, at, padding.new.shape)), reads, writes, body)
    fresh = {axis: Var(axis.name, axis.dtype) for axis in axes}
    return _loops(
        tuple(fresh.values()), padding.new, BlockRealize((*fresh.values(),), substitute(predicate, fresh), block)
    )


def _home(ctx: Context, buffer: Buffer) -> Block:
    """The block that allocates the buffer."""
    for name in ctx.index.block_names:
        if any(b is buffer for b in ctx.index.block(name).alloc_buffers):
            return ctx.index.block(name)
    return ctx.index.root.block


def _behind(write: _Write) -> Stmt:
    """The statement that precedes the filling: the nest of the last write, or the outermost conditional statement around it."""
    place: Stmt = write.nest[0] if write.nest else write.realize or write.store
    outside = write.path[: write.path.index(place) + 1]
    return next((stmt for stmt in outside if _may_be_left_out(stmt)), place)
