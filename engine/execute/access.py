"""Loads and stores over a frame: a strided view where the indices are linear in the axes, gathered positions otherwise.

Bounds are proved from the ranges of the loops when the program is compiled; an axis of a buffer for which that fails is checked on
every access. Reads of elements that hold no value yet are found by a second array of flags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ..ir import Node, Var
from . import errors
from .affine import Affine, combine, constant, scale
from .frames import Context, Frame
from .memory import Memory

Array = np.ndarray[Any, Any]
IndexFn = Callable[[Frame], Any]


class Check:
    """The axes of one index that no range proves to be inside, with what it takes to say where it failed."""

    def __init__(
        self,
        name: str,
        action: str,
        functions: Sequence[IndexFn],
        extents: Sequence[int],
        doubtful: Sequence[tuple[int, Span | None]],
        node: Node,
    ) -> None:
        self.name, self.action, self.node = name, action, node
        self.functions, self.extents, self.doubtful = functions, extents, doubtful

    def run(self, frame: Frame, context: Context) -> None:
        """Raise out-of-bounds for the first iteration whose index is outside."""
        for axis, span in self.doubtful:
            if span is not None and span.inside(frame, self.extents[axis]):
                continue
            index = np.asarray(self.functions[axis](frame))
            outside = (index < 0) | (index >= self.extents[axis])
            if outside.any():
                self.fail(frame, context, axis, outside)

    def fail(self, frame: Frame, context: Context, axis: int, outside: Array) -> NoReturn:
        place = first_true(outside, frame)
        index = [pick(function(frame), place) for function in self.functions]
        where = where_of(frame, context, place)
        raise errors.out_of_bounds(self.name, self.action, index, axis, self.extents[axis], where, (self.node,))


class Span:
    """The least and the greatest value of a linear index over a frame, without computing the values between."""

    def __init__(self, form: Affine, context: Context) -> None:
        self.base = form.constant
        self.scalars: list[tuple[Var, int]] = []
        self.steps: list[tuple[int, int]] = []
        for var, coefficient in form.coefficients():
            axis = context.position(var)
            if axis is None:
                self.scalars.append((var, coefficient))
            else:
                self.steps.append((axis, coefficient))

    def inside(self, frame: Frame, extent: int) -> bool:
        low = self.base
        for var, coefficient in self.scalars:
            low += coefficient * frame.values[var]
        high = low
        for axis, coefficient in self.steps:
            first = coefficient * frame.starts[axis]
            last = first + coefficient * (frame.sizes[axis] - 1)
            low += min(first, last)
            high += max(first, last)
        return low >= 0 and high < extent


def first_true(flags: Array, frame: Frame) -> tuple[int, ...]:
    """Coordinates in the frame of the first element that is true."""
    whole = np.broadcast_to(flags, frame.sizes)
    return tuple(int(c) for c in np.unravel_index(int(np.argmax(whole)), whole.shape))


def pick(value: Any, place: tuple[int, ...]) -> int:
    """The value at coordinates of the frame, of an array that may have length 1 on some axes."""
    array = np.asarray(value)
    if array.ndim == 0:
        return int(array)
    return int(array[tuple(0 if n == 1 else c for n, c in zip(array.shape, place, strict=False))])


def where_of(frame: Frame, context: Context, place: tuple[int, ...]) -> Mapping[str, int]:
    """The values of the loop variables, outermost first."""
    found: dict[str, int] = {}
    for var in context.loops:
        axis = context.position(var)
        if axis is not None:
            found[var.name] = frame.starts[axis] + (place[axis] if axis < len(place) else 0)
        elif var in context.points:
            found[var.name] = pick(frame.values[var], place[:1])
        elif var in frame.values:
            found[var.name] = int(frame.values[var])
    return found


class Strided:
    """Elements at a position that is linear in scalars and range axes: a view, made anew only when the position changes."""

    def __init__(
        self, memory: Memory, forms: Sequence[Affine], context: Context, checks: Sequence[Check], node: Node
    ) -> None:
        self.memory, self.context, self.checks, self.node = memory, context, checks, node
        position = constant(0)
        for form, stride in zip(forms, memory.strides, strict=True):
            position = combine(position, scale(form, stride))
        self.base = position.constant
        steps = [0] * context.rank
        self.scalars: list[tuple[Var, int]] = []
        for var, coefficient in position.coefficients():
            axis = context.position(var)
            if axis is None:
                self.scalars.append((var, coefficient))
            else:
                steps[axis] = coefficient
        # An axis that some index uses stays in the shape even when its steps cancel out or the memory has one element.
        used = {v for form in forms for v in form.variables()}
        self.involved = tuple(var in used for var in context.axes)
        self.steps = tuple(steps)
        self.size = memory.flat.itemsize
        self.strides = tuple(s * self.size for s in steps)
        self.key: tuple[int, tuple[int, ...]] | None = None
        self.view: Array = memory.flat[:0]

    def position(self, frame: Frame) -> int:
        offset = self.base
        values = frame.values
        for var, coefficient in self.scalars:
            offset += values[var] * coefficient
        return offset

    def elements(self, frame: Frame) -> Array:
        """The view over the frame. It shows later writes; raises where an index is outside."""
        for check in self.checks:
            check.run(frame, self.context)
        offset = self.position(frame)
        for start, step in zip(frame.starts, self.steps, strict=True):
            offset += start * step
        key = (offset, frame.sizes)
        if key != self.key:
            self.view = self._window(self.memory.flat, offset, frame, self.strides)
            self.key = key
        return self.view

    def flags(self, frame: Frame) -> Array:
        """The view upon the written flags at the place of the last `elements`."""
        offset = 0 if self.key is None else self.key[0]
        assert self.memory.written is not None
        return self._window(self.memory.written, offset, frame, self.steps)

    def _window(self, flat: Array, offset: int, frame: Frame, strides: tuple[int, ...]) -> Array:
        shape = tuple(z if used else 1 for z, used in zip(frame.sizes, self.involved, strict=True))
        return np.ndarray(shape, flat.dtype, flat, offset * flat.itemsize, strides)

    def load(self, frame: Frame) -> Any:
        if not self.involved:
            for check in self.checks:
                check.run(frame, self.context)
            offset = self.position(frame)
            memory = self.memory
            if not memory.full and memory.written is not None and not memory.written[offset]:
                self.fail(frame, memory.written[offset : offset + 1])
            return memory.flat[offset]
        view = self.elements(frame)
        self.require_written(frame)
        return view

    def require_written(self, frame: Frame) -> None:
        """Every element of the window holds a value."""
        if not self.memory.look_whether_full():
            flags = self.flags(frame)
            if not flags.all():
                self.fail(frame, flags)

    def store(self, frame: Frame, value: Any) -> None:
        memory = self.memory
        self.elements(frame)[...] = value
        if not memory.full and memory.written is not None:
            self.flags(frame)[...] = True

    def fail(self, frame: Frame, flags: Array) -> NoReturn:
        place = first_true(~flags, frame) if self.involved else ()
        position = self.position(frame)
        for axis, step in enumerate(self.steps):
            position += (frame.starts[axis] + place[axis]) * step
        raise unwritten(self.memory, position, frame, self.context, place, self.node)


def unwritten(
    memory: Memory, position: int, frame: Frame, context: Context, place: tuple[int, ...], node: Node
) -> errors.ExecuteError:
    index = tuple(int(i) for i in np.unravel_index(position, memory.shape)) if memory.shape else ()
    return errors.uninitialized_read(memory.name, index, where_of(frame, context, place), (node,))


class Gathered:
    """Elements at positions computed one by one."""

    def __init__(
        self, memory: Memory, functions: Sequence[IndexFn], context: Context, checks: Sequence[Check], node: Node
    ) -> None:
        self.memory, self.functions, self.context, self.checks, self.node = memory, functions, context, checks, node

    def positions(self, frame: Frame) -> Any:
        for check in self.checks:
            check.run(frame, self.context)
        total: Any = 0
        for function, stride in zip(self.functions, self.memory.strides, strict=True):
            index = function(frame)
            total = total + (index.astype(np.int64) * stride if isinstance(index, np.ndarray) else int(index) * stride)
        return total

    def load(self, frame: Frame) -> Any:
        memory = self.memory
        positions = self.positions(frame)
        if not memory.look_whether_full() and memory.written is not None:
            flags = np.asarray(memory.written[positions])
            if not flags.all():
                place = first_true(~flags, frame)
                raise unwritten(memory, pick(positions, place), frame, self.context, place, self.node)
        return memory.flat[positions]

    def store(self, frame: Frame, value: Any) -> None:
        positions = self.positions(frame)
        if isinstance(positions, np.ndarray):
            positions = np.broadcast_to(positions, frame.sizes)
        self.memory.flat[positions] = value
        if not self.memory.full and self.memory.written is not None:
            self.memory.written[positions] = True
