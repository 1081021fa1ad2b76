"""Arrays to parameters and back: sizes read off the shapes, dtypes checked, random inputs made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from ..ir import Buffer, BufferStore, PrimFunc, Var, walk
from ..ir import dtype as dt
from .affine import Scope, constant
from .errors import bad_argument
from .memory import Memory
from .values import numpy_dtype, scalar

Array = np.ndarray[Any, Any]


class Binding(msgspec.Struct, frozen=True, eq=False):
    """A function's parameters with values: `memories` hold the buffers, `sizes` the scalar and size variables."""

    memories: dict[Buffer, Memory]
    sizes: dict[Var, int | float]

    @property
    def scope(self) -> Scope:
        """The integer variables as constants."""
        return Scope({}, {var: constant(value) for var, value in self.sizes.items() if isinstance(value, int)})


def bind(func: PrimFunc, arrays: Mapping[str, Array]) -> Binding:
    """Give every parameter its array. The arrays are copied.

    An array may have another shape of as many elements (a lowered program's parameters are flat). A parameter without an array is
    allocated with nothing in it, to be written. Raises ExecuteError("bad-argument").
    """
    require_known_names(func, arrays)
    sizes = _scalars(func, arrays)
    for buffer in func.buffers:
        if buffer.name in arrays:
            _read_sizes(buffer, arrays[buffer.name].shape, sizes)
    memories = {buffer: _memory(buffer, arrays.get(buffer.name), sizes) for buffer in func.buffers}
    return Binding(memories, sizes)


def require_known_names(func: PrimFunc, arrays: Mapping[str, Array]) -> None:
    """Every array belongs to a parameter."""
    known = [b.name for b in func.buffers] + [p.name for p in func.params if p.dtype != "handle"]
    for name in arrays:
        if name not in known:
            raise bad_argument(name, f"an array for {name!r}", "one of " + ", ".join(known))


def _scalars(func: PrimFunc, arrays: Mapping[str, Array]) -> dict[Var, int | float]:
    held = {handle for handle, _ in func.buffer_map}
    found: dict[Var, int | float] = {}
    for param in func.params:
        if param in held:
            continue
        if param.dtype == "handle":
            raise bad_argument(param.name, "a handle without a buffer", "a parameter of buffer_map or a scalar")
        if param.name not in arrays:
            raise bad_argument(param.name, "no value", f"a value of dtype {param.dtype}")
        value = np.asarray(arrays[param.name]).reshape(-1)[0]
        found[param] = float(value) if dt.is_float(param.dtype) else int(value)
    return found


def _read_sizes(buffer: Buffer, shape: tuple[int, ...], sizes: dict[Var, int | float]) -> None:
    if len(shape) == len(buffer.shape):
        for symbolic, extent in zip(buffer.shape, shape, strict=True):
            if isinstance(symbolic, Var):
                sizes.setdefault(symbolic, extent)


def constant_shape(buffer: Buffer, scope: Scope) -> tuple[int | None, ...]:
    """The extents where `scope` makes them numbers."""
    forms = [scope.form(extent) for extent in buffer.shape]
    return tuple(form.constant if form is not None and not form.terms else None for form in forms)


def _memory(buffer: Buffer, array: Array | None, sizes: dict[Var, int | float]) -> Memory:
    scope = Binding({}, sizes).scope
    known = [e for e in constant_shape(buffer, scope) if e is not None]
    if len(known) != len(buffer.shape):
        raise bad_argument(buffer.name, "sizes that no given array determines", "arrays for all inputs")
    shape = tuple(known)
    if array is None:
        return Memory(buffer, shape)
    if array.dtype != numpy_dtype(buffer.dtype):
        raise bad_argument(buffer.name, f"an array of {array.dtype}", f"dtype {buffer.dtype}")
    if array.shape != shape and array.size != int(np.prod(shape, dtype=np.int64)):
        raise bad_argument(buffer.name, f"an array of shape {array.shape}", f"shape {shape}")
    return Memory(buffer, shape, array)


def results(func: PrimFunc, binding: Binding, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Every parameter's array after the run, in the shape it was given in."""
    found: dict[str, Array] = {}
    for buffer in func.buffers:
        memory = binding.memories[buffer]
        given = arrays.get(buffer.name)
        found[buffer.name] = memory.flat.reshape(memory.shape if given is None else given.shape)
    return found


def written_names(func: PrimFunc) -> frozenset[str]:
    """The names of the parameter buffers that the function stores to."""
    names = {buffer.name for buffer in func.buffers}
    stored = {node.buffer.name for node in walk(func.body) if isinstance(node, BufferStore)}
    return frozenset(names & stored)


def random_inputs(func: PrimFunc, seed: int = 0) -> dict[str, Array]:
    """An array for every parameter, outputs too, the same for the same seed; unknown sizes are small odd numbers.

    Values are small: integers within -4..4 (0..4 when unsigned), floats quarters within -2..2, which most sums of products
    represent exactly, with some noise in their last bits so that the order of a float reduction shows.
    """
    random = np.random.default_rng(seed)
    sizes: dict[Var, int | float] = {}
    for buffer in func.buffers:
        for extent in buffer.shape:
            for node in walk(extent):
                if isinstance(node, Var) and node not in sizes:
                    sizes[node] = 5 + 2 * (len(sizes) % 3)
    scope = Binding({}, sizes).scope
    arrays: dict[str, Array] = {}
    for buffer in func.buffers:
        shape = tuple(e if e is not None else 1 for e in constant_shape(buffer, scope))
        arrays[buffer.name] = _random_array(random, buffer.dtype, shape)
    held = {handle for handle, _ in func.buffer_map}
    for param in func.params:
        if param not in held and param.dtype != "handle":
            arrays[param.name] = np.asarray(scalar(sizes.get(param, 3), param.dtype))
    return arrays


def _random_array(random: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> Array:
    kind = numpy_dtype(dtype)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(kind)
    if dt.is_int(dtype):
        return random.integers(0 if dtype.startswith("uint") else -4, 5, shape).astype(kind)
    quarters = random.integers(-8, 9, shape) / 4
    return (quarters + random.uniform(-0.01, 0.01, shape)).astype(kind)
