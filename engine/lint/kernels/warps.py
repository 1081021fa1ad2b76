"""Runs of the groups of warps of a kernel, and of the copies and products that they begin: a barrier passes on what those know that arrive
at it."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from ...ir import BlockRealize, Buffer, Call, For, Range, Stmt, Var, build
from ...script.tilelang.names import GEMM
from ...script.tilelang.pipelines import STAGE
from ...script.tilelang.sync.barriers import ARRIVE, COMMIT, COMPLETE, COPIES, DRAIN, PRODUCTS, WAIT, Phases, agent_of
from ...script.tilelang.sync.statement import (
    ANY_SIDE,
    Synchronised,
    kind_of,
    names_of,
    number_of,
    operand_of,
    side_of_sync,
)
from ...script.tilelang.sync.warps import everyone, group_of, units_of
from .trace import Race, Trace, merge_clocks

Key = tuple[str, int]


class WarpTrace(Trace):
    """A run of the first block of a grid. The compiler adds barriers around what all threads do together."""

    period = 24

    def __init__(self, kernel: Synchronised, grid: Collection[Var], without: Collection[Stmt]) -> None:
        self.groups, self.of_group = kernel.groups, units_of(kernel.groups)
        self.everyone = everyone(self.of_group)
        units = [f"{unit} {agent}" for unit in self.everyone for agent in ("", COPIES, PRODUCTS)]
        super().__init__(grid, without, units)
        self.phases = Phases(kernel.barriers or {})
        self.arriving: dict[Key, dict[str, int]] = {}  # what those know that arrived in the phase that lasts
        self.ended: dict[Key, dict[str, int]] = {}  # what those knew that ended the phase before
        self.batches: dict[str, deque[int]] = {unit: deque() for unit in units}

    def _units(self, call: Call) -> list[str]:
        side = side_of_sync(call)
        return self.everyone if side == ANY_SIDE else [self.of_group[self.groups[side]]]

    def sync(self, stmt: Stmt, call: Call) -> None:
        kind, names, units = kind_of(call), names_of(call), self._units(call)
        if kind in (COMMIT, DRAIN):
            for unit in units:
                self._batch(f"{unit} ", f"{unit} {names[0]}", self.value(operand_of(call)) if kind == DRAIN else None)
            return
        key = names[0], self.value(number_of(call))
        if kind == WAIT:
            if not self.phases.passes(call, self):
                self.unset[stmt] = None
            for unit in units:
                merge_clocks(self.clocks[f"{unit} "], self.ended.get(key, {}))
        elif kind in (ARRIVE, COMPLETE):
            for unit in units:
                source = f"{unit} {names[1] if kind == COMPLETE else ''}"
                known = self.arriving.setdefault(key, {})
                merge_clocks(known, self.clocks[source])
                self.finish(source, known)
            if self.phases.arrive(key, self.value(operand_of(call))):
                self.ended[key] = self.arriving.pop(key)

    def _batch(self, threads: str, source: str, left: int | None) -> None:
        """Make a batch of what was begun, or wait for all batches but the last ones that are `left`."""
        batches = self.batches[source]
        if left is None:
            batches.append(self.times[source])
            return
        if not batches or not left:
            batches.append(self.times[source])
        if len(batches) > left:
            merge_clocks(self.clocks[threads], {source: batches[len(batches) - left - 1]})

    def range_of(self, loop: For, realize: BlockRealize) -> Range:
        first, _, last = group_of(realize.block).partition(" to ")
        is_of_threads = loop.thread_tag == "threadIdx.x" and bool(last)
        return (
            build.make_range(int(first), int(last) - int(first) + 1)
            if is_of_threads
            else super().range_of(loop, realize)
        )

    def operation(self, realize: BlockRealize, own: Mapping[Var, Range], *, is_alone: bool) -> None:
        notes = dict(realize.block.annotations)
        agent, group = agent_of(notes), group_of(realize.block)
        units = [self.of_group[group]] if group else self.everyone
        threads = f"{units[0]} "
        if len(units) > 1:
            self.join([f"{unit} " for unit in units])
        unit = f"{units[0]} {agent}"
        if GEMM in notes and not agent:
            self._batch(threads, f"{units[0]} {PRODUCTS}", 0)
        if agent:
            merge_clocks(self.clocks[unit], self.clocks[threads])
        self.times[unit] += 1
        self.accesses(realize, own, lambda buffer: None if _is_private(buffer, agent) else unit)
        if agent == PRODUCTS:
            self.batches[unit].append(self.times[unit])
        if agent != COPIES:
            self.finish(unit)
        if len(units) > 1 and not agent:
            self.join([f"{unit} " for unit in units])

    def is_moved(self, loop: For) -> bool:
        return any(key == STAGE for key, _ in loop.annotations)

    def is_sure(self, race: Race) -> bool:
        return race.buffer not in self.far


def _is_private(buffer: Buffer, agent: str) -> bool:
    """Whether each thread has a buffer for itself, so that no other unit accesses it."""
    return buffer.scope in ("local", "local.var") or (buffer.scope.startswith("local") and agent == COPIES)


__all__ = ["WarpTrace"]
