"""The declared regions of a block: annotate_buffer_access, unsafe_hide_buffer_access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import numpy as np

from ....arith import prove, simplify
from ....execute import ExecuteError, run
from ....ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    For,
    IntImm,
    Let,
    Node,
    PrimFunc,
    Range,
    RegionMap,
    Stmt,
    Var,
    addressed_buffers,
    build,
    children,
    free_vars,
    walk,
)
from ....lower import size_variables
from ...context import BlockRV, Context, Result, with_block
from ...errors import refuse
from ...rules.index_maps import IndexMapLike, regions_of_iterators

_MOST_CASES = 2**16
"""More values of the iterators than that are not tried one by one."""


def annotate_buffer_access(
    ctx: Context, block: BlockRV, buffer_index: int, buf_type: str, gen_new_ranges: RegionMap | IndexMapLike
) -> Result[None]:
    """Declare the region of a buffer that `block` reads or writes in one iteration, where analysis cannot derive it.

    Rewrite:
        T.reads(A[0:40])                            T.reads(A[v * 2 - 1 : v * 2 + 2])
        B[v] = A[int(floor(v * 2 + 0.5))]    =>     T.sblock_attr({"explicit_read_region": [0]})
                                                    B[v] = A[int(floor(v * 2 + 0.5))]
    `buf_type` is "read" or "write". The map returns an index, or (begin, end), for each axis of the buffer. Block motion and the compaction
    of buffers rely on the region, so it must hold: it is proved, or tested for all values of the iterators.
    Requires: the map uses iterators and sizes only; the new region contains every element that the block accesses in that way.
    Returns: nothing.
    Errors: bad-buffer-index, bad-side, bad-region, region-too-small, opaque-access.
    Source: TVM src/s_tir/schedule/primitive/annotate_buffer_access.cc, AnnotateBufferAccess.
    """
    ranges = regions_of_iterators(ctx.block(block), gen_new_ranges)
    if buf_type not in ("read", "write"):
        raise refuse("bad-side", f"unknown side {buf_type!r}", expected='"read" or "write"')
    realize = ctx.realize(block)
    old = ctx.buffer_region(block, buffer_index, side=buf_type)
    new = _region(realize.block, old, ranges)
    require_known_ends(ctx, realize.block, new)
    if not _holds(realize.block, new, old):
        require_all_accesses(realize.block, new, buf_type)
    require_plain_writes(realize.block, old, new, buf_type)

    side = f"{buf_type}s"
    regions = tuple(new if r is old else r for r in getattr(realize.block, side))
    annotations = _noted(realize.block, f"explicit_{buf_type}_region", buffer_index)
    declared = with_block(realize, **{side: regions}, annotations=annotations)
    return Result(ctx.replaced({realize: declared}), None, traced={"gen_new_ranges": ranges})


def unsafe_hide_buffer_access(ctx: Context, block: BlockRV, buf_type: str, buf_index_array: list[int]) -> Result[None]:
    """Remove reads of buffers from the declaration of `block`, so that it matches the description of an intrinsic.

    Rewrite:
        T.reads(A[indices[v]], indices[v])    =>    T.reads(A[indices[v]])
    `buf_index_array` has the positions of the buffers among the reads.
    Requires: the buffers are parameters that no block writes. Later calls see no access of the block to them, so that a write would break
    their decisions. For the same reason a write cannot be hidden.
    Returns: nothing.
    Errors: bad-buffer-index, bad-side, hidden-dependence.
    Source: TVM src/s_tir/schedule/primitive/hide_buffer_access.cc, UnsafeHideBufferAccess; TVM hides any access.
    """
    realize = ctx.realize(block)
    if buf_type not in ("read", "write"):
        raise refuse("bad-side", f"unknown side {buf_type!r}", expected='"read" or "write"')
    if buf_type == "write" and buf_index_array:
        raise refuse("hidden-dependence", f"later calls need to know what {block!r} writes", realize, expected="a read")
    hidden = [ctx.buffer_region(block, index, side="read") for index in buf_index_array]
    for region in hidden:
        _require_constant(ctx, realize, region.buffer)
    if hidden and any(key == "explicit_read_region" for key, _ in realize.block.annotations):
        raise refuse(
            "hidden-dependence", "the positions of the declared regions would shift", realize,
            found="explicit_read_region", expected="unsafe_hide_buffer_access before annotate_buffer_access",
        )  # fmt: skip
    reads = tuple(r for r in realize.block.reads if r not in hidden)
    return Result(ctx.replaced({realize: with_block(realize, reads=reads)}), None)


# Later calls do not see the hidden access, so the contents of the buffer must not depend on their decisions.
def _require_constant(ctx: Context, realize: BlockRealize, buffer: Buffer) -> None:
    writers = ctx.index.writers(buffer)
    if buffer not in ctx.func.buffers or writers:
        found = f"{writers[0]!r} writes it" if writers else "a buffer that is not a parameter"
        raise refuse(
            "hidden-dependence", f"later calls need to know who reads {buffer.name!r}", realize,
            found=found, expected="a parameter that the function only reads",
        )  # fmt: skip


def _region(block: Block, old: BufferRegion, ranges: RegionMap) -> BufferRegion:
    try:
        ends = ranges.apply([iv.var for iv in block.iter_vars])
    except TypeError as error:
        raise refuse(
            "bad-region", str(error), block, expected=f"a function of {len(block.iter_vars)} iterators"
        ) from error
    if len(ends) != len(old.region):
        raise refuse(
            "bad-region", f"the map gives {len(ends)} axes, {old.buffer.name!r} has {len(old.region)}", block,
            expected=f"an index, or (begin, end), for each of {len(old.region)} axes",
        )  # fmt: skip
    return BufferRegion(
        old.buffer, tuple(_axis(*pair, axis.min.dtype) for pair, axis in zip(ends, old.region, strict=True))
    )


def _axis(begin: Expr, end: Expr, dtype: str) -> Range:
    begin, end = build.cast(simplify(begin), dtype), build.cast(simplify(end), dtype)
    return Range(begin, simplify(build.sub(end, begin)))


def _holds(block: Block, new: BufferRegion, old: BufferRegion) -> bool:
    """Whether the new region contains the old one in every iteration."""
    iters = {iv.var: iv.dom for iv in block.iter_vars}
    return all(
        prove(build.le(n.min, o.min), iters)
        and prove(build.le(build.add(o.min, o.extent), build.add(n.min, n.extent)), iters)
        for n, o in zip(new.region, old.region, strict=True)
    )


# A call is stored as text and replayed on the original program, so it cannot name memory contents or other variables.
def require_known_ends(ctx: Context, block: Block, region: BufferRegion) -> None:
    known = {*(iv.var for iv in block.iter_vars), *size_variables(ctx.func).values()}
    for axis in region.region:
        stray = [n for part in (axis.min, axis.extent) for n in walk(part) if isinstance(n, BufferLoad)]
        stray += sorted(free_vars(axis) - known, key=lambda var: var.name)
        if stray:
            raise refuse(
                "bad-region", f"the region of {region.buffer.name!r} depends on {_described(stray[0])}", block,
                expected="bounds over the iterators of the block and the sizes of the program",
            )  # fmt: skip


def _described(part: BufferLoad | Var) -> str:
    return f"the variable {part.name!r}" if isinstance(part, Var) else f"the data of {part.buffer.name!r}"


# The declared region must contain all accesses of the block, because other analyses rely on it.
def require_all_accesses(block: Block, region: BufferRegion, buf_type: str) -> None:
    require_seen(block, region.buffer)
    iters = {iv.var: iv.dom for iv in block.iter_vars}
    for access, ranges in _accesses(block, iters):
        if isinstance(access, BufferStore) == (buf_type == "read") or access.buffer is not region.buffer:
            continue
        for index, axis in zip(access.indices, region.region, strict=True):
            if not _is_between(index, axis, ranges):
                raise refuse(
                    "region-too-small", f"block {block.name!r} may {buf_type} elements of {region.buffer.name!r} outside the region",
                    access, expected="a region that contains all accesses for all values of the iterators",
                )  # fmt: skip


# For nested blocks, views and addresses, only the block's declaration is known.
def require_seen(block: Block, buffer: Buffer) -> None:
    viewed = any(m.source.buffer is buffer for m in block.match_buffers)
    if viewed or buffer in addressed_buffers(block) or any(isinstance(n, Block) for n in walk(block.body)):
        raise refuse(
            "opaque-access", f"the accesses of block {block.name!r} to {buffer.name!r} are unknown", block,
            expected="a region that contains the declared one",
        )  # fmt: skip


# If its stores are not visible, a block's declared writes count as complete: a larger region would claim too much.
def require_plain_writes(block: Block, old: BufferRegion, new: BufferRegion, buf_type: str) -> None:
    if buf_type == "write" and not _holds(block, old, new):
        require_seen(block, old.buffer)


def _accesses(
    node: Node, ranges: Mapping[Var, Range]
) -> Iterator[tuple[BufferLoad | BufferStore, Mapping[Var, Range]]]:
    """The accesses of a block, each with the ranges of the variables around it. Variables of lets have no range."""
    if isinstance(node, BufferLoad | BufferStore):
        yield node, ranges
    if isinstance(node, For):
        ranges = {**ranges, node.loop_var: Range(node.min, node.extent)}
    for child in _inner(node):
        yield from _accesses(child, ranges)


def _inner(node: Node) -> Sequence[Node]:
    if isinstance(node, Block):
        return [part for part in (node.init, node.body) if part is not None]
    return [child for child in children(node) if not isinstance(child, Buffer)]


def _is_between(index: Expr, axis: Range, ranges: Mapping[Var, Range]) -> bool:
    """Whether the index is provably within the axis: by arithmetic, or for each value of the variables."""
    low, high = build.sub(index, axis.min), build.sub(build.add(axis.min, axis.extent), index)
    if prove(build.ge(low, 0), ranges) and prove(build.ge(high, 1), ranges):
        return True
    found = _tried((low, high), ranges)
    return found is not None and bool(np.all(found[0] >= 0) and np.all(found[1] >= 1))


def _tried(values: Sequence[Expr], ranges: Mapping[Var, Range]) -> list[np.ndarray] | None:
    """The values for each value of their variables; None if they read memory, or there are too many."""
    used = list(dict.fromkeys(v for value in values for v in free_vars(value)))
    trips = [
        build.int_value(ranges[v].extent) if v in ranges and build.is_const(ranges[v].min, 0) else None for v in used
    ]
    known = [t for t in trips if t is not None]
    loads = any(isinstance(n, BufferLoad | Let) for value in values for n in walk(value))
    if loads or len(known) < len(trips) or not all(known) or prod(known) > _MOST_CASES:
        return None
    shape = tuple(IntImm(t) for t in known) or (IntImm(1),)
    buffers = [Buffer(f"values{n}", shape, value.dtype) for n, value in enumerate(values)]
    places = tuple(used) or (IntImm(0),)
    body: Stmt = build.seq([BufferStore(b, value, places) for b, value in zip(buffers, values, strict=True)])
    for var, count in reversed(list(zip(used, known, strict=True))):
        body = build.serial(var, count, body)
    root = BlockRealize((), build.TRUE, Block("root", (), (), (), body))
    handles = tuple((Var(b.name, "handle"), b) for b in buffers)
    try:
        found = run(PrimFunc("tried", tuple(h for h, _ in handles), handles, root), {})
    except ExecuteError:
        return None
    return [found[b.name] for b in buffers]


def _noted(block: Block, key: str, position: int):
    """The block's annotations with the position added to the key's list."""
    known = next((value for name, value in block.annotations if name == key), ())
    listed = known if isinstance(known, tuple) else (known,)
    if not any(build.int_value(item) == position for item in listed if isinstance(item, Expr)):
        listed = (*listed, IntImm(position))
    kept = tuple((name, value) for name, value in block.annotations if name != key)
    return (*kept, (key, listed))
