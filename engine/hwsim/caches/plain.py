"""The plain simulation of caches: every access, in program order. It is the reference for `chain`, and it has no conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import cast

import numpy as np

from ...cancellation import checkpoint
from ...ir import Var
from ..machine.parts import MOST_STRIDE
from .accesses import Accesses, Ints, Tally
from .budget import CacheBudget
from .hierarchy import SLOWDOWN, Hierarchy
from .model import Asked, CacheLevel, joined
from .stream import Batch, LoopSpan, StreamLoop, StreamNode, volume_of


def count_plainly(accesses: Accesses, budget: CacheBudget, batch: int) -> Tally:
    """Counts by simulating every access; `batch` accesses are computed at once."""
    runner = Runner(accesses, budget, batch)
    runner.run(accesses.stream.nodes, {})
    runner.tally.simulated = budget.spent
    return runner.tally


class Runner:
    """A simulation with its levels and its tally."""

    def __init__(self, accesses: Accesses, budget: CacheBudget, batch: int) -> None:
        self.accesses, self.budget, self.batch = accesses, budget, batch
        self.scale = 1 + max((c.prefetch_lines for c in accesses.caches), default=0)
        self.levels = [
            CacheLevel(c, b >= 0 and accesses.caches[b].inclusion == "exclusive", self.scale)
            for c, b in zip(accesses.caches, accesses.behind, strict=True)
        ]
        self.together = Hierarchy(accesses.caches, accesses.behind, self.scale) if accesses.inclusive else None
        self.strides: dict[int, tuple[int, int]] = {}
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
                self.serve(node.children, (LoopSpan(node.loop, i, min(step, node.loop.extent - i)),), fixed)
            else:
                self.run(node.children, {**fixed, node.loop.var: i})

    def serve(self, nodes: Sequence[StreamNode], spans: tuple[LoopSpan, ...], fixed: Mapping[Var, int]) -> None:
        """Sends a batch through all levels."""
        batch = self.accesses.stream.batch(nodes, spans, fixed)
        first = self.first[batch.event]
        if self.together is not None:
            self.serve_together(self.together, batch, first, spans, fixed)
            return
        self.budget.spend(len(batch.event))
        coming: list[list[Asked]] = [[] for _ in self.levels]
        nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
        for n in range(len(self.levels)):
            checkpoint()
            own = np.flatnonzero(first == n)
            if len(own):
                position, address = self.prefetched(n, own, batch)
                dirty = self.written[batch.event[position // self.scale]] & (position % self.scale == 0)
                coming[n].append(Asked(position, address, dirty, nothing))
            if not coming[n]:
                continue
            asked = joined(coming[n])
            missed = self.levels[n].ask(asked)
            positions = asked.position[missed.which]
            self.count(n, batch, asked.position, positions, int(missed.returned[2].sum()), spans, fixed)
            behind = self.accesses.behind[n]
            if behind >= 0 and (len(positions) or len(missed.returned[0])):
                clean = np.zeros(len(positions), np.bool_)
                coming[behind].append(Asked(positions, asked.address[missed.which], clean, missed.returned))

    def serve_together(
        self, levels: Hierarchy, batch: Batch, first: Ints, spans: tuple[LoopSpan, ...], fixed: Mapping[Var, int]
    ) -> None:
        """Sends a batch through levels of which one is inclusive."""
        self.budget.spend(len(batch.event), SLOWDOWN)
        requests: list[tuple[int, int, int, bool]] = []
        for n in range(len(self.levels)):
            own = np.flatnonzero(first == n)
            position, address = self.prefetched(n, own, batch)
            dirty = self.written[batch.event[position // self.scale]] & (position % self.scale == 0)
            columns = position.tolist(), address.tolist(), dirty.tolist()
            requests += [(n, *row) for row in zip(*columns, strict=True)]
        for n, served in enumerate(levels.serve(sorted(requests, key=itemgetter(1)))):
            asked, missed = np.array(served.asked, np.int64), np.array(served.missed, np.int64)
            self.count(n, batch, asked, missed, served.returned, spans, fixed)

    def prefetched(self, level: int, own: Ints, batch: Batch) -> tuple[Ints, Ints]:
        """Returns positions and addresses of accesses with those of their prefetches. Positions are multiples of `scale`, to leave room."""
        cache, address = self.accesses.caches[level], batch.address[own]
        ahead = np.arange(1 + cache.prefetch_lines)
        steps = np.where(ahead, ahead + cache.prefetch_distance - 1, 0)
        size = (
            self.steps(batch.event[own].astype(np.int64), address)
            if cache.prefetches_strides
            else np.int64(cache.line_bytes)
        )
        made = (ahead == 0) | (size != 0).reshape(-1, 1)
        positions = (own * self.scale)[:, None] + ahead
        made = np.broadcast_to(made, positions.shape)
        return positions[made], (address[:, None] + steps * size.reshape(-1, 1))[made]

    def steps(self, events: Ints, address: Ints) -> Ints:
        """Returns the distance of each access from the one before of its event; 0 if the distance before differed, or if it is too long."""
        found = np.zeros(len(address), np.int64)
        for event in cast("list[int]", np.unique(events).tolist()):
            own = np.flatnonzero(events == event)
            last, stride = self.strides.get(event, (int(address[own[0]]), 0))
            step = np.diff(address[own], prepend=last)
            found[own] = np.where((step == np.concatenate(([stride], step[:-1]))) & (abs(step) <= MOST_STRIDE), step, 0)
            self.strides[event] = int(address[own[-1]]), int(step[-1])
        return found

    def count(
        self,
        level: int,
        batch: Batch,
        asked: Ints,
        missed: Ints,
        returned: int,
        spans: tuple[LoopSpan, ...],
        fixed: Mapping[Var, int],
    ) -> None:
        """Adds the requests and misses of a level, and the cycles of tasks that wait for them."""
        tally, own = self.tally, missed[missed % self.scale == 0]
        tally.asked[level] += self.by_event(batch, asked[asked % self.scale == 0])
        tally.missed[level] += self.by_event(batch, own)
        tally.prefetched[level] += self.by_event(batch, missed[missed % self.scale != 0])
        tally.returned[level] += returned
        self.wait(level, batch, own // self.scale, spans, fixed)

    def by_event(self, batch: Batch, positions: Ints) -> Ints:
        """Returns the number of positions by event."""
        return np.bincount(batch.event[positions // self.scale], minlength=len(self.first))

    def wait(
        self, level: int, batch: Batch, missed: Ints, spans: tuple[LoopSpan, ...], fixed: Mapping[Var, int]
    ) -> None:
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
