"""Maps of trees: to longer lines, with prefetches, to one class of lines, and to the misses of task instances."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, lcm
from typing import NamedTuple

import numpy as np

from ...machine.parts import Cache
from ..accesses import Ints
from .line_trees import Forest, Leaf, Offset, Placed, Rep, Seq, StreamNode, moved, rotated, swept, times


class Lines:
    """Conversion of a tree from bytes, or lines, to lines that are `ratio` times as long."""

    def __init__(self, forest: Forest, ratio: int) -> None:
        self.forest, self.ratio = forest, ratio
        self._done: dict[tuple[StreamNode, Offset], Placed] = {}

    def of(self, part: Placed) -> Placed:
        """Returns the tree of a part."""
        node, offset = part
        lines = [0] * len(offset)
        rest = list(offset)
        for c in range(len(offset)):
            if c < self.forest.buffers:
                lines[c], rest[c] = divmod(offset[c], self.ratio)
            else:
                lines[c], rest[c] = offset[c], 0
        made, within = self._phase(node, self.forest.clipped(node, tuple(rest)))
        return made, moved(within, self.forest.clipped(node, tuple(lines)))

    def _phase(self, node: StreamNode, phase: Offset) -> Placed:
        key = (node, phase)
        found = self._done.get(key)
        if found is None:
            self.forest.budget.look()
            found = self._done[key] = self._new(node, phase)
        return found

    def _new(self, node: StreamNode, phase: Offset) -> Placed:
        match node:
            case Seq():
                made = self.forest.seq([self.of((n, moved(phase, o))) for n, o in node.parts])
            case Rep():
                count, buffers = node.count, self.forest.buffers
                period = lcm(*(self.ratio // gcd(self.ratio, node.shift[c]) for c in node.buffers))
                parts = [self.of((node.body, moved(phase, times(t, node.shift)))) for t in range(min(count, period))]
                shift = tuple(s * period // (self.ratio if c < buffers else 1) for c, s in enumerate(node.shift))
                made = _repeated(self.forest, count, shift, list(parts))
            case _:
                made = (node, self.forest.zero)
        assert made is not None
        return made


def _repeated(forest: Forest, count: int, shift: Offset, period: Sequence[Placed | None]) -> Placed | None:
    """Returns `count` parts: those of the period, then the same translated, and so on."""
    whole, rest = divmod(count, len(period))
    end = times(whole, shift)
    tail = [None if p is None else (p[0], moved(p[1], end)) for p in period[:rest]]
    return forest.seq([forest.rep(whole, shift, forest.seq(period)), *tail])


class Prefetches:
    """Adds to each access the prefetches of a cache: events from `probe` on, one for each event of the program."""

    def __init__(self, forest: Forest, cache: Cache, probe: int) -> None:
        self.forest, self.cache, self.probe = forest, cache, probe
        self._done: dict[StreamNode, Placed] = {}

    def of(self, part: Placed) -> Placed:
        """Returns the tree of a part in lines of the cache, with prefetches."""
        node, offset = part
        found = self._done.get(node)
        if found is None:
            found = self._done[node] = self._new(node)
        return found[0], moved(found[1], offset)

    def _new(self, node: StreamNode) -> Placed:
        match node:
            case Seq():
                made = self.forest.seq([self.of(part) for part in node.parts])
            case Rep():
                made = self.forest.rep(node.count, node.shift, self.of((node.body, self.forest.zero)))
            case Leaf():
                first, c = self.cache.prefetch_distance, node.coordinate
                leaf = self.forest.leaf(self.probe + node.event, c)
                lines = range(first, first + self.cache.prefetch_lines)
                ahead = [(leaf, tuple([line if n == c else 0 for n in range(self.forest.width)])) for line in lines]
                made = self.forest.seq([(node, self.forest.zero), *ahead])
            case _:
                raise TypeError(type(node))
        assert made is not None
        return made


class _Residues(NamedTuple):
    """How a node at 0 uses a coordinate, modulo the modulus of the classes.

    `reached` are the residues of its lines, as bits. Classes whose residues differ by a multiple of `step`, with none of the bits `edges`
    from one to the other, have the same accesses, translated by the difference.
    """

    coordinate: int
    reached: int
    step: int
    edges: int


class Classes:
    """The accesses of a tree to each class of lines: those whose number modulo `modulus` is in one of the equal ranges of `width` lines."""

    def __init__(self, forest: Forest, modulus: int, width: int) -> None:
        self.forest, self.modulus, self.width = forest, modulus, width
        self._done: dict[tuple[StreamNode, Offset], Placed | None] = {}
        self._tables: dict[tuple[StreamNode, int, int], Sequence[int]] = {}
        self._residues: dict[StreamNode, tuple[_Residues, ...]] = {}
        self._nowhere = [-1] * forest.buffers

    def of(self, part: Placed | None, number: int) -> Placed | None:
        """Returns the accesses to the class of that number; None if there are none."""
        if part is None or self.modulus == self.width:
            return part
        return self._within(part, (-number * self.width % self.modulus,) * self.forest.buffers)

    def _within(self, part: Placed, phase: Offset) -> Placed | None:
        """Returns the accesses of a part, translated by `phase`, to class 0; coordinates whose phase is -1 reach no such line."""
        node, offset = part
        modulus, narrow, found, base = self.modulus, self.width == 1, self._nowhere, offset
        for c, reached, step, edges in self._residues.get(node) or self._residues_of(node):
            if phase[c] == -1:
                continue
            at = (offset[c] + phase[c]) % modulus
            place = -at % modulus
            if not (reached >> place & 1 if narrow else self._meets(reached, at)):
                continue
            if found is self._nowhere:
                found = list(found)
            edge = (edges & ((2 << place) - 1)).bit_length() - 1
            away = (place - edge) // step * step
            if away:
                at = (at + away) % modulus
                base = (*base[:c], base[c] + away, *base[c + 1 :])
            found[c] = at
        if found is self._nowhere:
            return None
        if isinstance(node, Leaf):
            return part
        key = node, tuple(found)
        if key not in self._done:
            self.forest.budget.look()
            self._done[key] = self._new(*key)
        made = self._done[key]
        return None if made is None else (made[0], moved(made[1], base))

    def _meets(self, bits: int, at: int) -> bool:
        """Returns whether residues, increased by `at`, are in class 0."""
        if self.width == 1:
            return bool(bits >> (-at % self.modulus) & 1)
        return any(bits >> ((n - at) % self.modulus) & 1 for n in range(self.width))

    def _residues_of(self, node: StreamNode) -> tuple[_Residues, ...]:
        """Returns the residues of all coordinates that a node uses. In a class of several lines, no classes are compared."""
        made: list[_Residues] = []
        for c in node.buffers:
            reached = self.forest.reach(node, c, self.modulus)
            step, edges = self._granule(node, c) if self.width == 1 else (self.modulus, 1)
            made.append(_Residues(c, reached, step, edges))
        found = self._residues[node] = tuple(made)
        return found

    def _granule(self, node: StreamNode, c: int) -> tuple[int, int]:
        """Returns `step` and `edges` of a coordinate. If a loop accesses this coordinate alone, each iteration the lines behind those of
        the one before, then classes meet it in the same number of iterations, except where it starts and ends.
        """
        modulus = self.modulus
        match node:
            case Seq():
                inner = [(self._use(n, c), o[c] % modulus) for n, o in node.parts if n.live[c]]
                edges = 1
                for use, at in inner:
                    edges |= rotated(use.edges, at, modulus)
                return lcm(*(use.step for use, _ in inner)), edges
            case Rep():
                use, shift = self._use(node.body, c), node.shift[c]
                alone = node.buffers == (c,) and all(n == c or not s for n, s in enumerate(node.shift))
                if alone and shift > 0 and modulus % shift == 0 and not use.reached >> shift:
                    return shift, 1 | 1 << node.count * shift % modulus
                return use.step, swept(use.edges, shift, node.count, modulus) | 1
            case _:
                return 1, 3 if modulus > 1 else 1

    def _use(self, node: StreamNode, c: int) -> _Residues:
        return next(use for use in self._residues.get(node) or self._residues_of(node) if use.coordinate == c)

    def _new(self, node: StreamNode, phase: Offset) -> Placed | None:
        if isinstance(node, Seq):
            return self.forest.seq([self._within(part, phase) for part in node.parts])
        assert isinstance(node, Rep)
        return self._loop(node, phase)

    def _loop(self, node: Rep, phase: Offset) -> Placed | None:
        """Between the iterations in which a coordinate that moves reaches class 0, all do the same."""
        forest, shift, modulus, total = self.forest, node.shift, self.modulus, node.count
        moving = [c for c in node.buffers if phase[c] != -1 and shift[c] % modulus]
        period = lcm(*(modulus // gcd(modulus, shift[c]) for c in moving))
        still = None
        if any(phase[c] != -1 and c not in moving for c in node.buffers):
            still = self._within(
                (node.body, forest.zero), tuple([-1 if c in moving else p for c, p in enumerate(phase)])
            )
        if not moving:
            return forest.rep(total, shift, still)
        meetings = self._meetings(node, moving[0], phase[moving[0]], min(period, total))
        if len(moving) > 1:
            meetings = sorted({t for c in moving for t in self._meetings(node, c, phase[c], min(period, total))})
        if not meetings:
            return forest.rep(total, shift, still)
        start = meetings[0]
        before = forest.rep(start, shift, still)
        gaps = [after - t - 1 for t, after in zip(meetings, [*meetings[1:], start + period], strict=True)]
        met = [self._within((node.body, times(t, shift)), phase) for t in meetings]
        whole, rest = divmod(total - start, period)
        parts: list[Placed | None] = []
        for t, part, gap in zip(meetings, met, gaps, strict=True):
            parts += [part, _at(forest.rep(gap, shift, still), times(t + 1, shift))]
        again = forest.rep(whole, times(period, shift), forest.seq(parts)) if whole else None
        tail: list[Placed | None] = []
        for t, part, gap in zip(meetings, met, gaps, strict=True):
            left = rest - (t - start)
            if left > 0:
                tail += [part, _at(forest.rep(min(gap, left - 1), shift, still), times(t + 1, shift))]
        end = times(whole * period, shift)
        return forest.seq([before, again, *(_at(part, end) for part in tail)])

    def _meetings(self, node: Rep, c: int, phase: int, count: int) -> Sequence[int]:
        """Returns those of the first `count` iterations in which a coordinate reaches class 0."""
        modulus, shift = self.modulus, node.shift[c]
        bits = self.forest.reach(node.body, c, modulus)
        divisor = gcd(modulus, shift)
        cycle = modulus // divisor
        if bits == 1 and self.width == 1:
            if phase % divisor:
                return ()
            return range(-phase // divisor * pow(shift // divisor, -1, cycle) % cycle, count, cycle)
        found = self._tables.get((node, c, phase))
        if found is None:
            near = range(min(node.count, cycle))
            found = self._tables[node, c, phase] = [t for t in near if self._meets(bits, phase + t * shift)]
        return [t + more for more in range(0, count, cycle) for t in found if t + more < count]


def _at(part: Placed | None, by: Offset) -> Placed | None:
    return None if part is None else (part[0], moved(part[1], by))


class TaskInstances:
    """The number of misses of each instance of a task, from the first of a node on."""

    def __init__(self, coordinate: int) -> None:
        self.coordinate = coordinate
        self._done: dict[StreamNode, Ints] = {}

    def of(self, node: StreamNode) -> Ints:
        """Returns the misses of a node."""
        found = self._done.get(node)
        if found is None:
            found = self._done[node] = self._new(node)
        return found

    def _new(self, node: StreamNode) -> Ints:
        c = self.coordinate
        match node:
            case Seq():
                parts = [(self.of(n), o[c]) for n, o in node.parts if n.live[c]]
            case Rep():
                inner, step = self.of(node.body), node.shift[c]
                if not step:
                    return inner * node.count
                if step >= len(inner):
                    padded = np.zeros((node.count, step), np.int64)
                    padded[:, : len(inner)] = inner
                    return padded.reshape(-1)[: (node.count - 1) * step + len(inner)]
                parts = [(inner, t * step) for t in range(node.count)]
            case Leaf():
                return np.ones(1, np.int64)
            case _:
                raise TypeError(type(node))
        made = np.zeros(max(start + len(inner) for inner, start in parts), np.int64)
        for inner, start in parts:
            made[start : start + len(inner)] += inner
        return made
