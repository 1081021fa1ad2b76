"""A run of the pipes of an AI core over the statements of a kernel: which accesses flags and barriers order.

Each pipe has a clock for each pipe: what of it has happened before its next instruction. Setting a flag keeps the clocks of its pipe, a
wait for the flag takes the first that were kept; a barrier makes those of all pipes of the core equal. Two accesses to the same elements,
one of which writes, must be in the clocks of the later one. Long loops run their first and their last iterations, in steps of which slots
are used alike.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence

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
from ...script.tilelang.ascend.flags import BOTH_SIDES, INNER, PIPES, loads_itself, pipes_of, side_of, waiting
from ...script.tilelang.ascend.memories import L1
from ...script.tilelang.sync.run import Run, UntraceableError
from ...script.tilelang.sync.statement import kind_of, names_of, number_of, side_of_sync, sync_of

MOST_EVENTS = 20_000
UNORDERED = ("1 V",)
"""Pipes whose instructions may begin before those before them have ended, as long as no barrier of the pipe is between them."""


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


def traced(body: Stmt, grid: Collection[Var], without: Collection[Stmt] = ()) -> Traced:
    """Return what a run of a body shows on the first core of a grid, without some of its flags and barriers. Raises UntraceableError."""
    run = _Run(grid, without)
    run.statement(body)
    left = dict.fromkeys(stmt for queue in run.flags.values() for _, stmt in queue)
    races, others = ([r for r in run.races if run.is_sure(r) is sure] for sure in (True, False))
    return Traced(
        tuple(races), tuple(others), tuple(run.unset), tuple(left), run.blocks == _blocks(body), frozenset(run.pairs)
    )


class _Run(Run):
    def __init__(self, grid: Collection[Var], without: Collection[Stmt]) -> None:
        super().__init__(grid)
        self.without = without
        self.clocks: dict[str, dict[str, int]] = {f"{side} {pipe}": {} for side in (0, 1) for pipe in PIPES[side]}
        self.times: dict[str, int] = dict.fromkeys(self.clocks, 0)  # the instructions of each pipe
        self.flags: dict[tuple[str, int], deque[tuple[dict[str, int], Stmt]]] = {}
        self.written: dict[Buffer, list[_Access]] = {}
        self.read: dict[Buffer, list[_Access]] = {}
        self.races: dict[Race, None] = {}
        self.unset: dict[Stmt, None] = {}
        self.pairs: set[tuple[Stmt, Stmt]] = set()
        self.far: set[str] = set()  # buffers in global memory
        self.blocks: set[BlockRealize] = set()
        self.events = 0
        self.moved: dict[Expr, Expr] = {}

    def statement(self, stmt: Stmt) -> None:
        self.events += 1
        if self.events > MOST_EVENTS:
            raise UntraceableError
        call = sync_of(stmt)
        if call is not None:
            if stmt not in self.without:
                self._sync(stmt, call)
            return
        match stmt:
            case SeqStmt(seq=seq):
                for part in seq:
                    self.statement(part)
            case For(annotations=notes) if any(key == "num_stages" for key, _ in notes):
                raise UntraceableError  # the compiler moves the statements of the loop and adds flags
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

    # --- flags

    def _sync(self, stmt: Stmt, call: Call) -> None:
        kind, number, pipes, side = kind_of(call), number_of(call), names_of(call), side_of_sync(call)
        match kind:
            case "set_flag" | "wait_flag" if len(pipes) == 2:
                side = side_of(pipes) if side == BOTH_SIDES else side
                key = (f"{side} {pipes[0]} {pipes[1]}", self.value(number))
                if kind == "set_flag":
                    self._set(key, f"{side} {pipes[0]}", stmt)
                else:
                    self._wait(key, waiting(side, pipes[1]), stmt)
            case "barrier" if not pipes:
                for core in (0, 1) if side == BOTH_SIDES else (side,):
                    self._join([f"{core} {pipe}" for pipe in PIPES[core]])
            case "pipe":
                for core in (0, 1) if side == BOTH_SIDES else (side,):
                    self._finish(f"{core} {pipes[0]}")
            case "set" if side != BOTH_SIDES:
                unit = f"{side} {pipes[0]}" if pipes else ""
                self._set((f"cross {side}", self.value(number)), unit if unit in self.clocks else f"{side} S", stmt)
            case "wait" if side != BOTH_SIDES:
                units = [f"{side} {pipe}" for pipe in PIPES[side]]
                self._wait((f"cross {1 - side}", self.value(number)), units, stmt)
            case _:
                pass

    def _set(self, key: tuple[str, int], unit: str, stmt: Stmt) -> None:
        self._finish(unit, kept := dict(self.clocks[unit]))
        self.flags.setdefault(key, deque()).append((kept, stmt))

    def _wait(self, key: tuple[str, int], units: Sequence[str], stmt: Stmt) -> None:
        queue = self.flags.get(key)
        if not queue:
            self.unset[stmt] = None
            return
        kept, setting = queue.popleft()
        self.pairs.add((setting, stmt))
        for unit in units:
            _merge(self.clocks[unit], kept)

    def _finish(self, unit: str, clocks: dict[str, int] | None = None) -> None:
        """Record in clocks, those of a pipe itself, that all its instructions have ended."""
        if unit in self.times:
            _merge(self.clocks[unit] if clocks is None else clocks, {unit: self.times[unit]})

    def _join(self, units: Sequence[str]) -> None:
        whole: dict[str, int] = {}
        for unit in units:
            self._finish(unit, whole)
            _merge(whole, self.clocks[unit])
        for unit in units:
            _merge(self.clocks[unit], whole)

    # --- accesses

    def _operation(self, stmt: Stmt) -> None:
        """Run the block of an operation on its pipes."""
        own: dict[Var, Range] = {}
        is_alone = True
        while isinstance(stmt, For):
            own[stmt.loop_var] = Range(stmt.min, stmt.extent)
            is_alone = is_alone and (stmt.thread_tag is not None or build.is_const(stmt.extent, 1))
            stmt = stmt.body
        assert isinstance(stmt, BlockRealize)
        self.blocks.add(stmt)
        units: tuple[str, ...] = pipes_of(stmt)
        if is_alone and units == ("1 V",):
            units = ("1 S",)  # an element that is set by itself
        is_product = loads_itself(stmt)
        self._pass(INNER[0] if is_product else ())
        if is_product:
            self._join(units)
        for unit in units:
            self.times[unit] += 1
        values = dict(zip((iv.var for iv in stmt.block.iter_vars), stmt.iter_values, strict=True))
        for region, kind in _regions(stmt.block):
            if region.buffer.scope.startswith("local"):
                continue
            self.far |= {region.buffer.name} if region.buffer.scope == "global" else set()
            box = self._box(region, values, own)
            unit = units[0] if region.buffer.scope == L1 else units[-1]
            self._access(region.buffer, _Access(box, unit, self.times[unit], stmt.block.name), kind)
        for unit in units:
            if unit not in UNORDERED:
                self._finish(unit)
        self._pass(INNER[1] if is_product else ())

    def _pass(self, flags: Sequence[tuple[str, str]]) -> None:
        """Let pipes of the cube core go on after others."""
        for source, target in flags:
            self._finish(f"0 {source}", self.clocks[f"0 {target}"])
            _merge(self.clocks[f"0 {target}"], self.clocks[f"0 {source}"])

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

    def is_sure(self, race: Race) -> bool:
        """Whether nothing else may order two accesses: the compiler adds a barrier beside some of the scalar unit, and cores that exchange
        data in global memory wait for each other."""
        is_plain = race.pipes[0] != race.pipes[1] and not any(pipe.endswith(" S") for pipe in race.pipes)
        return is_plain and race.buffer not in self.far

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


def _merge(clocks: dict[str, int], others: Mapping[str, int]) -> None:
    for unit, time in others.items():
        if clocks.get(unit, 0) < time:
            clocks[unit] = time


def _meet(first: tuple[tuple[int, int], ...], second: tuple[tuple[int, int], ...]) -> bool:
    return all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(first, second, strict=True))


def _inside(first: tuple[tuple[int, int], ...], second: tuple[tuple[int, int], ...]) -> bool:
    return all(b[0] <= a[0] and a[1] <= b[1] for a, b in zip(first, second, strict=True))


__all__ = ["Race", "Traced", "UntraceableError", "traced"]
