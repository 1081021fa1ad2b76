"""Sizes of buffers, and numbers as people read them."""

from __future__ import annotations

import re

from ...engine.ir import Annotation, AnnotationMap, Buffer, Expr, StringImm, build, dtype
from ...engine.script import expr_text


def buffer_bytes(buffer: Buffer) -> int | None:
    """Bytes of the whole buffer as declared; None when an extent is symbolic."""
    count = dtype.size_bytes(buffer.dtype)
    for extent in buffer.shape:
        value = build.int_value(extent)
        if value is None:
            return None
        count *= value
    return count


def size_text(size_bytes: int | None) -> str:
    """ "512 B", "16 KiB", "1.5 MiB"; "" for an unknown size."""
    if size_bytes is None:
        return ""
    size, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.4g} {unit}"


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


def grouped(value: int) -> str:
    """ "41 216": digits in groups of three."""
    return f"{value:,}".replace(",", " ")
