"""A block's computation as an instruction of the machine: tensorize."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace as replace_fields

from ....analysis import fresh_name
from ....ir import (
    Block,
    Buffer,
    BufferRegion,
    Expr,
    MatchBufferRegion,
    Node,
    Range,
    Stmt,
    Var,
    build,
    fresh_vars,
    replace_nodes,
    rewrite,
    substitute,
    walk,
)
from ....lower.match_buffer import without_matches
from ...context import BlockRV, Context, LoopRV, Result
from ...errors import refuse
from ...index_dtype import with_index_dtype
from ...intrin import TensorIntrin, root_of
from ...rules.matching import Match, Mismatch, match_block
from ..copies.staging_checks import is_within
from .blockize import outer_block


def tensorize(
    ctx: Context,
    block_or_loop: BlockRV | LoopRV,
    tensor_intrin: str | TensorIntrin,
    preserve_unit_iters: bool = True,
) -> Result[None]:
    """Replace the computation of a block by a tensor intrinsic. A loop is blockized first.

    Rewrite:
        for i_0, i_1:                                 for i_0:
            with T.block("B"):                            with T.block("B_o"):
                vi = i_0 * 16 + i_1            =>             vi_o = i_0
                B[vi] = A[vi] * 2                             A_1 = T.match_buffer(A[vi_o * 16 : vi_o * 16 + 16], (16,), …)
                                                              B_1 = T.match_buffer(B[vi_o * 16 : vi_o * 16 + 16], (16,), …)
                                                              T.call_extern("double", B_1.data, A_1.data)   # tensorize(i_1, "double")
    Requires: the block computes what the intrinsic's description computes, loop by loop and block by block; names, the form of indices and
    the order of the operands of a sum may differ. Each buffer of the description corresponds to a box of a buffer with the same type and
    scope, which the block declares in full, and written boxes do not overlap other boxes.
    Returns: nothing. The blocks and loops inside are removed. A block keeps its name; the block of a loop is `<block>_o`, as by `blockize`.
    Errors: intrin-mismatch, intrin-region, intrin-overlap, intrin-unused, outside-buffer, matched-already, and those of blockize.
    Source: TVM src/s_tir/schedule/primitive/blockize_tensorize.cc, Tensorize; ir_comparator.cc.
    """
    if isinstance(block_or_loop, str):
        old: Stmt = ctx.realize(block_or_loop)
        realize = ctx.realize(block_or_loop)
    else:
        old = ctx.loop(block_or_loop)
        realize = outer_block(ctx, old, keep_units=preserve_unit_iters)
    block = realize.block
    require_unmatched(block)
    named = ctx.intrinsics.get(tensor_intrin) if isinstance(tensor_intrin, str) else tensor_intrin
    intrin = _fitted(named, block)
    found = require_match(block, intrin)
    require_all_found(block, intrin, found)
    require_touched(block, intrin, found, {**ctx.loop_ranges(old), **found.ranges})
    require_apart(block, intrin, found)
    made = replace_fields(realize, block=_implemented(ctx, block, intrin, found))
    return Result(ctx.replaced({old: made}), None, traced={"tensor_intrin": named}, unreturned=(block.name,))


# A block on matched buffers has already been tensorized.
def require_unmatched(block: Block) -> None:
    if block.match_buffers:
        raise refuse("matched-already", f"block {block.name!r} uses match_buffer views", block,
                     expected="a block that accesses the buffers of the program directly")  # fmt: skip


# The block must match the description.
def require_match(block: Block, intrin: TensorIntrin) -> Match:
    found = match_block(block, root_of(intrin.desc), intrin.desc.buffers)
    if isinstance(found, Mismatch):
        raise refuse(
            "intrin-mismatch", f"block {block.name!r} does not match the description of intrinsic {intrin.name!r}", found.ours, block,
            found=found.why, expected="the loops and statements of the description, in the same order",
        )  # fmt: skip
    return found


# Each parameter must correspond to a part of a buffer.
def require_all_found(block: Block, intrin: TensorIntrin, found: Match) -> None:
    missing = [b.name for b in intrin.desc.buffers if b not in found.places]
    if missing:
        raise refuse("intrin-unused", f"the description of {intrin.name!r} does not use {', '.join(missing)}", block,
                     expected="parameters that the description reads or writes")  # fmt: skip


# The instruction accesses exactly the regions that the block declares.
def require_touched(block: Block, intrin: TensorIntrin, found: Match, ranges: Mapping[Var, Range]) -> None:
    root = root_of(intrin.desc)
    written, read = {r.buffer for r in root.writes}, {r.buffer for r in root.reads}
    for param in intrin.desc.buffers:
        box = _box(param, found)
        # A view's region can be copied, so it must be inside the buffer: annotate_buffer_access may have declared more.
        if not is_within(box, build.full_region(box.buffer), ranges):
            raise refuse(
                "outside-buffer", f"block {block.name!r} may access parameter {param.name!r} of intrinsic {intrin.name!r} outside "
                f"{box.buffer.name!r}", block, expected="a region within the buffer",
            )  # fmt: skip
        sides = [(param in written, block.writes), (param in read - written, (*block.reads, *block.writes))]
        for is_touched, regions in sides:
            if is_touched and not any(is_within(box, r, ranges) for r in regions if r.buffer is box.buffer):
                raise refuse(
                    "intrin-region", f"block {block.name!r} does not access all of parameter {param.name!r} of intrinsic {intrin.name!r}",
                    block, expected=f"a region of {box.buffer.name!r} that contains it",
                )  # fmt: skip


# The description and the implementation are equivalent only for buffers without shared memory.
def require_apart(block: Block, intrin: TensorIntrin, found: Match) -> None:
    written = {r.buffer for r in root_of(intrin.desc).writes}
    for param in intrin.desc.buffers:
        if param not in written:
            continue
        place = found.places[param]
        other = next(
            (p for p in intrin.desc.buffers if p is not param and found.places[p].buffer is place.buffer), None
        )
        if other is not None:
            raise refuse(
                "intrin-overlap", f"parameters {param.name!r} and {other.name!r} of intrinsic {intrin.name!r} would alias in "
                f"{place.buffer.name!r}, which it writes", block, expected="separate buffers",
                fix=(f"sch.cache_read({block.name!r}, 0, …)",),
            )  # fmt: skip


def _fitted(intrin: TensorIntrin, block: Block) -> TensorIntrin:
    """The intrinsic with indices of the block's type."""
    dtypes = {axis.min.dtype for r in (*block.reads, *block.writes) for axis in r.region}
    dtype = max(dtypes, key=lambda d: int(d.removeprefix("int")), default="int32")
    fitted = [with_index_dtype(func, dtype) for func in (intrin.desc, intrin.impl)]
    return replace_fields(intrin, desc=fitted[0], impl=fitted[1])


def _box(param: Buffer, found: Match) -> BufferRegion:
    place = found.places[param]
    lead = len(place.base) - len(param.shape)
    points = (Range(e, build.const(1, e.dtype)) for e in place.base[:lead])
    axes = (Range(e, build.cast(n, e.dtype)) for e, n in zip(place.base[lead:], param.shape, strict=True))
    return BufferRegion(place.buffer, (*points, *axes))


def _implemented(ctx: Context, block: Block, intrin: TensorIntrin, found: Match) -> Block:
    """The block with the implementation as its body, on views of its buffers."""
    root = root_of(intrin.impl)
    pairs = list(zip(intrin.impl.buffers, intrin.desc.buffers, strict=True))
    used = {b.name for b in ctx.index.buffers}
    fresh = _fresh_buffers([*(mine for mine, _ in pairs), *root.alloc_buffers], used)
    body = _fresh_body(root.body, fresh, set(ctx.index.block_names) | {block.name})
    mine = dict(block.annotations)
    return replace_fields(
        block,
        body=body,
        alloc_buffers=tuple(fresh[b] for b in root.alloc_buffers),
        match_buffers=tuple(MatchBufferRegion(fresh[impl], _box(desc, found)) for impl, desc in pairs),
        annotations=(*block.annotations, *((k, v) for k, v in root.annotations if k not in mine)),
    )


def _fresh_buffers(buffers: Sequence[Buffer], used: set[str]) -> dict[Buffer, Buffer]:
    """The buffers with unused names and fresh size variables."""
    sizes: dict[Var, Expr] = {}
    for buffer in buffers:
        parts = (*buffer.shape, *buffer.strides, buffer.elem_offset)
        sizes.update((p, Var(p.name, p.dtype)) for p in parts if isinstance(p, Var) and p not in sizes)
    made: dict[Buffer, Buffer] = {}
    for buffer in buffers:
        name = fresh_name(buffer.name, used)
        used = used | {name}
        made[buffer] = replace_fields(substitute(buffer, sizes), name=name)
    return made


def _fresh_body(body: Stmt, buffers: Mapping[Buffer, Buffer], used: set[str]) -> Stmt:
    """A copy of a function's body with fresh loops, blocks and buffers."""
    sizes: dict[Var, Expr] = {}
    for old, new in buffers.items():
        parts = [*zip(old.shape, new.shape, strict=True), (old.elem_offset, new.elem_offset)]
        parts += zip(old.strides, new.strides, strict=True) if old.strides else ()
        sizes.update((a, b) for a, b in parts if isinstance(a, Var) and b is not None)
    names = set(used)
    copied, _ = fresh_vars(body)
    blocks = [node for node in walk(copied) if isinstance(node, Block)]
    inner = [b for block in blocks for b in (*block.alloc_buffers, *(m.buffer for m in block.match_buffers))]
    copied = substitute(replace_nodes(copied, {**buffers, **{b: replace_fields(b) for b in inner}}), sizes)

    def leave(node: Node) -> Node:
        if not isinstance(node, Block):
            return node
        name = fresh_name(node.name, names)
        names.add(name)
        return replace_fields(node, name=name)

    return rewrite(copied, leave)


def described(block: Block, intrin: TensorIntrin) -> Block:
    """The tensorized block with the intrinsic's description as its body, on the program's buffers."""
    fitted = _fitted(intrin, block)
    root = root_of(fitted.desc)
    views = {param: match.buffer for param, match in zip(fitted.desc.buffers, block.match_buffers, strict=True)}
    own = _fresh_buffers(root.alloc_buffers, {b.name for b in views.values()})
    body = _fresh_body(root.body, {**views, **own}, {block.name})
    return without_matches(replace_fields(block, body=body, alloc_buffers=tuple(own.values())))
