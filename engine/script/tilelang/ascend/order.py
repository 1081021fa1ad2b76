"""One order for the statements of an AI core, whose cube core and vector cores run side by side and wait for each other's flags.

A flag is a counter: a core sets it, another waits until it is set. Flags and barriers between the pipes of one core become tokens of the
blocks beside them (`flags`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from ....arith import prove_equal
from ....ir import (
    AttrStmt,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    For,
    IfThenElse,
    IntImm,
    SeqStmt,
    Stmt,
    Var,
    build,
    walk,
)
from ...reading.source import PositionTable
from ..sync.merge import Merge, Units, UnknownOrderError, parts
from ..sync.run import Run
from ..sync.statement import kind_of, names_of, number_of, side_of_sync, sync, sync_of, syncs_in
from .flags import CUBE_SIDE, VECTOR_SIDE, is_between_cores
from .memories import CUBE, UB

SIDE = "tl.ascend_scope"
GIVE, TAKE = "give", "take"
"""The flags that the compiler adds, which are not in the text."""


class CoreFlags(msgspec.Struct, eq=False):
    """The flags of a core for the other ones: how often each was set and not awaited yet."""

    set: Counter[tuple[object, ...]] = msgspec.field(default_factory=Counter)

    def passes(self, call: Call, run: Run) -> bool:
        kind, number = kind_of(call), number_of(call)
        if kind not in ("set", "wait", GIVE, TAKE):
            return True
        side, names = side_of_sync(call), names_of(call) if kind in (GIVE, TAKE) else ()
        key = (side if kind in ("set", GIVE) else 1 - side, *names, run.value(number))
        if kind in ("set", GIVE):
            self.set[key] += 1
        elif self.set[key]:
            self.set[key] -= 1
        else:
            return False
        return True

    def copy(self) -> CoreFlags:
        return CoreFlags(self.set.copy())


class _Access(msgspec.Struct, frozen=True, eq=False):
    """Successive statements of one side that access a buffer, or a loop that does."""

    kinds: frozenset[str]
    first: Stmt
    last: Stmt
    is_loop: bool


class Order(Merge):
    """Finds the order of the statements of a kernel. `axes` are those of operations, which are one statement of the text with their
    loops."""

    def __init__(self, positions: PositionTable, grid: Collection[Var], axes: Collection[Var]) -> None:
        super().__init__(positions, CoreFlags(), grid)
        self.axes = axes
        self.flags = False  # whether the text has flags between the cores
        self.shared: frozenset[Buffer] = frozenset()  # buffers in global memory through which the cores exchange data
        self.paired: set[Stmt] = set()  # loops that exchange data in each iteration, without flags in the text

    def order(self, body: Stmt) -> Stmt:
        """Return the statements in one order. Raises UnknownOrderError."""
        self._require_own_variables(body)
        self.flags = any(map(is_between_cores, syncs_in(body)))
        self.shared = frozenset(self._exchanged(body))
        made = self.in_order(body)
        return made if self.flags else self._without_added(made)

    def ordered(self, stmts: Iterable[Stmt]) -> list[Stmt]:
        stmts = list(stmts)
        if any((call := sync_of(stmt)) is not None and is_between_cores(call) for stmt in stmts):
            raise UnknownOrderError("a flag between the cores stands outside of a scope")
        return super().ordered(stmts)

    def _without_added(self, stmt: Stmt) -> Stmt:
        """Return a statement without the flags that are not in the text."""
        if not any(kind_of(call) in (GIVE, TAKE) for call in syncs_in(stmt)):
            return stmt
        match stmt:
            case SeqStmt(seq=seq):
                kept = [p for p in seq if (call := sync_of(p)) is None or kind_of(call) not in (GIVE, TAKE)]
                return build.seq([self._without_added(part) for part in kept])
            case For(body=body):
                return self.placed(stmt, replace(stmt, body=self._without_added(body)))
            case IfThenElse(condition, then, other):
                second = None if other is None else self._without_added(other)
                return self.placed(stmt, IfThenElse(condition, self._without_added(then), second))
            case _:
                return build.seq([])

    # --- sides

    def unit(self, stmt: Stmt) -> int | None:
        """Return the side that runs a statement, None for both."""
        if isinstance(stmt, AttrStmt) and stmt.key == SIDE:
            return build.int_value(stmt.value)
        if sync_of(stmt) is not None:
            return None
        sides: set[int | None] = set()
        if isinstance(stmt, SeqStmt | For | IfThenElse):
            inner = [self.unit(part) for part in _children(stmt) if sync_of(part) is None]
            return inner[0] if inner and all(side == inner[0] for side in inner) else None
        for node in walk(stmt):
            if isinstance(node, BufferLoad | BufferStore):
                if node.buffer.scope in CUBE:
                    sides.add(CUBE_SIDE)
                elif node.buffer.scope == UB:
                    sides.add(VECTOR_SIDE)
        return sides.pop() if len(sides) == 1 else None

    def _sided(self, stmt: Stmt, side: int | None = None) -> Iterable[tuple[Stmt, int | None]]:
        """Yield the statements without parts, with their sides."""
        if isinstance(stmt, AttrStmt) and stmt.key == SIDE:
            yield from self._sided(stmt.body, build.int_value(stmt.value))
        elif isinstance(stmt, SeqStmt | For | IfThenElse):
            for part in _children(stmt):
                yield from self._sided(part, side)
        else:
            yield stmt, self.unit(stmt) if side is None else side

    def _exchanged(self, body: Stmt) -> set[Buffer]:
        """Return the buffers in global memory that one side writes and the other accesses."""
        written: dict[Buffer, set[int]] = {}
        used: dict[Buffer, set[int]] = {}
        for stmt, side in self._sided(body):
            for node in walk(stmt):
                if isinstance(node, BufferLoad | BufferStore) and node.buffer.scope == "global" and side is not None:
                    used.setdefault(node.buffer, set()).add(side)
                    if isinstance(node, BufferStore):
                        written.setdefault(node.buffer, set()).add(side)
        return {buffer for buffer in written if len(used[buffer]) > 1}

    def _require_own_variables(self, body: Stmt) -> None:
        """Refuse variables that one side assigns and the other uses: each core has its own."""
        written: dict[Buffer, set[int | None]] = {}
        used: dict[Buffer, set[int | None]] = {}
        for stmt, side in self._sided(body):
            for node in walk(stmt):
                if isinstance(node, BufferLoad | BufferStore) and node.buffer.scope == "local.var":
                    used.setdefault(node.buffer, set()).add(side)
                    if isinstance(node, BufferStore):
                        written.setdefault(node.buffer, set()).add(side)
        for buffer, sides in written.items():
            if len(used[buffer] - {None}) > 1 and sides != {None}:
                raise UnknownOrderError(f"the cores have different values of {buffer.name}")

    # --- two sides

    def matched(self, units: Units) -> Units:
        """Return the statements of both sides; without flags in the text, those that exchange data wait for each other as the compiler
        makes them: the accesses to a buffer in their order, a write of one side with a read of the other."""
        sides = units.get(CUBE_SIDE, []), units.get(VECTOR_SIDE, [])
        if self.flags or not all(sides):
            return units
        for buffer in self.shared:
            groups = [self._groups(side, buffer) for side in sides]
            if not groups[0] and not groups[1]:
                continue
            if len(groups[0]) != len(groups[1]):
                raise UnknownOrderError(f"the cores access {buffer.name} at different times")
            for number, (a, b) in enumerate(zip(*groups, strict=True)):
                if a.is_loop and b.is_loop and (_as_long(a.first, b.first) or not _is_handover(a, b)):
                    self.paired |= {a.first, b.first}
                    continue
                if not _is_handover(a, b):
                    raise UnknownOrderError(f"the cores access {buffer.name} in an unknown order")
                first, last = ((0, a), (1, b)) if a.kinds == {"write"} else ((1, b), (0, a))
                made = [
                    sync("", kind, IntImm(number), (buffer.name,), access[0])
                    for kind, access in ((GIVE, first), (TAKE, last))
                ]
                sides[first[0]].insert(_place(sides[first[0]], first[1].last) + 1, made[0])
                sides[last[0]].insert(_place(sides[last[0]], last[1].first), made[1])
        return units

    def _groups(self, steps: Sequence[Stmt], buffer: Buffer) -> list[_Access]:
        """Return the accesses of a side to a buffer in order."""
        found: list[_Access] = []
        for step in steps:
            nodes = list(walk(step))
            written = {"write" for n in nodes if isinstance(n, BufferStore) and n.buffer is buffer}
            kinds = frozenset(written | {"read" for n in nodes if isinstance(n, BufferLoad) and n.buffer is buffer})
            if not kinds:
                continue
            is_loop = self._is_loop(step)
            if found and not is_loop and not found[-1].is_loop and found[-1].kinds == kinds:
                found[-1] = replace(found[-1], last=step)
            else:
                found.append(_Access(kinds, step, step, is_loop))
        return found

    def _is_loop(self, stmt: Stmt) -> bool:
        """Whether a statement is a loop of the text, or a branch."""
        if isinstance(stmt, For):
            return stmt.kind not in ("parallel", "vectorized") and stmt.loop_var not in self.axes
        return isinstance(stmt, IfThenElse)

    def has_parts(self, stmt: Stmt) -> bool:
        return True  # those without a scope follow from the buffers that they access

    def is_exchange(self, stmt: Stmt) -> bool:
        """Whether a loop has flags between the cores in it, or data for the other core."""
        if not self._is_loop(stmt):
            return False
        kinds = {kind_of(call) for call in syncs_in(stmt)}
        return not kinds.isdisjoint(("set", "wait", GIVE, TAKE)) or stmt in self.paired


def _is_handover(a: _Access, b: _Access) -> bool:
    """Whether one of two accesses writes what the other reads."""
    return len(a.kinds) == len(b.kinds) == 1 and a.kinds != b.kinds


def _as_long(a: Stmt, b: Stmt) -> bool:
    """Whether two loops have as many iterations."""
    return isinstance(a, For) and isinstance(b, For) and prove_equal(a.extent, b.extent)


def _children(stmt: Stmt) -> list[Stmt]:
    match stmt:
        case SeqStmt(seq=seq):
            return list(seq)
        case For(body=body):
            return parts(body)
        case IfThenElse(then_case=then, else_case=other):
            return [*parts(then), *(parts(other) if other is not None else [])]
        case _:
            return []


def _place(steps: Sequence[Stmt], stmt: Stmt) -> int:
    return next(n for n, step in enumerate(steps) if step is stmt)


__all__ = ["SIDE", "Order"]
