"""The plain simulation of caches: every access, in program order. It is the reference for `chain`, and it has no conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np

from ...cancellation import checkpoint
from ...ir import Var
from .accesses import Accesses, Ints, Tally
from .budget import Budget
from .model import Asked, Level, joined
from .stream import Batch, Span, StreamLoop, StreamNode, volume_of


def count_plainly(accesses: Accesses, budget: Budget, batch: int) -> Tally:
    """Counts by simulating every access; `batch` accesses are computed at once."""
    runner = _Runner(accesses, budget, batch)
    runner.run(accesses.stream.nodes, {})
    runner.tally.simulated = budget.spent
    return runner.tally


class _Runner:
    def __init__(self, accesses: Accesses, budget: Budget, batch: int) -> None:
        self.accesses, self.budget, self.batch = accesses, budget, batch
        self.scale = 1 + max((c.prefetch_lines for c in accesses.caches), default=0)
        self.levels = [
            Level(c, b >= 0 and accesses.caches[b].inclusion == "exclusive", self.scale)
            for c, b in zip(accesses.caches, accesses.behind, strict=True)
        ]
        self.first = np.array(accesses.first, np.int64)
        self.written = np.array([e.written for e in accesses.stream.events], np.bool_)
        self.tally = accesses.tally()

    def run(self, nodes: Sequence[StreamNode], fixed: dict[Var, int]) -> None:
        """Simulates all accesses of `nodes`, with the loops around them at `fixed`."""
        small: list[StreamNode] = []
        for node in (*nodes, None):
            size = 0 if node is None else volume_of(node)
            if node is not None and size <= self.batch:
                small.append(node)
                continue
            if small:
                self.serve(small, (), fixed)
                small = []
            if isinstance(node, StreamLoop):
                self.loop(node, fixed)

    def loop(self, node: StreamLoop, fixed: dict[Var, int]) -> None:
        """Simulates all iterations of a loop."""
        step = self.batch // max(1, node.volume)
        for i in range(0, node.loop.extent, max(1, step)):
            if step:
                self.serve(node.children, (Span(node.loop, i, min(step, node.loop.extent - i)),), fixed)
            else:
                self.run(node.children, {**fixed, node.loop.var: i})

    def serve(self, nodes: Sequence[StreamNode], spans: tuple[Span, ...], fixed: Mapping[Var, int]) -> None:
        """Sends a batch through all levels."""
        batch = self.accesses.stream.batch(nodes, spans, fixed)
        first = self.first[batch.event]
        self.budget.spend(len(batch.event))
        coming: list[list[Asked]] = [[] for _ in self.levels]
        nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
        for n in range(len(self.levels)):
            checkpoint()
            own = np.flatnonzero(first == n)
            if len(own):
                position, address = self.prefetched(n, own, batch.address[own])
                dirty = self.written[batch.event[position // self.scale]] & (position % self.scale == 0)
                coming[n].append(Asked(position, address, dirty, nothing))
            if not coming[n]:
                continue
            asked = joined(coming[n])
            missed = self.levels[n].ask(asked)
            positions = asked.position[missed.which]
            self.count(n, batch, asked.position, positions, int(missed.returned[2].sum()))
            self.wait(n, batch, positions[positions % self.scale == 0] // self.scale, spans, fixed)
            behind = self.accesses.behind[n]
            if behind >= 0 and (len(positions) or len(missed.returned[0])):
                clean = np.zeros(len(positions), np.bool_)
                coming[behind].append(Asked(positions, asked.address[missed.which], clean, missed.returned))

    def prefetched(self, level: int, own: Ints, address: Ints) -> tuple[Ints, Ints]:
        """Returns positions and addresses of accesses with those of their prefetches. Positions are multiples of `scale`, to leave room."""
        cache = self.accesses.caches[level]
        ahead = np.arange(1 + cache.prefetch_lines)
        lines = np.where(ahead, ahead + cache.prefetch_distance - 1, 0) * cache.line_bytes
        return ((own * self.scale)[:, None] + ahead).reshape(-1), (address[:, None] + lines).reshape(-1)

    def count(self, level: int, batch: Batch, asked: Ints, missed: Ints, returned: int) -> None:
        tally = self.tally
        tally.asked[level] += self.by_event(batch, asked[asked % self.scale == 0])
        tally.missed[level] += self.by_event(batch, missed[missed % self.scale == 0])
        tally.prefetched[level] += self.by_event(batch, missed[missed % self.scale != 0])
        tally.returned[level] += returned

    def by_event(self, batch: Batch, positions: Ints) -> Ints:
        """Returns the number of positions by event."""
        return np.bincount(batch.event[positions // self.scale], minlength=len(self.first))

    def wait(self, level: int, batch: Batch, missed: Ints, spans: tuple[Span, ...], fixed: Mapping[Var, int]) -> None:
        """Adds the cycles of misses to their task instances."""
        cost = self.accesses.cost[level]
        numbers = batch.event[missed]
        for number in cast("list[int]", np.unique(numbers).tolist()):
            which = self.accesses.task_of.get(number)
            if which is None:
                continue
            cycles, loops = self.tally.cycles[which], self.accesses.tasks[which]
            event = self.accesses.stream.events[number]
            rows = batch.row[missed[numbers == number]]
            inner = [loop for loop in event.loops if loop.var not in fixed]
            started = {s.loop.var: (s.start, s.count) for s in spans}
            shape = [started.get(loop.var, (0, loop.extent))[1] for loop in inner]
            places = np.unravel_index(rows, shape) if shape else ()
            values = {loop.var: p + started.get(loop.var, (0, 0))[0] for loop, p in zip(inner, places, strict=True)}
            index = tuple(values[o.var] if o.var in values else np.full(len(rows), fixed[o.var]) for o in loops)
            if index:
                np.add.at(cycles, index, cost)
            else:
                cycles += cost * len(rows)
