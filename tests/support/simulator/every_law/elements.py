"""The accesses of one task, element by element: every iteration with the cell and the byte address of each access."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilewright.engine.hwsim import Placement
from tilewright.engine.hwsim.tasks.variants import TaskPiece
from tilewright.engine.hwsim.tasks.work import Access
from tilewright.engine.ir import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    BinaryOp,
    Call,
    Cast,
    Expr,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mul,
    Not,
    Or,
    Predicate,
    Select,
    Sub,
    Var,
    build,
    free_vars,
)  # fmt: skip
from tilewright.engine.ir import dtype as dt

Ints = npt.NDArray[np.int64]
APART = 1 << 40
"""Elements between two cells: no run crosses from one to the next."""

FIRST = 64
"""Iterations of a loop around that show how accesses move."""

BINARY: dict[type[Expr], Any] = {
    Add: np.add, Sub: np.subtract, Mul: np.multiply, FloorDiv: np.floor_divide, FloorMod: np.mod, Min: np.minimum, Max: np.maximum,
    EQ: np.equal, NE: np.not_equal, LT: np.less, LE: np.less_equal, GT: np.greater, GE: np.greater_equal, And: np.logical_and,
    Or: np.logical_or,
}  # fmt: skip


def value_of(expr: Expr, at: Mapping[Var, Any]) -> Any:
    """The value of an index or a condition, with variables at numbers or arrays."""
    match expr:
        case IntImm():
            return np.int64(expr.value)
        case Var():
            return at[expr]
        case Cast(value=value):
            return value_of(value, at)
        case Not(a=a):
            return np.logical_not(value_of(a, at))
        case Select(condition=condition, true_value=a, false_value=b) | Call(op="if_then_else", args=(condition, a, b)):
            return np.where(*(value_of(e, at) for e in (condition, a, b)))
        case BinaryOp(a=a, b=b) | Predicate(a=a, b=b):
            return BINARY[type(expr)](value_of(a, at), value_of(b, at))
        case _:
            raise AssertionError(f"{type(expr).__name__} in an index of a random program")


class Points(NamedTuple):
    """Iterations: the value of each loop at each of them, in program order. `box` has the trip count of each loop if they are all
    combinations of the first ones, else nothing."""

    loops: dict[Var, Ints]
    count: int
    box: dict[Var, int] | None

    def kept(self, where: npt.NDArray[np.bool_]) -> Points:
        return points({v: column[where] for v, column in self.loops.items()}, int(where.sum()))

    def once(self, loops: Sequence[Var]) -> Points:
        """Each combination of values of some loops once, the other loops at 0."""
        keys = np.stack([self.loops[v] for v in loops] or [np.zeros(self.count, np.int64)], axis=1)
        _, first = np.unique(keys, axis=0, return_index=True)
        first = np.sort(first)
        zero = np.zeros(len(first), np.int64)
        return points({v: column[first] if v in loops else zero for v, column in self.loops.items()}, len(first))

    def values_of(self, loops: Collection[Var]) -> int:
        """The number of combinations of values of some loops."""
        return self.once([v for v in self.loops if v in loops]).count


def points(loops: dict[Var, Ints], count: int) -> Points:
    counts = {v: len(np.unique(column)) for v, column in loops.items()}
    prefixes = all(int(loops[v].max(initial=-1)) + 1 == n for v, n in counts.items())
    return Points(loops, count, counts if prefixes and prod(counts.values()) == count else None)


class Operand(NamedTuple):
    """An access over the iterations of a piece: the place of each element (cells are `APART`), its physical block and byte address."""

    placement: Placement
    written: bool
    loops: tuple[Var, ...]
    access: Access
    indices: list[Ints]
    place: Ints
    block: Ints
    address: Ints

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return dt.size_bytes(self.placement.buffer.dtype)

    @property
    def cells(self) -> set[int]:
        return {self.placement.first_cell + int(c) for c in np.unique(self.place // APART)}


class Part(NamedTuple):
    """A piece of a task: its iterations, and its reads and writes at each; `inside` are those in which a padded copy reads."""

    piece: TaskPiece
    around: Mapping[Var, int]
    at: Mapping[Var, int]
    placements: Mapping[Any, Placement]
    points: Points
    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]
    inside: npt.NDArray[np.bool_]

    @property
    def kind(self) -> str:
        return self.piece.measured.work.kind

    @property
    def updates(self) -> bool:
        return self.piece.measured.work.updates

    @property
    def operands(self) -> tuple[Operand, ...]:
        return (*self.reads, *self.writes)

    @property
    def extents(self) -> dict[Var, int]:
        return self.piece.measured.inner

    @property
    def lanes(self) -> tuple[Var, ...]:
        """The loops that are bound to threads, the fastest first."""
        return tuple(v for v in self.piece.measured.work.piece.lanes if v in self.extents)

    def over(self, domain: Points) -> Part:
        """The same accesses at other iterations."""
        work, at = self.piece.measured.work, {**self.at, **domain.loops}
        reads = tuple(self._operand(a, at, domain, written=False) for a in work.reads)
        writes = tuple(self._operand(a, at, domain, written=True) for a in work.writes)
        return self._replace(points=domain, reads=reads, writes=writes, inside=_all_hold(work.inside, at, domain.count))

    def whole(self) -> Part:
        """All iterations, ignoring conditions."""
        return self if self.points.count == prod(self.extents.values()) else self.over(every_point(self.extents))

    def _operand(self, access: Access, over: Mapping[Var, Any], domain: Points, *, written: bool) -> Operand:
        placement = self.placements[access.buffer]
        columns = [np.broadcast_to(np.asarray(value_of(i, over), np.int64), (domain.count,)) for i in access.indices]
        buffer, lead = placement.buffer, placement.site.lead
        shape = [build.int_value(n) or 1 for n in buffer.shape]
        steps = [build.int_value(s) or 0 for s in buffer.strides] or [prod(shape[n + 1 :]) for n in range(len(shape))]
        nothing = np.zeros(domain.count, np.int64)
        part = sum((c * prod(shape[n + 1 : lead]) for n, c in enumerate(columns[:lead])), nothing)
        within = sum((c * s for c, s in zip(columns[lead:], steps[lead:], strict=True)), nothing)
        loop = placement.site.slot_loop
        slot = 0 if loop is None else int(over[loop.var]) % placement.slots
        cell = slot * placement.parts + part
        used = {v for i in access.indices for v in free_vars(i)}
        loops = tuple(v for v in domain.loops if v in used)
        known = np.clip(cell, 0, placement.cells - 1)  # strides extend beyond the buffer
        address = np.asarray(placement.addresses)[known] + within * dt.size_bytes(buffer.dtype)
        block = np.asarray(placement.banks)[known]
        return Operand(placement, written, loops, access, columns, cell * APART + within, block, address)

    def moves(self, operand: Operand) -> tuple[int, ...]:
        """The steps of an access in the first iterations of each loop around."""
        start = {**dict.fromkeys(self.around, 0), **dict.fromkeys(self.extents, 0)}
        steps = [{**start, v: i} for v, n in self.around.items() for i in range(1, min(n, FIRST))]
        indices = operand.access.indices
        return tuple(int(value_of(index, there)) - int(value_of(index, start)) for there in steps for index in indices)


def every_point(extents: Mapping[Var, int]) -> Points:
    count = prod(extents.values())
    grid = np.indices(tuple(extents.values()), dtype=np.int64).reshape(len(extents), count)
    return points(dict(zip(extents, grid, strict=True)), count)


def part_of(
    piece: TaskPiece, around: Mapping[Var, int], at: Mapping[Var, int], placements: Mapping[Any, Placement]
) -> Part | None:
    """A piece with loops around its task (of these extents) at iterations `at`; None if it has no iterations."""
    domain = every_point(piece.measured.inner)
    holds = _all_hold(piece.conditions, {**at, **domain.loops}, domain.count)
    if not holds.any():
        return None
    return Part(piece, around, at, placements, domain, (), (), holds).over(domain.kept(holds))


def _all_hold(conditions: Sequence[Expr], over: Mapping[Var, Any], count: int) -> npt.NDArray[np.bool_]:
    holds = np.ones(count, np.bool_)
    for condition in conditions:
        holds &= np.broadcast_to(np.asarray(value_of(condition, over), np.bool_), (count,))
    return holds
