"""Warping: the misses of loops from the state of the cache, which recurs (Morelli and Reineke, "Warping Cache Simulation of Polyhedral
Programs", PLDI 2022).

The lines of a level fall into classes whose sets no other line uses, and each class is simulated on its own. A state is relative: lines are
counted from the place where each group of buffers is accessed. If a state recurs in a loop, all further iterations repeat the last ones,
translated; if a part of the program starts in a state that it started in before, it does what it did then. What misses is a tree again, and
the stream of the next level.
"""

from __future__ import annotations

from operator import sub
from typing import Generic

from ...machine.parts import Cache
from ..budget import LOOK, CacheBudget
from ..policies import Line, Lines, policy_of, translated
from .line_trees import CLEAN, DIRTY, Forest, Leaf, Offset, Placed, Rep, Seq, StreamNode, moved, times
from .requests import R, Requests
from .tree_maps import Classes

State = tuple[Lines, ...]
"""The lines of each set of a class."""


class Recurrence(Generic[R]):
    """Runs trees from a state, whose lines are counted from the place of an access. A part that starts in a state as before is not run
    again, and a loop is run until a state recurs. Places are kept modulo `modulus`.
    """

    def __init__(self, forest: Forest, budget: CacheBudget, requests: Requests[R], sets: int, modulus: int) -> None:
        self.forest, self.budget, self.requests = forest, budget, requests
        self.sets, self.modulus = sets, modulus
        self._done: dict[tuple[StreamNode, Offset, State], tuple[R, State]] = {}
        self._missing: dict[StreamNode, frozenset[int]] = {}
        self._orbits: dict[tuple[StreamNode, Offset, Offset, State], _Orbit[R]] = {}

    def access(self, leaf: Leaf, offset: Offset, state: State) -> tuple[R, State]:
        """Runs a leaf; returns its requests and the state after it."""
        raise NotImplementedError

    def run(self, node: StreamNode, offset: Offset, state: State) -> tuple[R, State]:
        """Runs a part; returns its requests to the next level and the state after it."""
        if isinstance(node, Leaf):
            return self.access(node, offset, state)
        self.budget.look(self.sets)
        base, phase = self._base(node, offset, state)
        own = translated(state, base, -1)
        key = (node, phase, own)
        found = self._done.get(key)
        if found is None:
            found = self._done[key] = (
                self._sequence(node, phase, own) if isinstance(node, Seq) else self._loop(node, phase, own)
            )
        out, after = found
        return self.requests.moved(out, base), translated(after, base, 1)

    def _base(self, node: StreamNode, offset: Offset, state: State) -> tuple[Offset, Offset]:
        """Splits an offset into a translation that preserves sets, and the rest. Lines of buffers that the node does not access are counted
        from the first of them.
        """
        base = list(offset)
        if len(node.buffers) < self.forest.buffers:
            missing = self._missing.get(node)
            if missing is None:
                missing = self._missing[node] = frozenset(range(self.forest.buffers)).difference(node.buffers)
            for c in missing:
                base[c] = 0
            for held in state:
                for c, line, _ in reversed(held):
                    if c in missing:
                        base[c] = line - line % self.modulus
        if self.modulus == 1:
            return tuple(base), self.forest.zero
        phase = [0] * len(offset)
        for c in node.buffers:
            phase[c] = offset[c] % self.modulus
            base[c] = offset[c] - phase[c]
        return tuple(base), tuple(phase)

    def _sequence(self, node: Seq, phase: Offset, state: State) -> tuple[R, State]:
        outs: list[R] = []
        for part, offset in node.parts:
            out, state = self.run(part, moved(offset, phase), state)
            outs.append(out)
        return self.requests.joined(outs), state

    def _loop(self, node: StreamNode, phase: Offset, state: State) -> tuple[R, State]:
        assert isinstance(node, Rep)
        key = (node.body, node.shift, phase, state)
        orbit = self._orbits.get(key)
        if orbit is None:
            orbit = self._orbits[key] = _Orbit(self, node, phase, state)
        return orbit.after(self, node.count)


class Warp(Recurrence[R]):
    """The classes of a level. In a class of one set, the place of a line does not matter; in a class of several, places are kept modulo
    the number of sets of the level. With `clean`, the next level has to know of clean lines that are evicted.
    Prefetches are numbered after the `events` of the program; those that the level itself makes, and drops if it has the line, after these.
    """

    def __init__(
        self,
        forest: Forest,
        cache: Cache,
        clean: bool,
        classes: Classes,
        events: int,
        budget: CacheBudget,
        requests: Requests[R],
    ) -> None:
        sets = cache.sets * classes.width // classes.modulus
        super().__init__(forest, budget, requests, sets, cache.sets if sets > 1 else 1)
        self.policy, self.classes, self.clean, self.events = policy_of(cache), classes, clean, events

    def misses(self, part: Placed | None) -> R:
        """Returns what a class, empty at first, requests from the next level."""
        if part is None:
            return self.requests.nothing
        return self.run(part[0], part[1], (self.policy.empty,) * self.sets)[0]

    def access(self, leaf: Leaf, offset: Offset, state: State) -> tuple[R, State]:
        self.budget.spend(1, LOOK)
        requests, coordinate, event = self.requests, leaf.coordinate, leaf.event
        line = offset[coordinate]
        number, width = line % self.modulus, self.classes.width
        place = number // self.classes.modulus * width + number % width
        old = state[place]
        if event < 0:
            taken = self.policy.put(old, coordinate, line, event == DIRTY)
            if taken is None:
                return requests.one(leaf, offset), state
            hit, (new, victim) = True, taken
        elif event >= 2 * self.events and self.policy.holds(old, coordinate, line):
            return requests.nothing, state
        else:
            hit, new, victim = self.policy.access(old, coordinate, line, leaf.dirty)
        after = state if new is old else (*state[:place], new, *state[place + 1 :])
        out = requests.nothing if victim is None else self._evicted(victim)
        if hit:
            return out, after
        event -= self.events if event >= 2 * self.events else 0
        return requests.joined((out, requests.one(self.forest.leaf(event, coordinate, leaf.instance), offset))), after

    def _evicted(self, victim: Line) -> R:
        """Returns the leaf of an evicted line, if the next level has to know it."""
        coordinate, line, dirty = victim
        if not (dirty or self.clean):
            return self.requests.nothing
        at = list(self.forest.zero)
        at[coordinate] = line
        return self.requests.one(self.forest.leaf(DIRTY if dirty else CLEAN, coordinate), tuple(at))


class _Orbit(Generic[R]):
    """The states before each iteration of a loop, and what it requests, until a state recurs. It does not refer to what runs it."""

    def __init__(self, warp: Recurrence[R], node: Rep, phase: Offset, state: State) -> None:
        self.body, self.shift, self.phase = node.body, node.shift, phase
        self.states = [state]
        self.outs: list[R] = []
        self.start: int | None = None
        self._seen: dict[tuple[Offset, State], int] = {}
        self._is_repeated(warp, 0)

    def _is_repeated(self, warp: Recurrence[R], t: int) -> bool:
        """Notes the state before iteration t; returns whether it recurs."""
        step = times(t, self.shift)
        if warp.modulus > 1:
            at = moved(self.phase, step)
            residue = tuple([a % warp.modulus if c in self.body.buffers else 0 for c, a in enumerate(at)])
            step = tuple(map(sub, at, residue))
        else:
            residue = warp.forest.zero
        key = residue, translated(self.states[t], step, -1)
        self.start = self._seen.setdefault(key, t)
        return self.start < t

    def after(self, warp: Recurrence[R], count: int) -> tuple[R, State]:
        """Returns the requests of the first `count` iterations and the state after them."""
        while len(self.outs) < count and not self._ended:
            t = len(self.outs)
            out, state = warp.run(self.body, moved(self.phase, times(t, self.shift)), self.states[t])
            self.outs.append(out)
            self.states.append(state)
            self._ended = self._is_repeated(warp, t + 1)
        requests, start = warp.requests, self.start
        if count <= len(self.outs) or start is None:
            return requests.joined(self.outs[:count]), self.states[count]
        period = len(self.outs) - start
        shift = times(period, self.shift)
        whole, rest = divmod(count - start, period)
        end = times(whole, shift)
        cycle = requests.repeated(whole, shift, requests.joined(self.outs[start:]))
        tail = [requests.moved(o, end) for o in self.outs[start : start + rest]]
        state = translated(self.states[start + rest], end, 1)
        return requests.joined([*self.outs[:start], cycle, *tail]), state

    _ended = False
