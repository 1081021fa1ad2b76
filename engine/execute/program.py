"""Execution of a function on NumPy arrays: bind the parameters, expand the program, find its axes, compile, run."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import msgspec
import numpy as np
from msgspec.structs import replace

from ..analysis import opaque_refusal
from ..ir import BlockRealize, Buffer, Expr, PrimFunc, Var, build, refusing_depth, while_loop
from ..lower.storage.allocation import plan_buffer_allocation
from .axes import Axes
from .errors import ExecuteError, bad_argument
from .frames import Array, CompileContext, Frame, Meter
from .memory import BufferMemory
from .plain import Plain
from .statements import Statements
from .values import numpy_dtype

MOST_IN_LANES = 1_000_000_000
"""The largest cost, in element operations, of a program whose iterations have buffers of their own."""


class BufferContents(msgspec.Struct, frozen=True, eq=False):
    """The contents of a parameter buffer after a run. `written` marks initialized elements; the others are zero."""

    values: Array
    written: Array


def run(func: PrimFunc, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Run `func` and return the array of every parameter buffer, by name; the given arrays are not modified.

    An omitted parameter is uninitialized at the start; its unwritten elements are zero at the end. The axes of an array may be merged or
    split differently from the program's (a lowered program has flat parameters); the result has the shape of the given array. Raises
    ExecuteError; see its codes.
    """
    return {name: outcome.values for name, outcome in execute(func, arrays).items()}


@refusing_depth(ExecuteError)
def execute(func: PrimFunc, arrays: Mapping[str, Array], limit: int | None = None) -> dict[str, BufferContents]:
    """`run` with masks of the written elements. Raises ExecuteError("too-costly") beyond `limit` element operations."""
    return Executable(func, arrays, limit).run()


class Executable:
    """A function compiled for given arrays, for a single run. Raises ExecuteError for unsupported code, bad arguments and too high cost."""

    @refusing_depth(ExecuteError)
    def __init__(self, func: PrimFunc, arrays: Mapping[str, Array], limit: int | None = None) -> None:
        refusal = opaque_refusal(func)
        if refusal is not None:
            raise ExecuteError(refusal)
        _require_known_names(func, arrays)
        self.arrays, meter = arrays, Meter(limit)
        # Buffers inside of loops are separate in each iteration: more iterations run at once, but each clears a buffer.
        movable = isinstance(func.body, BlockRealize) and while_loop(func.body) is None
        if not (movable and self._compile(plan_buffer_allocation(func), meter) <= MOST_IN_LANES):
            self._compile(func, meter)
        meter.require_within(self.code.cost)

    def _compile(self, func: PrimFunc, meter: Meter) -> int:
        """Compile the function and return its cost."""
        self.plain = plain = Plain(_sizes(func, self.arrays))
        self.memories = {b: _memory(b, plain.shape(b), self.arrays.get(b.name)) for b in func.buffers}
        body = plain.stmt(func.body)
        axes = Axes(plain.ranges)
        axes.visit(body)
        statements = Statements(dict(self.memories), plain.shapes, plain.ranges, axes.kinds, meter)
        self.code = statements.compile(body, CompileContext())
        return self.code.cost

    def run(self) -> dict[str, BufferContents]:
        """Every parameter buffer after the run, by name."""
        try:
            with np.errstate(all="ignore"):
                self.code.run(Frame({}, (), ()))
        except ExecuteError as error:
            nodes = tuple(self.plain.origins.get(node, node) for node in error.refusal.nodes)
            raise ExecuteError(replace(error.refusal, nodes=nodes)) from None
        outcomes: dict[str, BufferContents] = {}
        for buffer, memory in self.memories.items():
            given = self.arrays.get(buffer.name)
            shape = memory.shape if given is None else given.shape
            outcomes[buffer.name] = BufferContents(memory.flat.reshape(shape), memory.written.reshape(shape))
        return outcomes


def _require_known_names(func: PrimFunc, arrays: Mapping[str, Array]) -> None:
    known = [b.name for b in func.buffers] + [p.name for p in func.params if p.dtype != "handle"]
    for name in arrays:
        if name not in known:
            raise bad_argument(name, f"an array for {name!r}", "one of " + ", ".join(known))


def _sizes(func: PrimFunc, arrays: Mapping[str, Array]) -> dict[Var, Expr]:
    """The values of scalar parameters, given by name, and of extent variables, taken from the shapes of the arrays."""
    held = {handle for handle, _ in func.buffer_map}
    sizes: dict[Var, Expr] = {}
    for param in func.params:
        if param in held:
            continue
        if param.name not in arrays or param.dtype == "handle":
            raise bad_argument(param.name, "no value", f"a value of dtype {param.dtype}")
        sizes[param] = build.const(np.asarray(arrays[param.name]).reshape(()).item(), param.dtype)
    for buffer in func.buffers:
        given = np.shape(arrays[buffer.name]) if buffer.name in arrays else ()
        for symbol, extent in zip(buffer.shape, given, strict=False):
            if isinstance(symbol, Var):
                sizes.setdefault(symbol, build.const(extent, symbol.dtype))
    return sizes


def _memory(buffer: Buffer, shape: tuple[int, ...], array: Array | None) -> BufferMemory:
    memory = BufferMemory(buffer.name, buffer.dtype, shape)
    if array is None:
        memory.clear(Frame({}, (), ()))
        return memory
    if array.dtype != numpy_dtype(buffer.dtype):
        raise bad_argument(buffer.name, f"an array of {array.dtype}", f"dtype {buffer.dtype}")
    if not is_merged(array.shape, shape) and not is_merged(shape, array.shape):
        raise bad_argument(buffer.name, f"an array of shape {array.shape}", f"shape {shape}")
    memory.give(array)
    return memory


def is_merged(fine: tuple[int, ...], coarse: tuple[int, ...]) -> bool:
    """Whether `coarse` is `fine` with adjacent axes merged, so that both have the same memory layout."""
    if prod(fine) != prod(coarse):
        return False
    position = 0
    for extent in coarse:
        size = 1
        while size < extent and position < len(fine):
            size *= fine[position]
            position += 1
        if size != extent:
            return False
    return all(extent == 1 for extent in fine[position:])
