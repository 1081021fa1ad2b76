"""Runs of the pipes of an AI core: a flag passes on what its source pipe knows, a wait for it what the flag has kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from ...ir import BlockRealize, Buffer, BufferLoad, BufferRegion, BufferStore, Call, Expr, Range, Stmt, Var, build, walk
from ...script.tilelang.ascend.flags import (
    BOTH_SIDES,
    INNER,
    PIPES,
    VECTOR_SIDE,
    loads_itself,
    pipes_of,
    side_of,
    waiting,
)
from ...script.tilelang.ascend.memories import L1
from ...script.tilelang.sync.statement import kind_of, names_of, number_of, operand_of, side_of_sync
from .trace import Race, Trace, merge_clocks

UNORDERED = ("1 V",)
"""Pipes whose instructions may begin before those before them have ended, as long as no barrier of the pipe is between them."""


class PipeTrace(Trace):
    """A run of the first core of a grid."""

    def __init__(self, grid: Collection[Var], without: Collection[Stmt]) -> None:
        super().__init__(grid, without, [f"{side} {pipe}" for side in (0, 1) for pipe in PIPES[side]])
        self.flags: dict[tuple[str, int], deque[tuple[dict[str, int], Stmt]]] = {}

    def left(self) -> Iterable[Stmt]:
        return [stmt for queue in self.flags.values() for _, stmt in queue]

    def sync(self, stmt: Stmt, call: Call) -> None:
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
                    self.join([f"{core} {pipe}" for pipe in PIPES[core]])
            case "read":
                self._read(operand_of(call), f"{VECTOR_SIDE if side == BOTH_SIDES else side} S")
            case "pipe":
                for core in (0, 1) if side == BOTH_SIDES else (side,):
                    self.finish(f"{core} {pipes[0]}")
            case "set" if side != BOTH_SIDES:
                unit = f"{side} {pipes[0]}" if pipes else ""
                self._set((f"cross {side}", self.value(number)), unit if unit in self.clocks else f"{side} S", stmt)
            case "wait" if side != BOTH_SIDES:
                units = [f"{side} {pipe}" for pipe in PIPES[side]]
                self._wait((f"cross {1 - side}", self.value(number)), units, stmt)
            case _:
                pass

    def _read(self, value: Expr, unit: str) -> None:
        """Let the scalar unit read the elements in a value."""
        self.times[unit] += 1
        for node in walk(value):
            if isinstance(node, BufferLoad):
                region = BufferRegion(node.buffer, tuple(map(build.point, node.indices)))
                self.access(region, {}, {}, unit, "", "reads")
        self.finish(unit)

    def _set(self, key: tuple[str, int], unit: str, stmt: Stmt) -> None:
        self.finish(unit, kept := dict(self.clocks[unit]))
        self.flags.setdefault(key, deque()).append((kept, stmt))

    def _wait(self, key: tuple[str, int], units: Sequence[str], stmt: Stmt) -> None:
        queue = self.flags.get(key)
        if not queue:
            self.unset[stmt] = None
            return
        kept, setting = queue.popleft()
        self.pairs.add((setting, stmt))
        for unit in units:
            merge_clocks(self.clocks[unit], kept)

    def operation(self, realize: BlockRealize, own: Mapping[Var, Range], *, is_alone: bool) -> None:
        units: tuple[str, ...] = pipes_of(realize)
        if is_alone and units == ("1 V",) and isinstance(realize.block.body, BufferStore):
            units = ("1 S",)  # an element that is set by itself
        is_product = loads_itself(realize)
        self._pass(INNER[0] if is_product else ())
        if is_product:
            self.join(units)
        for unit in units:
            self.times[unit] += 1

        def unit_of(buffer: Buffer) -> str | None:
            if buffer.scope.startswith("local"):
                return None
            return units[0] if buffer.scope == L1 else units[-1]

        self.accesses(realize, own, unit_of)
        for unit in units:
            if unit not in UNORDERED:
                self.finish(unit)
        self._pass(INNER[1] if is_product else ())

    def _pass(self, flags: Sequence[tuple[str, str]]) -> None:
        """Let pipes of the cube core go on after others."""
        for source, target in flags:
            self.finish(f"0 {source}", self.clocks[f"0 {target}"])
            merge_clocks(self.clocks[f"0 {target}"], self.clocks[f"0 {source}"])

    def is_sure(self, race: Race) -> bool:
        """Whether nothing else may order two accesses: the compiler adds a barrier beside some of the scalar unit, and cores that exchange
        data in global memory wait for each other."""
        is_plain = race.pipes[0] != race.pipes[1] and not any(pipe.endswith(" S") for pipe in race.pipes)
        return is_plain and race.buffer not in self.far


__all__ = ["PipeTrace"]
