"""Loads of data that is given for a program (`PrimFunc.data`), replaced by their values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from ..ir import Buffer, BufferLoad, BufferStore, Contents, Expr, Node, PrimFunc, Var, build, rewrite, substitute, walk
from ..ir import dtype as dt
from .given import refuse


class Lookup(Expr, frozen=True, eq=False):
    """An element of given data: that at `index` in `table`, row-major. The nearest element stands for one outside, which guards exclude."""

    index: Expr
    table: tuple[int, ...]
    dtype: str  # pyright: ignore[reportIncompatibleMethodOverride]


class GivenData:
    """The values of loads: of parameters with known contents, and of integer buffers that one store before the load fills with values."""

    def __init__(self, func: PrimFunc) -> None:
        known = {c.buffer: c for c in func.data if c.is_known}
        self._contents: Mapping[Buffer, Contents] = {b: known[b.name] for b in func.buffers if b.name in known}
        for buffer, contents in self._contents.items():
            count = prod(build.int_value(extent) or 0 for extent in buffer.shape)
            if contents.values and count != len(contents.values):
                raise refuse("bad-data", f"{buffer.name} has {count} elements, but {len(contents.values)} values are given",
                             found=str(len(contents.values)), expected=str(count))  # fmt: skip
        self._copies: dict[Buffer, tuple[tuple[Expr, ...], Expr]] = {}
        self._stored_once = frozenset(_stored_once(func)) if known else frozenset[Buffer]()

    def replaced(self, expr: Expr) -> tuple[Expr, tuple[BufferLoad, ...]]:
        """Returns the expression with known loads as their values, and these loads."""
        loads: list[BufferLoad] = []
        if not self._contents or not any(isinstance(n, BufferLoad) and self._is_known(n.buffer) for n in walk(expr)):
            return expr, ()

        def leave(node: Node) -> Node:
            if not isinstance(node, BufferLoad):
                return node
            value = self._value(node)
            if value is None:
                return node
            loads.append(node)
            return value

        return rewrite(expr, leave), tuple(loads)

    def store(self, store: BufferStore) -> None:
        """Notes a store whose index and value have no unknown loads."""
        if store.buffer in self._stored_once and not any(isinstance(n, BufferLoad) for n in walk(store.value)):
            self._copies[store.buffer] = store.indices, store.value

    def _is_known(self, buffer: Buffer) -> bool:
        return buffer in self._contents or buffer in self._copies

    def _value(self, load: BufferLoad) -> Expr | None:
        contents = self._contents.get(load.buffer)
        if contents is not None and load.indices:
            return _element(contents, load)
        copy = self._copies.get(load.buffer)
        if copy is None:
            return None
        indices, value = copy
        # The element that the store wrote: an index of the store is a loop variable, or constant.
        at: dict[Var, Expr] = {}
        for stored, loaded in zip(indices, load.indices, strict=True):
            if isinstance(stored, Var) and stored not in at:
                at[stored] = loaded
            elif build.int_value(stored) is None or build.int_value(stored) != build.int_value(loaded):
                return None
        return substitute(value, at)


def _element(contents: Contents, load: BufferLoad) -> Expr | None:
    last = load.indices[-1]
    if contents.line is not None:
        constant, numerator, denominator = contents.line
        steps = build.mul(last, build.const(numerator, last.dtype))
        steps = build.floordiv(steps, build.const(denominator, last.dtype)) if denominator != 1 else steps
        return build.cast(build.add(steps, build.const(constant, last.dtype)), load.dtype)
    index: Expr = build.const(0, last.dtype)
    for i, extent in zip(load.indices, load.buffer.shape, strict=True):
        index = build.add(build.mul(index, build.cast(extent, last.dtype)), build.cast(i, last.dtype))
    known = build.int_value(index)
    if known is not None and 0 <= known < len(contents.values):
        return build.const(contents.values[known], load.dtype)
    return Lookup(index, contents.values, load.dtype)


def _stored_once(func: PrimFunc) -> Iterator[Buffer]:
    """The integer buffers with a single store in the program, which are no parameters."""
    seen: dict[Buffer, int] = {}
    for node in walk(func.body):
        if isinstance(node, BufferStore) and dt.is_int(node.buffer.dtype):
            seen[node.buffer] = seen.get(node.buffer, 0) + 1
    return (buffer for buffer, count in seen.items() if count == 1 and buffer not in func.buffers)


__all__ = ["GivenData", "Lookup"]
