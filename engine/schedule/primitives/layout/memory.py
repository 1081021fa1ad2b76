"""Memory scope, alignment and data type of a buffer: set_scope, storage_align, unsafe_set_dtype."""

from __future__ import annotations

from typing import cast

from msgspec.structs import replace as replace_fields

from ....ir import (
    Annotation,
    Block,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    Node,
    PrimFunc,
    build,
    replace_buffers,
    rewrite,
)
from ....ir import dtype as dt
from ...context import BlockRV, Context, Result
from ...errors import refuse
from ...rules.checks import require_buffer_of_block, require_scope_name

_ALIGNMENT = "buffer_dim_align"
_Alignment = tuple[int, int, int, int]
"""(position in the block's writes, axis, factor, offset), TVM's StorageAlignTuple."""


def set_scope(ctx: Context, block: BlockRV, buffer_index: int | str | Buffer, storage_scope: str) -> Result[None]:
    """Move a buffer that `block` writes to another memory scope.

    Rewrite:    B = T.sblock_alloc_buffer((n,))   =>   B = T.sblock_alloc_buffer((n,), scope="local")
    Requires: an intermediate buffer; the caller allocates parameters.
    Returns: nothing.
    Errors: bad-buffer-index, unknown-buffer, bad-scope, parameter-buffer, view-buffer.
    Source: TVM src/s_tir/schedule/primitive/block_annotate.cc, SetScope.
    """
    old = ctx.buffer_region(block, buffer_index, side="write").buffer
    require_scope_name(storage_scope)
    if old.scope == storage_scope:
        return Result(ctx.func, None)
    require_not_parameter(ctx, old, f'sch.cache_write({block!r}, {old.name!r}, "{storage_scope}")')
    require_no_view_of_other(ctx, old)
    new = {b: replace_fields(b, scope=storage_scope) for b in _with_views(ctx, old)}
    kinds = {scope.partition(".")[0] for scope in (old.scope, storage_scope)}
    return Result(ctx.renamed(new) if len(kinds) == 1 else replace_buffers(ctx.func, new), None)


def storage_align(
    ctx: Context, block: BlockRV, buffer_index: int | str | Buffer, axis: int, factor: int, offset: int
) -> Result[None]:
    """Align the stride of an axis of a buffer to `k * factor + offset` elements, for some k.

    Rewrite:    with T.sblock("B"): …   =>   with T.sblock("B"): T.sblock_attr({"buffer_dim_align": [[0, axis, factor, offset]]}) …
    With factor=128 and offset=1, rows of 128 elements are 129 elements apart, so that a column accesses another bank in each row. Lowering
    computes the strides; the program's result stays the same. The last call for an axis counts.
    `axis` may count from the end (-1 is the innermost axis).
    Requires: an intermediate buffer that `block` writes; a positive factor.
    Returns: nothing.
    Errors: bad-buffer-index, bad-factor, bad-axis, parameter-buffer, view-buffer, bad-annotation.
    Source: TVM src/s_tir/schedule/primitive/block_annotate.cc, StorageAlign.
    """
    buffer = ctx.buffer_region(block, buffer_index, side="write").buffer
    if factor <= 0:
        raise refuse(
            "bad-factor", f"cannot align by {factor}", found=str(factor), expected="a positive number of elements"
        )
    rank = len(buffer.shape)
    if not -rank <= axis < rank:
        raise refuse("bad-axis", f"{buffer.name!r} has no axis {axis}", buffer, expected=f"{-rank} to {rank - 1}")
    require_not_parameter(ctx, buffer, f"sch.cache_write({block!r}, {buffer.name!r}, scope)")
    require_no_view_of_other(ctx, buffer)
    position = next(n for n, w in enumerate(ctx.block(block).writes) if w.buffer is buffer)
    return Result(with_alignment(ctx, block, position, axis % rank, factor, offset), None)


def unsafe_set_dtype(ctx: Context, block: BlockRV, buffer_index: int | str | Buffer, dtype: str) -> Result[None]:
    """Store a buffer in another data type, with a cast at each store and each load.

    Rewrite:
        B = alloc((n,), "float32")              B = alloc((n,), "float16")
        B[i] = f(i)                      =>     B[i] = T.cast(f(i), "float16")
        C[i] = B[i]                             C[i] = T.cast(B[i], "float32")
    This call may change results, and is the only one that may. A narrower type rounds or wraps; a wider type of the same kind keeps every
    value.
    `verify` reports the difference of the outputs.
    Requires: an intermediate buffer of numbers that `block` writes and whose address is not taken.
    Returns: nothing.
    Errors: bad-buffer-index, unknown-buffer, bad-dtype, parameter-buffer, view-buffer, opaque-access.
    Source: TVM src/s_tir/schedule/primitive/block_annotate.cc, UnsafeSetDType.
    """
    old = ctx.buffer_region(block, buffer_index, side="write").buffer
    if old.dtype == dtype:
        return Result(ctx.func, None)
    require_number_type(old, dtype)
    require_not_parameter(ctx, old, f"sch.cache_write({block!r}, {old.name!r}, scope)")
    require_no_view_of_other(ctx, old)
    new = {b: replace_fields(b, dtype=dtype) for b in _with_views(ctx, old)}
    require_indices_only(ctx, new)

    def leave(node: Node) -> Node:
        if isinstance(node, Buffer):
            return new.get(node, node)
        if isinstance(node, BufferStore) and node.buffer in changed:
            return replace_fields(node, value=build.cast(node.value, dtype))
        if isinstance(node, BufferLoad) and node.buffer in changed:
            return build.cast(node, old.dtype)
        return node

    changed = set(new.values())
    return Result(rewrite(ctx.func, leave, kinds={Buffer, BufferStore, BufferLoad}), None)


# The caller allocates parameters and expects their layout.
def require_not_parameter(ctx: Context, buffer: Buffer, fix: str) -> None:
    if ctx.index.is_param(buffer):
        raise refuse(
            "parameter-buffer", f"{buffer.name!r} is a parameter: the caller's memory cannot change", buffer,
            expected="an intermediate buffer", fix=(fix,),
        )  # fmt: skip


# A view has no memory of its own.
def require_no_view_of_other(ctx: Context, buffer: Buffer) -> None:
    if not any(b is buffer for b in ctx.index.buffers):
        require_buffer_of_block(ctx, buffer, "view-buffer")
        raise refuse(
            "view-buffer", f"{buffer.name!r} is a view of another buffer", buffer, expected="the buffer that it views"
        )


# Casts apply to numbers only.
def require_number_type(buffer: Buffer, dtype: object) -> None:
    numbers = all(
        isinstance(d, str) and (dt.is_int(d) or dt.is_float(d)) and dt.is_valid(d) for d in (dtype, buffer.dtype)
    )
    if not numbers:
        raise refuse(
            "bad-dtype",
            f"{buffer.name!r} of {buffer.dtype} cannot hold {dtype!r}",
            buffer,
            expected='"float16", "int32", …',
        )


# A user of the address finds elements of the old type.
def require_indices_only(ctx: Context, buffers: object) -> None:
    for buffer in ctx.index.addressed:
        if buffer in cast("dict[Buffer, Buffer]", buffers):
            raise refuse(
                "opaque-access", f"the address of {buffer.name!r} is used, and accesses by address keep the old dtype", buffer,
                expected="a buffer that is only accessed by index",
            )  # fmt: skip


def with_alignment(ctx: Context, block: BlockRV, position: int, axis: int, factor: int, offset: int) -> PrimFunc:
    """The function with an alignment of the buffer at `position` of the block's writes. Refuses "bad-annotation"."""
    old = ctx.block(block)
    known = alignments_or_refuse(old)
    wanted = (position, axis, factor, offset)
    places = [k for k, other in enumerate(known) if other[:2] == wanted[:2]]
    new = [*known[: places[0]], wanted, *known[places[0] + 1 :]] if places else [*known, wanted]
    value: Annotation = tuple(tuple(build.const(n, "int32") for n in item) for item in new)
    if any(key == _ALIGNMENT for key, _ in old.annotations):
        annotations = tuple((key, value if key == _ALIGNMENT else v) for key, v in old.annotations)
    else:
        annotations = (*old.annotations, (_ALIGNMENT, value))
    return ctx.replaced({old: replace_fields(old, annotations=annotations)})


# An existing annotation can be extended only if it is a list of four numbers each.
def alignments_or_refuse(block: Block) -> list[_Alignment]:
    found = next((value for key, value in block.annotations if key == _ALIGNMENT), ())
    listed = cast("tuple[object, ...]", found) if isinstance(found, tuple) else ((),)
    items = [_numbers(item) for item in listed]
    if any(len(item) != 4 or None in item for item in items):
        raise refuse(
            "bad-annotation", f"block {block.name!r} has a {_ALIGNMENT!r} that is not a list of alignments", block,
            expected="a list of [buffer index, axis, factor, offset]", fix=(f'sch.unannotate({block.name!r}, "{_ALIGNMENT}")',),
        )  # fmt: skip
    return cast("list[_Alignment]", items)


def _numbers(item: object) -> tuple[int | None, ...]:
    values = cast("tuple[object, ...]", item) if isinstance(item, tuple) else ()
    return tuple(build.int_value(v) if isinstance(v, Expr) else None for v in values)


def _with_views(ctx: Context, buffer: Buffer) -> list[Buffer]:
    """The buffer and its views, including views of views."""
    found = [buffer]
    for name in ctx.index.block_names:
        found += [m.buffer for m in ctx.index.block(name).match_buffers if any(m.source.buffer is b for b in found)]
    return found
