"""One order for the statements of an AI core, whose cube core and vector cores run side by side and wait for each other's flags.

A flag is a counter: a core sets it, another waits until it is set. The order that is found is one that the flags permit, so a kernel
without races computes in it what it computes on the device. Loops of both sides that exchange flags run together, an iteration of one
with an iteration of the other, where each iteration leaves the counters as it found them.

Flags and barriers between the pipes of one core become tokens of the blocks beside them (`flags`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from ....arith import prove_equal, simplify
from ....ir import (
    Annotations,
    AttrStmt,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    SeqStmt,
    Stmt,
    Var,
    build,
    structural_equal,
    substitute,
    walk,
)
from ...reading.source import PositionTable
from ..pipelines import ORDER, STAGE
from ..sync.tokens import Tokens
from .flags import CUBE_SIDE, VECTOR_SIDE, inner_flags, is_between_cores, kind_of, pipes_of, sync_of, synchronised

SIDE = "tl.ascend_scope"
BEFORE, AFTER = "tl.ascend_sync_before", "tl.ascend_sync_after"
"""Annotations with the flags and barriers that stand before or after a block or loop."""


class UnknownOrderError(Exception):
    """The order of the statements of two cores is not known."""


class _Flag(msgspec.Struct, frozen=True, eq=False):
    """A flag of a core for the other ones; `number` is that of the text, or stands for the `buffer` that both access."""

    number: Expr
    side: int
    buffer: Buffer | None = None

    def is_like(self, other: _Flag) -> bool:
        same = self.buffer is other.buffer and structural_equal(simplify(self.number), simplify(other.number))
        return same and self.side == other.side


class _Set(msgspec.Struct, frozen=True, eq=False):
    flag: _Flag
    stmt: Stmt | None = None


class _Wait(msgspec.Struct, frozen=True, eq=False):
    flag: _Flag
    stmt: Stmt | None = None


_Step = Stmt | _Set | _Wait


class _Access(msgspec.Struct, frozen=True, eq=False):
    """Successive statements of one side that access a buffer, or a loop that does."""

    kinds: frozenset[str]
    first: Stmt
    last: Stmt
    is_loop: bool


def parts(stmt: Stmt) -> list[Stmt]:
    """Return the statements of a sequence."""
    return list(stmt.seq) if isinstance(stmt, SeqStmt) else [stmt]


class Order(msgspec.Struct, eq=False):
    """Finds the order of the statements of a kernel."""

    positions: PositionTable
    cube: frozenset[str]
    vector: str
    axes: frozenset[Var]  # those of operations, which are one statement of the text with their loops
    flags: bool = False  # whether the text has flags between the cores
    shared: frozenset[Buffer] = frozenset()  # buffers in global memory through which the cores exchange data
    paired: set[Stmt] = msgspec.field(
        default_factory=set[Stmt]
    )  # loops that exchange data in each iteration, without flags in the text
    pending: list[_Flag] = msgspec.field(default_factory=list[_Flag])
    tokens: Tokens | None = None

    def ordered(self, body: Stmt) -> Stmt:
        """Return the statements in one order. Raises UnknownOrderError."""
        self._require_own_variables(body)
        calls = [call for node in walk(body) if isinstance(node, Evaluate) and (call := sync_of(node)) is not None]
        self.flags = any(map(is_between_cores, calls))
        self.shared = frozenset(self._exchanged(body))
        return build.seq(self._list(parts(body)))

    # --- sides

    def side(self, stmt: Stmt) -> int | None:
        """Return the side that runs a statement, None for both."""
        if isinstance(stmt, AttrStmt) and stmt.key == SIDE:
            return build.int_value(stmt.value)
        if sync_of(stmt) is not None:
            return None
        sides: set[int | None] = set()
        if isinstance(stmt, SeqStmt | For | IfThenElse):
            inner = [self.side(part) for part in _children(stmt) if sync_of(part) is None]
            return inner[0] if inner and all(side == inner[0] for side in inner) else None
        for node in walk(stmt):
            if isinstance(node, BufferLoad | BufferStore):
                if node.buffer.scope in self.cube:
                    sides.add(CUBE_SIDE)
                elif node.buffer.scope == self.vector:
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
            yield stmt, self.side(stmt) if side is None else side

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

    # --- sequences

    def _list(self, stmts: Sequence[Stmt]) -> list[Stmt]:
        """Return statements of both sides in order; those that concern both sides stay where they are."""
        found: list[Stmt] = []
        sides: tuple[list[Stmt], list[Stmt]] = ([], [])
        waiting: list[Stmt] = []  # flags and barriers outside of a scope

        def flush() -> None:
            found.extend(self._merged(*self._matched(*sides)))
            sides[0].clear()
            sides[1].clear()

        for stmt in stmts:
            call = sync_of(stmt)
            if call is not None:
                if is_between_cores(call):
                    raise UnknownOrderError("a flag between the cores stands outside of a scope")
                waiting.append(stmt)
                continue
            side = self.side(stmt)
            if side is None:
                flush()
                found += [*waiting, self._both(stmt)]
            else:
                sides[side].extend([*waiting, *parts(stmt.body if isinstance(stmt, AttrStmt) else stmt)])
            waiting = []
        flush()
        return [*found, *waiting]

    def _both(self, stmt: Stmt) -> Stmt:
        """Return a statement with parts of both sides."""
        before = list(self.pending)
        match stmt:
            case For(body=body):
                inner = self._list(parts(body))
                is_same = [p for p in inner if sync_of(p) is None] == [p for p in parts(body) if sync_of(p) is None]
                notes = stmt.annotations if is_same else _without_plan(stmt.annotations)
                made: Stmt = replace(stmt, body=build.seq(inner), annotations=notes)
                self._require_unchanged(before)
            case IfThenElse(condition, then, other):
                first = build.seq(self._list(parts(then)))
                self._require_unchanged(before)
                second = None if other is None else build.seq(self._list(parts(other)))
                self._require_unchanged(before)
                made = IfThenElse(condition, first, second)
            case _:
                return stmt
        for place in self.positions.places(stmt):
            self.positions.add(made, place)
        return made

    def _require_unchanged(self, before: Sequence[_Flag]) -> None:
        rest = list(self.pending)
        for flag in before:
            match = next((n for n, other in enumerate(rest) if other.is_like(flag)), None)
            if match is None:
                raise UnknownOrderError("an iteration waits for a flag of an iteration before it")
            del rest[match]
        if rest:
            raise UnknownOrderError("an iteration sets a flag that a later iteration waits for")

    # --- two sides

    def _matched(self, cube: list[Stmt], vector: list[Stmt]) -> tuple[list[_Step], list[_Step]]:
        """Return the statements of both sides; without flags in the text, those that exchange data wait for each other as the compiler
        makes them: the accesses to a buffer in their order, a write of one side with a read of the other."""
        sides: tuple[list[_Step], list[_Step]] = ([*cube], [*vector])
        if self.flags or not cube or not vector:
            return sides
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
                flag = _Flag(build.const(number, "int32"), first[0], buffer)
                sides[first[0]].insert(_place(sides[first[0]], first[1].last) + 1, _Set(flag))
                sides[last[0]].insert(_place(sides[last[0]], last[1].first), _Wait(flag))
        return sides

    def _groups(self, steps: Sequence[_Step], buffer: Buffer) -> list[_Access]:
        """Return the accesses of a side to a buffer in order."""
        found: list[_Access] = []
        for step in steps:
            nodes = list(walk(step)) if isinstance(step, Stmt) else []
            written = {"write" for n in nodes if isinstance(n, BufferStore) and n.buffer is buffer}
            kinds = frozenset(written | {"read" for n in nodes if isinstance(n, BufferLoad) and n.buffer is buffer})
            if not isinstance(step, Stmt) or not kinds:
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

    def _is_exchange(self, stmt: Stmt) -> bool:
        """Whether a loop has flags between the cores in it, or data for the other core."""
        if not self._is_loop(stmt):
            return False
        for node in walk(stmt):
            if isinstance(node, Evaluate) and (call := sync_of(node)) is not None and is_between_cores(call):
                return True
        return stmt in self.paired

    def _merged(self, cube: Sequence[_Step], vector: Sequence[_Step]) -> list[Stmt]:
        """Return the statements of both sides in an order that the flags permit."""
        found: list[Stmt] = []
        rest = [list(cube), list(vector)]
        while rest[0] or rest[1]:
            moved = False
            for side in (CUBE_SIDE, VECTOR_SIDE):
                while rest[side] and (made := self._advanced(rest[side][0], side)) is not None:
                    found += made
                    del rest[side][0]
                    moved = True
            if moved:
                continue
            first, second = (part[0] if part else None for part in rest)
            if not isinstance(first, For) or not isinstance(second, For):
                raise UnknownOrderError("one core waits for a flag that the other does not set before it waits")
            found.append(self._together(first, second))
            del rest[0][0], rest[1][0]
        return found

    def _advanced(self, step: _Step, side: int) -> list[Stmt] | None:
        """Return the statements of a step, None if it has to wait."""
        if isinstance(step, _Set):
            self.pending.append(step.flag)
            return []
        if isinstance(step, _Wait):
            return [] if self._taken(step.flag) else None
        call = sync_of(step)
        if call is not None and kind_of(call) == "set":
            self.pending.append(_Flag(call.args[2], side))
            return [step]
        if call is not None and kind_of(call) == "wait":
            return [step] if self._taken(_Flag(call.args[2], 1 - side)) else None
        return None if self._is_exchange(step) else [step]

    def _taken(self, flag: _Flag) -> bool:
        for number, known in enumerate(self.pending):
            if known.is_like(flag):
                del self.pending[number]
                return True
        return False

    def _together(self, cube: For, vector: For) -> Stmt:
        """Return one loop for loops of both sides with as many iterations."""
        if not prove_equal(cube.extent, vector.extent) or not prove_equal(cube.min, vector.min):
            raise UnknownOrderError(
                f"the loops {cube.loop_var.name} and {vector.loop_var.name} of the cores have different lengths"
            )
        before = list(self.pending)
        other = self._renamed(vector.body, {vector.loop_var: build.cast(cube.loop_var, vector.loop_var.dtype)})
        body = self._merged(*self._matched(parts(cube.body), parts(other)))
        self._require_unchanged(before)
        made = replace(cube, body=build.seq(body), annotations=_without_plan((*cube.annotations, *vector.annotations)))
        for loop in (cube, vector):
            for place in self.positions.places(loop):
                self.positions.add(made, place)
        return made

    def _renamed(self, stmt: Stmt, values: dict[Var, Expr]) -> Stmt:
        made = substitute(stmt, values)
        for old, new in zip(walk(stmt), walk(made), strict=False):
            if isinstance(new, Stmt) and type(old) is type(new):
                for place in self.positions.places(old):
                    self.positions.add(new, place)
        return made

    # --- flags and barriers as annotations

    def annotated(self, stmt: Stmt) -> Stmt:
        """Return a statement without the statements of flags and barriers, which become annotations of the blocks and loops beside them."""
        syncs = [node for node in walk(stmt) if isinstance(node, Evaluate) and sync_of(node) is not None]
        numbers: dict[Stmt, int] = {node: number for number, node in enumerate(syncs, 1)}
        self.tokens = Tokens(stmt, pipes_of, lambda part: synchronised(part, numbers), inner_flags)
        return self._annotated(stmt)

    def _annotated(self, stmt: Stmt) -> Stmt:
        match stmt:
            case SeqStmt(seq=seq):
                return self._beside([self._annotated(part) if sync_of(part) is None else part for part in seq])
            case For(body=body) | AttrStmt(body=body):
                made: Stmt = replace(stmt, body=self._alone(body))
            case IfThenElse(condition, then, other):
                made = IfThenElse(condition, self._alone(then), None if other is None else self._alone(other))
            case BlockRealize():
                return self._with_notes(stmt, self.tokens.notes(stmt)) if self.tokens is not None else stmt
            case _:
                return stmt
        return self._placed(stmt, made)

    def _alone(self, body: Stmt) -> Stmt:
        return build.seq([]) if sync_of(body) is not None else self._annotated(body)

    def _beside(self, stmts: list[Stmt]) -> Stmt:
        found: list[Stmt] = []
        waiting: list[Expr] = []
        for stmt in stmts:
            call = sync_of(stmt)
            if call is not None:
                waiting.append(call.args[0])
                continue
            if waiting and isinstance(stmt, For | BlockRealize):
                stmt = self._noted(stmt, BEFORE, waiting)
                waiting = []
            found.append(stmt)
        if waiting and found and isinstance(found[-1], For | BlockRealize):
            found[-1] = self._noted(found[-1], AFTER, waiting)
        return build.seq(found)

    def _noted(self, stmt: Stmt, key: str, texts: Sequence[Expr]) -> Stmt:
        note = (key, tuple(texts))
        if isinstance(stmt, For):
            return self._placed(stmt, replace(stmt, annotations=(*stmt.annotations, note)))
        assert isinstance(stmt, BlockRealize)
        return self._with_notes(stmt, (note,))

    def _with_notes(self, stmt: BlockRealize, notes: Annotations) -> BlockRealize:
        if not notes:
            return stmt
        block = replace(stmt.block, annotations=(*stmt.block.annotations, *notes))
        for place in self.positions.places(stmt.block):
            self.positions.add(block, place)
        made = replace(stmt, block=block)
        for place in self.positions.places(stmt):
            self.positions.add(made, place)
        return made

    def _placed(self, old: Stmt, new: Stmt) -> Stmt:
        for place in self.positions.places(old):
            self.positions.add(new, place)
        return new


def _is_handover(a: _Access, b: _Access) -> bool:
    """Whether one of two accesses writes what the other reads."""
    return len(a.kinds) == len(b.kinds) == 1 and a.kinds != b.kinds


def _as_long(a: Stmt, b: Stmt) -> bool:
    """Whether two loops have as many iterations."""
    return isinstance(a, For) and isinstance(b, For) and prove_equal(a.extent, b.extent)


def _without_plan(notes: Annotations) -> Annotations:
    """Return annotations without the stages and orders of statements, whose positions have changed."""
    return tuple(note for note in notes if note[0] not in (STAGE, ORDER))


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


def _place(steps: Sequence[_Step], stmt: Stmt) -> int:
    return next(n for n, step in enumerate(steps) if step is stmt)


__all__ = ["SIDE", "Order", "UnknownOrderError", "parts"]
