"""How a loop runs, and notes on loops and blocks: parallel, vectorize, unroll, bind, annotate, unannotate."""

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
    """Let the iterations of a loop run at the same time on several cores.

    Rewrite:    for i in range(n)   =>   for i in T.parallel(n)
    Requires: no iteration needs what another one computes, and none reduces into what another one does.
    Returns: nothing; the loop lives on.
    Errors: reduction-in-parallel, order-dependent, opaque-iterator.
    Source: TVM src/s_tir/schedule/primitive/for_kind.cc, ParallelizeComputation.
    """
    return _with_kind(ctx, loop, "parallel")


def vectorize(ctx: Context, loop: LoopRV) -> Result[None]:
    """Let the iterations of a loop be lanes of vector instructions.

    Rewrite:    for i in range(n)   =>   for i in T.vectorized(n)
    Requires, Returns, Errors, Source: as `parallel`.
    """
    return _with_kind(ctx, loop, "vectorized")


def bind(ctx: Context, loop: LoopRV, thread_axis: str) -> Result[None]:
    """Give each iteration of a loop to a thread of `thread_axis` ("blockIdx.x", "threadIdx.y", "vthread.z", …).

    Rewrite:    for i in range(n)   =>   for i in T.thread_binding(n, thread=thread_axis)
    Requires: as `parallel`; a reduction may be bound to threadIdx (a cross-thread reduction).
    Returns: nothing; the loop lives on.
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
    """Write the iterations of a loop out, one after the other. Always legal.

    Rewrite:    for i in range(n)   =>   for i in T.unroll(n)
    Returns: nothing; the loop lives on.
    Source: TVM src/s_tir/schedule/primitive/for_kind.cc, Unroll.
    """
    old = ctx.loop(loop)
    return Result(ctx.replaced({old: replace_fields(old, kind="unrolled", thread_tag=None)}), None)


def annotate(ctx: Context, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: AnnotationLike) -> Result[None]:
    """Put a note for later passes on a loop or a block.

    Rewrite:    T.block("C")   =>   T.block("C"), T.block_attr({ann_key: ann_val})
    Requires: no other value under that key. What is noted already may be noted again.
    Returns: nothing.
    Errors: annotation-exists.
    Source: TVM src/s_tir/schedule/primitive/annotate.cc, Annotate.
    """
    old, value = _annotations(ctx, block_or_loop), annotation_value(ann_val)
    if any(structural_equal(AnnotationMap((noted,)), AnnotationMap(((ann_key, value),))) for noted in old):
        return Result(ctx.func, None)
    require_no_annotation(
        ctx.block(block_or_loop) if isinstance(block_or_loop, str) else ctx.loop(block_or_loop), ann_key
    )
    return _with_annotations(ctx, block_or_loop, (*old, (ann_key, value)))


def unannotate(ctx: Context, block_or_loop: BlockRV | LoopRV, ann_key: str) -> Result[None]:
    """Take a note off a loop or a block.

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
    require_affine_below(ctx, old, kind)
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
