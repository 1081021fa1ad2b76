"""Sizes of buffers, and readable text of expressions."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from ....engine.ir import Annotation, AnnotationMap, Buffer, Expr, StringImm, build, dtype
from ....engine.script import expr_text


def buffer_bytes(buffer: Buffer) -> int | None:
    """The bytes of the whole buffer as declared; None for a symbolic extent."""
    count = dtype.size_bytes(buffer.dtype)
    for extent in buffer.shape:
        value = build.int_value(extent)
        if value is None:
            return None
        count *= value
    return count


_TYPED = re.compile(r"T\.u?int(?:8|16|32|64)\((-?\d+)\)")


def plain_text(expr: Expr) -> str:
    """An index or extent as readable text: numbers without the type that TVMScript requires."""
    return _TYPED.sub(r"\1", expr_text(expr))


def shape_text(shape: Sequence[Expr], separators: Collection[int]) -> str:
    """The shape as `[2][4096]`, one bracket for each axis group; `separators` are the first axes of further groups."""
    groups: list[list[str]] = [[]]
    for axis, extent in enumerate(shape):
        if axis in separators:
            groups.append([])
        groups[-1].append(plain_text(extent))
    return "".join(f"[{', '.join(group)}]" for group in groups)


def annotation_text(value: Annotation) -> str:
    """An annotation's value as readable text."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(annotation_text, value))}]"
    if isinstance(value, AnnotationMap):
        return f"{{{', '.join(f'{key}: {annotation_text(item)}' for key, item in value.items)}}}"
    if isinstance(value, Buffer):
        return value.name
    return value.value if isinstance(value, StringImm) else plain_text(value)
