"""Loop kinds and annotations: parallel, vectorize, unroll, bind, annotate, unannotate."""

from __future__ import annotations

import re

from msgspec.structs import replace as replace_fields

from ....ir import (
    Annotation,
    AnnotationMap,
    Annotations,
    Block,
    BlockRealize,
    Expr,
    For,
    ForKind,
    StringImm,
    build,
    structural_equal,
)
from ...context import BlockRV, Context, LoopRV, Result, with_block
from ...errors import refuse
from ...rules.affine import require_affine_below
from ...rules.concurrent import require_concurrent

_THREAD_TAG = re.compile(r"(blockIdx|threadIdx|vthread)\.[xyz]$|vthread$|cthread$")

AnnotationLike = (
    Expr
    | str
    | int
    | float
    | bool
    | list["AnnotationLike"]
    | tuple["AnnotationLike", ...]
    | dict[str, "AnnotationLike"]
)


def parallel(ctx: Context, loop: LoopRV) -> Result[None]:
    """Run the iterations of a loop in parallel on several cores.

    Rewrite:    for i in range(n)   =>   for i in T.parallel(n)
    Requires: no iteration depends on another one, and no two iterations reduce into the same element.
    Returns: nothing; the loop stays valid.
    Errors: reduction-in-parallel, order-dependent, opaque-iterator.
    Source: TVM src/s_tir/schedule/primitive/for_kind.cc, ParallelizeComputation.
    """
    return _with_kind(ctx, loop, "parallel")


def vectorize(ctx: Context, loop: LoopRV) -> Result[None]:
    """Vectorize a loop: its iterations become lanes of vector instructions.

    Rewrite:    for i in range(n)   =>   for i in T.vectorized(n)
    Requires, Returns, Errors, Source: as `parallel`.
    """
    return _with_kind(ctx, loop, "vectorized")


def bind(ctx: Context, loop: LoopRV, thread_axis: str) -> Result[None]:
    """Bind a loop to the thread axis `thread_axis` ("blockIdx.x", "threadIdx.y", "vthread.z", …), one thread for each iteration.

    Rewrite:    for i in range(n)   =>   for i in T.thread_binding(n, thread=thread_axis)
    Requires: as `parallel`; a reduction may be bound to threadIdx (a cross-thread reduction).
    Returns: nothing; the loop stays valid.
    Errors: bad-thread-axis, and those of `parallel`.
    Source: TVM src/s_tir/schedule/primitive/for_kind.cc, Bind.
    """
    if not _THREAD_TAG.match(thread_axis):
        raise refuse(
            "bad-thread-axis", f"unknown thread axis {thread_axis!r}",
            expected="blockIdx.x|y|z, threadIdx.x|y|z, vthread, vthread.x|y|z or cthread",
        )  # fmt: skip
    return _with_kind(ctx, loop, "thread_binding", thread_axis)


def unroll(ctx: Context, loop: LoopRV) -> Result[None]:
    """Unroll a loop. Always legal.

    Rewrite:    for i in range(n)   =>   for i in T.unroll(n)
    Returns: nothing; the loop stays valid.
    Source: TVM src/s_tir/schedule/primitive/for_kind.cc, Unroll.
    """
    old = ctx.loop(loop)
    return Result(ctx.replaced({old: replace_fields(old, kind="unrolled", thread_tag=None)}), None)


def annotate(ctx: Context, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: AnnotationLike) -> Result[None]:
    """Annotate a loop or a block for later passes.

    Rewrite:    T.block("C")   =>   T.block("C"), T.block_attr({ann_key: ann_val})
    Requires: no different value under that key. The same annotation may be repeated.
    Returns: nothing.
    Errors: annotation-exists.
    Source: TVM src/s_tir/schedule/primitive/annotate.cc, Annotate.
    """
    old, value = _annotations(ctx, block_or_loop), annotation_value(ann_val)
    same = [noted for noted in old if noted[0] == ann_key]
    if any(structural_equal(AnnotationMap((noted,)), AnnotationMap(((ann_key, value),))) for noted in same):
        return Result(ctx.func, None)
    require_no_annotation(
        ctx.block(block_or_loop) if isinstance(block_or_loop, str) else ctx.loop(block_or_loop), ann_key
    )
    return _with_annotations(ctx, block_or_loop, (*old, (ann_key, value)))


def unannotate(ctx: Context, block_or_loop: BlockRV | LoopRV, ann_key: str) -> Result[None]:
    """Remove an annotation from a loop or a block.

    Rewrite:    T.block("C"), T.block_attr({ann_key: …})   =>   T.block("C")
    Returns: nothing.
    Errors: no-annotation.
    Source: TVM src/s_tir/schedule/primitive/annotate.cc, Unannotate.
    """
    old = _annotations(ctx, block_or_loop)
    if all(key != ann_key for key, _ in old):
        raise refuse(
            "no-annotation", f"no such annotation: {ann_key!r}", expected=", ".join(k for k, _ in old) or "none"
        )
    return _with_annotations(ctx, block_or_loop, tuple(a for a in old if a[0] != ann_key))


def _with_kind(ctx: Context, loop: LoopRV, kind: ForKind, thread_tag: str | None = None) -> Result[None]:
    old = ctx.loop(loop)
    require_concurrent(ctx, old, kind, thread_tag)
    require_affine_below(ctx, old, kind, still=ctx.index.loops_above(old))
    return Result(ctx.replaced({old: replace_fields(old, kind=kind, thread_tag=thread_tag)}), None)


# An annotation key is unique.
def require_no_annotation(node: Block | For, ann_key: str) -> None:
    if any(key == ann_key for key, _ in node.annotations):
        raise refuse(
            "annotation-exists",
            f"{ann_key!r} already has a value",
            node,
            expected="another key, or a call of unannotate before",
        )


def _annotations(ctx: Context, target: BlockRV | LoopRV) -> Annotations:
    return ctx.block(target).annotations if isinstance(target, str) else ctx.loop(target).annotations


def _with_annotations(ctx: Context, target: BlockRV | LoopRV, annotations: Annotations) -> Result[None]:
    if isinstance(target, str):
        old: BlockRealize | For = ctx.realize(target)
        return Result(ctx.replaced({old: with_block(old, annotations=annotations)}), None)
    old = ctx.loop(target)
    return Result(ctx.replaced({old: replace_fields(old, annotations=annotations)}), None)


def annotation_value(value: AnnotationLike) -> Annotation:
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, list | tuple):
        return tuple(annotation_value(v) for v in value)
    if isinstance(value, dict):
        return AnnotationMap(tuple((key, annotation_value(v)) for key, v in value.items()))
    if isinstance(value, float):
        return build.const(value, "float64")  # a Python float is float64, as in the script reader
    return build.as_expr(value)
