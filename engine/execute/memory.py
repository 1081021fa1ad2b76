"""Where buffers live while a program runs: row-major elements, and beside them which of them hold a value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import Buffer, Expr
from .errors import unsupported
from .values import numpy_dtype

Array = np.ndarray[Any, Any]


class Memory:
    """The elements of one buffer. `written` is None when all of them hold a value from the start, as a given parameter's do."""

    __slots__ = ("buffer", "flat", "full", "name", "next_look", "shape", "strides", "written")

    def __init__(self, buffer: Buffer, shape: tuple[int, ...], given: Array | None = None) -> None:
        self.buffer = buffer
        self.name = buffer.name
        self.shape = shape
        self.strides = row_major(shape)
        size = int(np.prod(shape, dtype=np.int64))
        dtype = numpy_dtype(buffer.dtype)
        self.flat: Array = np.zeros(size, dtype) if given is None else np.array(given, dtype, order="C").reshape(size)
        self.written: Array | None = np.zeros(size, np.bool_) if given is None else None
        self.full = given is not None
        self.next_look = 1

    def reset(self) -> None:
        """As freshly allocated: no element holds a value."""
        if self.written is not None:
            self.written.fill(False)
            self.full = False
            self.next_look = 1

    def look_whether_full(self) -> bool:
        """Whether every element is known to hold a value. Looks at all of them ever more rarely, so that the looking stays cheap."""
        if not self.full and self.written is not None:
            self.next_look -= 1
            if self.next_look <= 0:
                self.full = bool(self.written.all())
                self.next_look = 2 + self.written.size // 4096
        return self.full


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def require_constant_shape(buffer: Buffer, shape: tuple[int | None, ...]) -> tuple[int, ...]:
    """The shape as integers. A shape that changes while the program runs is refused."""
    constant = tuple(e for e in shape if e is not None)
    if len(constant) != len(shape):
        changing: tuple[Expr, ...] = tuple(e for e, v in zip(buffer.shape, shape, strict=True) if v is None)
        raise unsupported(
            f"buffer {buffer.name}, whose shape depends on loops", "a shape of constants and size parameters", changing
        )
    return constant
