"""The state of a run: numbers for loops that run in order, axes for loops that run in lockstep.

A value at a place with n axes is a NumPy scalar, or an array of rank n with length 1 along the axes that it does not depend on. The axes
of reductions come first, in the order of their loops, so that folds along them follow program order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from ..cancellation import checkpoint
from ..ir import Var
from .axes import Kind
from .errors import Where, too_costly

Array = np.ndarray[Any, np.dtype[Any]]

STEP_COST = 3000  # a closure call costs about as much as this number of element operations


class Frame:
    """The current iterations. `env` maps in-order loop variables and lets to values; `starts` and `sizes` give the active part of each
    axis."""

    __slots__ = ("env", "sizes", "starts")

    def __init__(self, env: dict[Var, Any], starts: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        self.env = env
        self.starts = starts
        self.sizes = sizes

    def part(self, box: tuple[slice, ...]) -> Frame:
        """The part at `box`, relative to this frame's starts."""
        starts = tuple(start + (b.start or 0) for start, b in zip(self.starts, box, strict=True))
        sizes = tuple(n if b.stop is None else b.stop - b.start for n, b in zip(self.sizes, box, strict=True))
        return Frame(self.env, starts, sizes)


class Meter:
    """A cost counter, in element operations of about a nanosecond, that stops a run beyond `limit`."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.spent = 0

    def spend(self, elements: int) -> None:
        """Count one closure call on this number of elements."""
        checkpoint()
        self.spent += STEP_COST + elements
        self.require_within(self.spent)

    def require_within(self, cost: int) -> None:
        if self.limit is not None and cost > self.limit:
            raise too_costly(self.limit)


Fn = Callable[[Frame], Any]
Run = Callable[[Frame], None]


class CompileContext(msgspec.Struct, frozen=True, eq=False):
    """The compiler's context at a place: the variable of each axis, the number of folding axes, the in-order loops, the lets, the block."""

    axes: tuple[Var, ...] = ()
    folding: int = 0
    loops: tuple[Var, ...] = ()
    lets: tuple[Var, ...] = ()
    block: str = ""

    def with_axis(self, var: Var, kind: Kind) -> tuple[CompileContext, int]:
        """The context with one more axis, and the position of that axis."""
        position = self.folding if kind == "reduce" else len(self.axes)
        axes = (*self.axes[:position], var, *self.axes[position:])
        return replace(self, axes=axes, folding=self.folding + (kind == "reduce")), position

    def where(self, frame: Frame, place: tuple[int, ...]) -> Where:
        """The iteration at `place`, relative to the frame's starts."""
        values = {v.name: int(frame.env[v]) for v in self.loops}
        values |= {v.name: start + n for v, start, n in zip(self.axes, frame.starts, place, strict=True)}
        return Where(self.block, values)


def first_place(mask: Any, frame: Frame) -> tuple[int, ...]:
    """The first place in the frame at which a mask (possibly a scalar) holds."""
    array = np.broadcast_to(mask, frame.sizes)
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(array)), array.shape)) if array.ndim else ()


def boxes(mask: Array) -> Iterator[tuple[slice, ...]]:
    """Disjoint boxes that cover the true elements of `mask`, in order. Axes of length 1 count as whole."""
    if mask.ndim == 0:
        if mask:
            yield ()
        return
    if mask.all():
        yield tuple(slice(None) if n == 1 else slice(0, n) for n in mask.shape)
        return
    if mask.shape[0] == 1:
        for inner in boxes(mask[0]):
            yield (slice(None), *inner)
        return
    differs = (mask[1:] != mask[:-1]).reshape(mask.shape[0] - 1, -1).any(axis=1)
    edges = [0, *(np.flatnonzero(differs) + 1).tolist(), mask.shape[0]]
    for first, last in pairwise(edges):
        for inner in boxes(mask[first]):
            yield (slice(first, last), *inner)
