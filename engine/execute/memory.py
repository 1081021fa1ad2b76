"""Memory of buffers during a run, and access to their elements: a view for linear indices, otherwise a gather.

A buffer allocated within lockstep axes has separate elements for every lane: the axes become leading axes of its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import msgspec
import numpy as np

from ..ir import BufferLoad, BufferStore, Var
from . import errors
from .frames import Array, CompileContext, Fn, Frame, first_place
from .values import numpy_dtype

Access = BufferLoad | BufferStore

MAX_ELEMENTS = 2**27
"""The limit of elements in a buffer: a float32 buffer of this size uses half a gigabyte, and a comparison holds several."""


class BufferMemory:
    """The elements of one buffer, row-major, and a mask of initialized elements. `lanes`: the axes around its allocation."""

    __slots__ = (
        "checks",
        "dtype",
        "flat",
        "full",
        "lane_steps",
        "lanes",
        "name",
        "shape",
        "size",
        "starts",
        "steps",
        "written",
    )

    def __init__(self, name: str, dtype: str, shape: tuple[int, ...], lanes: tuple[Var, ...] = ()) -> None:
        self.name = name
        self.dtype = numpy_dtype(dtype)
        self.shape = shape
        self.steps = row_major(shape)
        self.size = prod(shape)
        self.lanes = lanes
        self.starts: tuple[int, ...] = ()
        self.lane_steps: tuple[int, ...] = ()
        self.flat: Array = np.zeros(0, self.dtype)
        self.written: Array = np.zeros(0, np.bool_)
        self.full = False
        self.checks = 0

    def give(self, values: Array) -> None:
        """Initialize every element with a copy of `values`."""
        self.flat = np.array(values, self.dtype, order="C").reshape(-1)
        self.written = np.ones(self.size, np.bool_)
        self.full = True

    def clear(self, frame: Frame) -> None:
        """Reset to a fresh allocation for the lanes of `frame`: no element is initialized."""
        count = self.size * prod(frame.sizes)
        if count > MAX_ELEMENTS:
            raise errors.too_large(self.name, self.shape, MAX_ELEMENTS)
        if len(self.flat) != count:
            self.flat = np.zeros(count, self.dtype)
            self.written = np.zeros(count, np.bool_)
        else:
            self.written.fill(False)
        self.starts = frame.starts
        self.lane_steps = tuple(step * self.size for step in row_major(frame.sizes))
        self.full, self.checks = False, 0

    def is_full(self) -> bool:
        """Whether every element is known to be initialized. Full scans become exponentially rarer to bound their cost."""
        if not self.full:
            self.checks += 1
            if self.checks & (self.checks - 1) == 0:
                self.full = bool(self.written.all())
        return self.full

    def index_of(self, position: int) -> tuple[int, ...]:
        """The index within the buffer for a position in `flat`."""
        return tuple(int(i) for i in np.unravel_index(position % self.size, self.shape)) if self.shape else ()


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major steps in elements."""
    steps: list[int] = []
    step = 1
    for extent in reversed(shape):
        steps.append(step)
        step *= extent
    return tuple(reversed(steps))


class Form(msgspec.Struct, frozen=True, eq=False):
    """A linear index over the axes: `constant`, in-order loops and other scalars with their factors, and a step for each axis."""

    constant: int
    loops: tuple[tuple[Var, int], ...]
    others: tuple[tuple[Fn, int], ...]
    steps: tuple[int, ...]

    @staticmethod
    def total(forms: Sequence[Form], factors: Sequence[int], axes: int) -> Form:
        """The weighted sum of the forms."""
        pairs = list(zip(forms, factors, strict=True))
        loops: dict[Var, int] = {}
        for form, factor in pairs:
            for var, step in form.loops:
                loops[var] = loops.get(var, 0) + step * factor
        return Form(
            sum(form.constant * factor for form, factor in pairs),
            tuple(loops.items()),
            tuple((fn, step * factor) for form, factor in pairs for fn, step in form.others),
            tuple(sum(form.steps[axis] * factor for form, factor in pairs) for axis in range(axes)),
        )

    def first(self, frame: Frame) -> int:
        """The value at the frame's starts."""
        total = self.constant
        env = frame.env
        for var, factor in self.loops:
            total += env[var] * factor
        for fn, factor in self.others:
            total += int(fn(frame)) * factor
        for start, step in zip(frame.starts, self.steps, strict=True):
            total += start * step
        return total

    def extremes(self, frame: Frame) -> tuple[int, int]:
        """The least and the greatest value in the frame."""
        low = high = self.first(frame)
        for size, step in zip(frame.sizes, self.steps, strict=True):
            if step > 0:
                high += (size - 1) * step
            else:
                low += (size - 1) * step
        return low, high

    def values(self, frame: Frame) -> Any:
        """The value at each place of the frame."""
        total: Any = self.first(frame)
        for axis, (size, step) in enumerate(zip(frame.sizes, self.steps, strict=True)):
            if step:
                shape = [1] * len(frame.sizes)
                shape[axis] = size
                total = total + (np.arange(size, dtype=np.int64) * step).reshape(shape)
        return total


class CheckedAxis(msgspec.Struct, frozen=True, eq=False):
    """An axis of a buffer for which the compiler cannot prove an access to be in bounds."""

    axis: int
    form: Form | None  # None: check the values


class Reach:
    """The element access of one load or store. Raises ExecuteError for out-of-bounds and uninitialized elements."""

    def __init__(
        self,
        memory: BufferMemory,
        access: Access,
        indices: Sequence[Fn],
        bounds: Sequence[CheckedAxis],
        context: CompileContext,
    ) -> None:
        self.memory, self.access, self.indices, self.bounds, self.context = memory, access, indices, bounds, context
        self.lane_axes = [context.axes.index(var) for var in memory.lanes]

    def load(self, frame: Frame) -> Any:
        """The elements, as a view where possible."""
        raise NotImplementedError

    def store(self, frame: Frame, value: Any) -> None:
        raise NotImplementedError

    def require_inside(self, frame: Frame) -> None:
        for bound in self.bounds:
            extent = self.memory.shape[bound.axis]
            if bound.form is not None:
                low, high = bound.form.extremes(frame)
                if low >= 0 and high < extent:
                    continue
            index = np.asarray(self.indices[bound.axis](frame)).astype(np.int64)
            outside = (index < 0) | (index >= extent)
            if outside.any():
                place = first_place(outside, frame)
                at = [pick(np.asarray(fn(frame)), frame, place) for fn in self.indices]
                action = "load" if isinstance(self.access, BufferLoad) else "store"
                where = self.context.where(frame, place)
                raise errors.out_of_bounds(
                    self.memory.name, action, at, bound.axis, self.memory.shape, where, self.access
                )

    def fail_unwritten(self, frame: Frame, flags: Any, positions: Any) -> None:
        place = first_place(~np.asarray(flags), frame)
        index = self.memory.index_of(pick(np.asarray(positions), frame, place))
        where = self.context.where(frame, place)
        raise errors.uninitialized_read(self.memory.name, index, self.memory.shape, where, self.access)


class Strided(Reach):
    """An access with a linear index: the elements are a view of the memory."""

    def __init__(
        self,
        memory: BufferMemory,
        access: Access,
        indices: Sequence[Fn],
        bounds: Sequence[CheckedAxis],
        context: CompileContext,
        form: Form,
    ) -> None:
        super().__init__(memory, access, indices, bounds, context)
        self.form = form
        self.itemsize = memory.dtype.itemsize
        self.involved = [bool(step) or axis in self.lane_axes for axis, step in enumerate(form.steps)]

    def window(self, frame: Frame) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """(offset, shape, steps) in elements."""
        if self.bounds:
            self.require_inside(frame)
        offset = self.form.first(frame)
        steps = self.form.steps
        shape = tuple([n if used else 1 for n, used in zip(frame.sizes, self.involved, strict=True)])
        if self.lane_axes:
            own = list(steps)
            for axis, start, step in zip(self.lane_axes, self.memory.starts, self.memory.lane_steps, strict=True):
                offset += (frame.starts[axis] - start) * step
                own[axis] += step
            steps = tuple(own)
        return offset, shape, steps

    def elements(self, offset: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Array:
        size = self.itemsize
        return np.ndarray(shape, self.memory.dtype, self.memory.flat, offset * size, tuple([s * size for s in steps]))

    def flags(self, offset: int, shape: tuple[int, ...], steps: tuple[int, ...]) -> Array:
        return np.ndarray(shape, np.bool_, self.memory.written, offset, steps)

    def load(self, frame: Frame) -> Any:
        window = self.window(frame)
        if not self.memory.full and not self.memory.is_full():
            flags = self.flags(*window)
            if not flags.all():
                self._fail(frame, flags, window)
        if not self.involved:
            return self.memory.flat[window[0]]
        return self.elements(*window)

    def store(self, frame: Frame, value: Any) -> None:
        window = self.window(frame)
        if window[1]:
            self.elements(*window)[...] = value
        else:
            self.memory.flat[window[0]] = value
        if not self.memory.full:
            self.flags(*window)[...] = True

    def _fail(self, frame: Frame, flags: Array, window: tuple[int, tuple[int, ...], tuple[int, ...]]) -> None:
        offset, shape, steps = window
        grid = np.indices(shape, sparse=True) if shape else ()
        positions = offset + sum((g * s for g, s in zip(grid, steps, strict=True)), np.zeros((), np.int64))
        self.fail_unwritten(frame, flags, positions)


class Gathered(Reach):
    """An access with an arbitrary index: positions are computed one by one."""

    def positions(self, frame: Frame) -> Any:
        self.require_inside(frame)
        memory = self.memory
        total: Any = 0
        for fn, step in zip(self.indices, memory.steps, strict=True):
            total = total + np.asarray(fn(frame)).astype(np.int64) * step
        for axis, start, step in zip(self.lane_axes, memory.starts, memory.lane_steps, strict=True):
            shape = [1] * len(frame.sizes)
            shape[axis] = frame.sizes[axis]
            first = frame.starts[axis] - start
            total = total + (np.arange(first, first + frame.sizes[axis]) * step).reshape(shape)
        return total

    def load(self, frame: Frame) -> Any:
        positions = self.positions(frame)
        if not self.memory.is_full():
            flags = self.memory.written[positions]
            if not np.all(flags):
                self.fail_unwritten(frame, flags, positions)
        return self.memory.flat[positions]

    def store(self, frame: Frame, value: Any) -> None:
        positions = self.positions(frame)
        self.memory.flat[positions] = value
        if not self.memory.full:
            self.memory.written[positions] = True


def pick(values: Any, frame: Frame, place: tuple[int, ...]) -> int:
    return int(np.broadcast_to(values, frame.sizes)[place])
