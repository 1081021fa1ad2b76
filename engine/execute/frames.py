"""The state of a vectorised run: scalars in loop variables, and axes for the loops whose iterations run in lockstep.

A value at a place with n axes is a NumPy scalar or an array of rank n, of length 1 on the axes it does not depend on. An axis is a
range of a loop, or "points": a list of iterations picked from several loops by a condition. A condition that holds for some
iterations only is split into few boxes of ranges where that can be done, else into points.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ..ir import Var
from .affine import Scope
from .parallel import Matches

Array = np.ndarray[Any, Any]

MOST_BOXES = 12  # beyond that, one list of points is cheaper than a box each


class Frame:
    """`values` of scalar variables (int) and of those that vary along axes (arrays); first index and length of each axis."""

    __slots__ = ("sizes", "starts", "values")

    def __init__(self, values: dict[Var, Any], starts: tuple[int, ...], sizes: tuple[int, ...]) -> None:
        self.values = values
        self.starts = starts
        self.sizes = sizes


class Context(msgspec.Struct, frozen=True, eq=False):
    """What the compiler knows at a place. `axes` has the loop variable of each axis, None for points; `aliases` are iterators and pure lets."""

    scope: Scope
    matches: Matches
    aliases: dict[Var, Any]
    axes: tuple[Var | None, ...] = ()
    points: frozenset[Var] = frozenset()
    lets: dict[Var, int] = {}  # variables that hold computed values, with their rank
    loops: tuple[Var, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.axes)

    def position(self, var: Var) -> int | None:
        """The axis of a loop variable that is a range axis."""
        return self.axes.index(var) if var in self.axes else None

    def is_scalar(self, var: Var) -> bool:
        """Whether the variable has one value for the whole frame."""
        return var not in self.points and var not in self.axes and var not in self.lets

    def as_points(self) -> Context:
        """The same place with all axes replaced by one of points."""
        picked = self.points | {v for v in self.axes if v is not None}
        return msgspec.structs.replace(self, axes=(None,), points=picked, lets=dict.fromkeys(self.lets, 1))


def grow(value: Any, rank: int) -> Any:
    """An array made at a place with fewer axes, for use at one with `rank`."""
    if isinstance(value, np.ndarray) and value.ndim < rank:
        return value.reshape(value.shape + (1,) * (rank - value.ndim))
    return value


Selector = tuple[Any, ...]


class Piece(msgspec.Struct, frozen=True, eq=False):
    """A part of a frame: where it lies in an array over the whole frame, and the frame of that part."""

    frame: Frame
    selector: Selector
    is_points: bool


def split(frame: Frame, context: Context, mask: Array) -> list[Piece]:
    """The parts of `frame` where `mask` holds: boxes, or one of points."""
    if None not in context.axes:
        found = boxes(mask, MOST_BOXES)
        if found is not None:
            return [_box(frame, context, box) for box in found]
    return [_points(frame, context, mask)]


def boxes(mask: Array, most: int) -> list[tuple[slice, ...]] | None:
    """Disjoint boxes, in order, that cover where `mask` holds; None when it takes more than `most`. Axes of length 1 count as whole."""
    if mask.ndim == 0:
        return [()] if mask else []
    if mask.shape[0] == 1:
        inner = boxes(mask[0], most)
        return None if inner is None else [(slice(None), *box) for box in inner]
    differs = (mask[1:] != mask[:-1]).reshape(mask.shape[0] - 1, -1).any(axis=1)
    edges = [0, *(np.flatnonzero(differs) + 1).tolist(), mask.shape[0]]
    if len(edges) > 2 * most + 2:
        return None
    found: list[tuple[slice, ...]] = []
    for first, last in zip(edges, edges[1:], strict=False):
        inner = boxes(mask[first], most)
        if inner is None or len(found) + len(inner) > most:
            return None
        found += [(slice(first, last), *box) for box in inner]
    return found


def _box(frame: Frame, context: Context, box: tuple[slice, ...]) -> Piece:
    starts = tuple(s + (b.start or 0) for s, b in zip(frame.starts, box, strict=True))
    sizes = tuple(z if b.start is None else b.stop - b.start for z, b in zip(frame.sizes, box, strict=True))
    values = frame.values
    if context.lets:
        values = dict(values)
        for var in context.lets:
            value = values.get(var)
            if isinstance(value, np.ndarray):
                values[var] = value[tuple(b if n > 1 else slice(None) for b, n in zip(box, value.shape, strict=False))]
    return Piece(Frame(values, starts, sizes), box, False)


def _points(frame: Frame, context: Context, mask: Array) -> Piece:
    coordinates = np.nonzero(np.broadcast_to(mask, frame.sizes))
    values = dict(frame.values)
    for axis, var in enumerate(context.axes):
        if var is not None:
            values[var] = coordinates[axis] + frame.starts[axis]
    for var in context.points:
        values[var] = frame.values[var][coordinates[0]]
    for var in context.lets:
        value = values.get(var)
        if isinstance(value, np.ndarray):
            values[var] = np.broadcast_to(value, frame.sizes[: value.ndim])[coordinates[: value.ndim]]
    return Piece(Frame(values, (0,), (len(coordinates[0]),)), coordinates, True)
