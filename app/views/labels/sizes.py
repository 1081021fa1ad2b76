"""Sizes of buffers, and expressions as people read them."""

from __future__ import annotations

import re

from ....engine.ir import Annotation, AnnotationMap, Buffer, Expr, StringImm, build, dtype
from ....engine.script import expr_text


def buffer_bytes(buffer: Buffer) -> int | None:
    """Bytes of the whole buffer as declared; None when an extent is symbolic."""
    count = dtype.size_bytes(buffer.dtype)
    for extent in buffer.shape:
        value = build.int_value(extent)
        if value is None:
            return None
        count *= value
    return count


_TYPED = re.compile(r"T\.u?int(?:8|16|32|64)\((-?\d+)\)")


def plain_text(expr: Expr) -> str:
    """An index or extent for people: numbers without their type, which TVMScript needs and a reader does not."""
    return _TYPED.sub(r"\1", expr_text(expr))


def annotation_text(value: Annotation) -> str:
    """What an annotation says, for people."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(annotation_text, value))}]"
    if isinstance(value, AnnotationMap):
        return f"{{{', '.join(f'{key}: {annotation_text(item)}' for key, item in value.items)}}}"
    return value.value if isinstance(value, StringImm) else plain_text(value)
