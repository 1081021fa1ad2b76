"""Loops whose trip counts depend on data, and the integer parameters that decide them, such as `indptr` of a sparse matrix."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..arith import linear
from ..ir import (
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    LetStmt,
    Node,
    PrimFunc,
    Var,
    structural_equal,
    substitute,
    walk,
)
from ..ir import dtype as dt


class DataLoop(msgspec.Struct, frozen=True, eq=False):
    """The loop `name` whose bounds depend on the elements of `parameters`. `counts_with` is the parameter whose element, or the difference
    of two of whose elements, is the trip count; None for another trip count."""

    name: str
    parameters: tuple[Buffer, ...]
    counts_with: Buffer | None


class DataUse(msgspec.Struct, frozen=True, eq=False):
    """The integer parameters of a function. Those in `offsets` mark where rows begin: an expression uses two of their elements, as in
    `indptr[i + 1] - indptr[i]`."""

    loops: tuple[DataLoop, ...]
    integers: tuple[Buffer, ...]
    offsets: frozenset[Buffer]


def data_use(func: PrimFunc) -> DataUse:
    """Returns the loops of a function whose trip counts depend on data, each name once, and the parameters that decide them."""
    sources = _Sources(func)
    loops: dict[str, DataLoop] = {}
    for node in walk(func.body):
        if isinstance(node, For):
            name, found = node.loop_var.name, sources.of(node.min, node.extent)
            if found and name not in loops:
                loops[name] = DataLoop(name, found, sources.counting(node.extent))
            elif found:
                loops[name] = DataLoop(name, tuple(dict.fromkeys((*loops[name].parameters, *found))), None)
    integers = tuple(b for b in func.buffers if dt.is_int(b.dtype))
    return DataUse(tuple(loops.values()), integers, frozenset(sources.offsets))


class _Sources:
    """The integer parameters behind expressions, through lets and through other integer buffers."""

    def __init__(self, func: PrimFunc) -> None:
        self._parameters = {b for b in func.buffers if dt.is_int(b.dtype)}
        self._lets: dict[Var, Expr] = {}
        self._stored: dict[Buffer, list[Expr]] = {}
        self.offsets: set[Buffer] = set()
        for node in walk(func.body):
            if isinstance(node, LetStmt):
                self._lets[node.var] = node.value
            elif isinstance(node, BufferStore) and dt.is_int(node.buffer.dtype):
                self._stored.setdefault(node.buffer, []).append(node.value)

    def of(self, *exprs: Expr) -> tuple[Buffer, ...]:
        """The parameters that decide expressions. Parameters with two different elements in one of them count as offsets."""
        found: dict[Buffer, None] = {}
        todo, seen = list(exprs), set[Buffer]()
        while todo:
            loads = list(self._loads(todo.pop()))
            self.offsets |= {
                root
                for n, a in enumerate(loads)
                for b in loads[:n]
                if a.buffer is b.buffer and (root := self._root(a.buffer)) in self._parameters and not _is_same(a, b)
            }
            for buffer in (load.buffer for load in loads):
                if buffer in self._parameters:
                    found[buffer] = None
                elif buffer not in seen:
                    seen.add(buffer)
                    todo += self._stored.get(buffer, ())
        return tuple(found)

    def counting(self, extent: Expr) -> Buffer | None:
        """The parameter whose element, or the difference of two of whose elements, an expression is."""
        form = linear(substitute(extent, self._lets))
        if form is None or form.constant:
            return None
        match [(atom.buffer, factor) for atom, factor in form.terms if isinstance(atom, BufferLoad)]:
            case [(buffer, 1)] if len(form.terms) == 1:
                root = self._root(buffer)
            case [(a, factor), (b, other)] if a is b and {factor, other} == {1, -1} and len(form.terms) == 2:
                root = self._root(a)
            case _:
                return None
        return root if root in self._parameters else None

    def _root(self, buffer: Buffer) -> Buffer:
        """The buffer that a copy copies, through other copies."""
        for _ in self._stored:
            values = self._stored.get(buffer, ())
            if len(values) != 1 or not isinstance(values[0], BufferLoad):
                break
            buffer = values[0].buffer
        return buffer

    def _loads(self, expr: Expr) -> Iterator[BufferLoad]:
        todo: list[Node] = [expr]
        opened = set[Var]()
        while todo:
            for node in walk(todo.pop()):
                if isinstance(node, BufferLoad) and dt.is_int(node.buffer.dtype):
                    yield node
                elif isinstance(node, Var) and node in self._lets and node not in opened:
                    opened.add(node)
                    todo.append(self._lets[node])


def _is_same(a: BufferLoad, b: BufferLoad) -> bool:
    return all(structural_equal(x, y) for x, y in zip(a.indices, b.indices, strict=True))


__all__ = ["DataLoop", "DataUse", "data_use"]
