"""Conversion of a function to another integer type for indices."""

from __future__ import annotations

from msgspec.structs import replace as replace_fields

from ..ir import (
    BinaryOp,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IntImm,
    IterVar,
    LaunchThread,
    Node,
    Predicate,
    PrimFunc,
    Ramp,
    Range,
    Select,
    Var,
    accessed_dtype,
    build,
    rename,
    rewrite,
    walk,
)
from ..ir import dtype as dt


def with_index_dtype(func: PrimFunc, dtype: str) -> PrimFunc:
    """The function with loops, iterators, sizes and indices as `dtype`; computed values keep their types."""
    renamed = rename(func, {v: Var(v.name, dtype) for v in _index_variables(func) if v.dtype != dtype})
    return rewrite(renamed, lambda node: _widened(node, dtype))


def _index_variables(func: PrimFunc) -> list[Var]:
    found: dict[Var, None] = {}
    for node in walk(func):
        match node:
            case For(loop_var=var) | IterVar(var=var) | LaunchThread(var=var):
                found[var] = None
            case Buffer():
                parts = (*node.shape, *node.strides, node.elem_offset)
                found.update((part, None) for part in parts if isinstance(part, Var))
            case _:
                pass
    return [v for v in found if dt.is_int(v.dtype)]


def _widened(node: Node, dtype: str) -> Node:
    def cast_all(values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(_cast(v, dtype) for v in values)

    match node:
        case BinaryOp() | Predicate() if node.a.dtype != node.b.dtype and dt.is_int(node.a.dtype):
            return type(node)(*build.match_dtypes(node.a, node.b))
        case Select() if node.true_value.dtype != node.false_value.dtype:
            return Select(node.condition, *build.match_dtypes(node.true_value, node.false_value))
        case Range():
            return Range(*cast_all((node.min, node.extent)))
        case For():
            first, extent = cast_all((node.min, node.extent))
            return replace_fields(node, min=first, extent=extent)
        case LaunchThread():
            return replace_fields(node, extent=build.cast(node.extent, dtype))
        case BlockRealize():
            return replace_fields(node, iter_values=cast_all(node.iter_values))
        case BufferLoad():
            return replace_fields(node, indices=cast_all(node.indices))
        case BufferStore():
            indices = cast_all(node.indices)
            return replace_fields(
                node, indices=indices, value=build.cast(node.value, accessed_dtype(node.buffer, indices))
            )
        case Buffer():
            offset = node.elem_offset
            offset = build.cast(offset, dtype) if isinstance(offset, IntImm) else offset
            return replace_fields(node, shape=cast_all(node.shape), strides=cast_all(node.strides), elem_offset=offset)
        case _:
            return node


def _cast(index: Expr, dtype: str) -> Expr:
    if isinstance(index, Ramp):
        return Ramp(build.cast(index.base, dtype), build.cast(index.stride, dtype), index.lanes)
    return build.cast(index, dtype)


__all__ = ["with_index_dtype"]
