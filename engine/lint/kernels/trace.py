"""A run of the pipes of an AI core over the statements of a kernel: which accesses flags and barriers order.

Each pipe has a clock for each pipe: what of it has happened before its next instruction. Setting a flag keeps the clocks of its pipe, a
wait for the flag takes the first that were kept; a barrier makes those of all pipes of the core equal. Two accesses to the same elements,
one of which writes, must be in the clocks of the later one. Long loops run their first and their last iterations, in steps of which slots
are used alike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from ...ir import (
    AttrStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    Call,
    Expr,
    For,
    IfThenElse,
    IntImm,
    Range,
    SeqStmt,
    Stmt,
    Var,
    build,
    substitute,
    walk,
)
from ...script.tilelang.persistent import STAGES
from ...script.tilelang.sync.run import Run, UntraceableError
from ...script.tilelang.sync.statement import sync_of

MOST_EVENTS = 20_000


class Race(msgspec.Struct, frozen=True):
    """Two blocks, the second of which may run while the first one is at work on the same buffer: `kind` is what the second one does,
    "reads" or "overwrites"."""

    first: str
    second: str
    buffer: str
    kind: str
    pipes: tuple[str, str]


class Traced(msgspec.Struct, frozen=True, eq=False):
    """What a run shows: accesses that nothing orders, flags that are awaited and not set, and which settings each wait took. Accesses to
    global memory, of the scalar unit and within one pipe may be ordered by other means: they are `others`, not races."""

    races: tuple[Race, ...]
    others: tuple[Race, ...]
    unset: tuple[Stmt, ...]
    left: tuple[Stmt, ...]
    is_whole: bool  # whether each block ran
    pairs: frozenset[tuple[Stmt, Stmt]]


class _Access(msgspec.Struct, frozen=True, eq=False):
    box: tuple[tuple[int, int], ...]
    unit: str
    time: int
    block: str


class Trace(Run):
    """A run of `units`, without some of the flags and barriers."""

    def __init__(self, grid: Collection[Var], without: Collection[Stmt], units: Iterable[str]) -> None:
        super().__init__(grid)
        self.without = without
        self.clocks: dict[str, dict[str, int]] = {unit: {} for unit in units}
        self.times: dict[str, int] = dict.fromkeys(self.clocks, 0)  # the instructions of each unit
        self.written: dict[Buffer, list[_Access]] = {}
        self.read: dict[Buffer, list[_Access]] = {}
        self.races: dict[Race, None] = {}
        self.unset: dict[Stmt, None] = {}
        self.pairs: set[tuple[Stmt, Stmt]] = set()
        self.far: set[str] = set()  # buffers in global memory
        self.blocks: set[BlockRealize] = set()
        self.events = 0
        self.moved: dict[Expr, Expr] = {}

    def sync(self, stmt: Stmt, call: Call) -> None:
        """Run a flag, barrier or wait."""
        raise NotImplementedError

    def operation(self, realize: BlockRealize, own: Mapping[Var, Range], *, is_alone: bool) -> None:
        """Run the block of an operation, whose loops are `own`; alone if they run once."""
        raise NotImplementedError

    def is_moved(self, loop: For) -> bool:
        """Whether the compiler moves the statements of a loop, and adds flags and waits."""
        return any(key == STAGES for key, _ in loop.annotations)

    def left(self) -> Iterable[Stmt]:
        """Return the flags that were set and not awaited."""
        return ()

    def is_sure(self, race: Race) -> bool:
        """Whether nothing else may order two accesses."""
        raise NotImplementedError

    def traced(self, body: Stmt) -> Traced:
        """Return what a run of a body shows. Raises UntraceableError."""
        self.statement(body)
        races, others = ([r for r in self.races if self.is_sure(r) is sure] for sure in (True, False))
        left, is_whole = tuple(dict.fromkeys(self.left())), self.blocks == _blocks(body)
        return Traced(tuple(races), tuple(others), tuple(self.unset), left, is_whole, frozenset(self.pairs))

    def statement(self, stmt: Stmt) -> None:
        self.events += 1
        if self.events > MOST_EVENTS:
            raise UntraceableError
        call = sync_of(stmt)
        if call is not None:
            if stmt not in self.without:
                self.sync(stmt, call)
            return
        match stmt:
            case SeqStmt(seq=seq):
                for part in seq:
                    self.statement(part)
            case For() if self.is_moved(stmt):
                raise UntraceableError
            case For() if _is_operation(stmt):
                self._operation(stmt)
            case For(loop_var=var, body=body):
                for number in self.iterations(stmt):
                    self.at[var] = number
                    self.statement(body)
                self.at.pop(var, None)
            case IfThenElse(condition=condition, then_case=then, else_case=other):
                if self.holds(condition):
                    self.statement(then)
                elif other is not None:
                    self.statement(other)
            case AttrStmt(body=body):
                self.statement(body)
            case BlockRealize():
                self._operation(stmt)
            case _:
                raise UntraceableError

    # --- clocks

    def finish(self, unit: str, clocks: dict[str, int] | None = None) -> None:
        """Record in clocks, those of a pipe itself, that all its instructions have ended."""
        if unit in self.times:
            merge_clocks(self.clocks[unit] if clocks is None else clocks, {unit: self.times[unit]})

    def join(self, units: Sequence[str]) -> None:
        whole: dict[str, int] = {}
        for unit in units:
            self.finish(unit, whole)
            merge_clocks(whole, self.clocks[unit])
        for unit in units:
            merge_clocks(self.clocks[unit], whole)

    # --- accesses

    def _operation(self, stmt: Stmt) -> None:
        loops: list[For] = []
        while isinstance(stmt, For):
            loops.append(stmt)
            stmt = stmt.body
        assert isinstance(stmt, BlockRealize)
        self.blocks.add(stmt)
        is_alone = all(loop.thread_tag is not None or build.is_const(loop.extent, 1) for loop in loops)
        self.operation(stmt, {loop.loop_var: self.range_of(loop, stmt) for loop in loops}, is_alone=is_alone)

    def range_of(self, loop: For, realize: BlockRealize) -> Range:
        """Return the values of a loop around a block."""
        return Range(loop.min, loop.extent)

    def accesses(
        self, realize: BlockRealize, own: Mapping[Var, Range], unit_of: Callable[[Buffer], str | None]
    ) -> None:
        """Record what a block reads and writes, each buffer by the unit that accesses it."""
        values = dict(zip((iv.var for iv in realize.block.iter_vars), realize.iter_values, strict=True))
        for region, kind in _regions(realize.block):
            unit = unit_of(region.buffer)
            if unit is not None:
                self.far |= {region.buffer.name} if region.buffer.scope == "global" else set()
                self.access(region, values, own, unit, realize.block.name, kind)

    def access(
        self, region: BufferRegion, values: Mapping[Var, Expr], own: Mapping[Var, Range], unit: str, block: str, kind: str
    ) -> None:  # fmt: skip
        """Record that a block accesses a region now."""
        box = self._box(region, values, own)
        self._access(region.buffer, _Access(box, unit, self.times[unit], block), kind)

    def _box(
        self, region: BufferRegion, values: Mapping[Var, Expr], own: Mapping[Var, Range]
    ) -> tuple[tuple[int, int], ...]:
        found: list[tuple[int, int]] = []
        for axis, size in zip(region.region, region.buffer.shape, strict=True):
            whole = (0, (build.int_value(size) or 1 << 40) - 1)
            start = self.bounds(self._moved(axis.min, values), own)
            extent = self.bounds(self._moved(axis.extent, values), own)
            found.append(whole if start is None or extent is None else (start[0], start[1] + extent[1] - 1))
        return tuple(found)

    def _moved(self, expr: Expr, values: Mapping[Var, Expr]) -> Expr:
        if isinstance(expr, IntImm):
            return expr
        if expr not in self.moved:
            self.moved[expr] = substitute(expr, values)
        return self.moved[expr]

    def _access(self, buffer: Buffer, access: _Access, kind: str) -> None:
        writes, reads = self.written.setdefault(buffer, []), self.read.setdefault(buffer, [])
        for other in writes if kind == "reads" else (*writes, *reads):
            is_same = other.unit == access.unit and other.time == access.time
            if (
                not is_same
                and self.clocks[access.unit].get(other.unit, 0) < other.time
                and _meet(other.box, access.box)
            ):
                pipes = (other.unit, access.unit)
                self.races[Race(other.block, access.block, buffer.name, kind, pipes)] = None
        if kind == "overwrites":
            self.written[buffer] = [o for o in writes if not _inside(o.box, access.box)] + [access]
            self.read[buffer] = [o for o in reads if not _inside(o.box, access.box)]
        else:
            self.read[buffer] = [o for o in reads if o.unit != access.unit or not _inside(o.box, access.box)] + [access]


def _blocks(body: Stmt) -> set[BlockRealize]:
    return {node for node in walk(body) if isinstance(node, BlockRealize)}


def _regions(block: Block) -> Iterator[tuple[BufferRegion, str]]:
    for region in block.reads:
        yield region, "reads"
    for region in block.writes:
        yield region, "overwrites"


def _is_operation(loop: For) -> bool:
    """Whether a loop is around one block only."""
    inner: Stmt = loop
    while isinstance(inner, For):
        inner = inner.body
    return isinstance(inner, BlockRealize)


def merge_clocks(clocks: dict[str, int], others: Mapping[str, int]) -> None:
    for unit, time in others.items():
        if clocks.get(unit, 0) < time:
            clocks[unit] = time


def _meet(first: tuple[tuple[int, int], ...], second: tuple[tuple[int, int], ...]) -> bool:
    return all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(first, second, strict=True))


def _inside(first: tuple[tuple[int, int], ...], second: tuple[tuple[int, int], ...]) -> bool:
    return all(b[0] <= a[0] and a[1] <= b[1] for a, b in zip(first, second, strict=True))


__all__ = ["Race", "Trace", "Traced", "merge_clocks"]
