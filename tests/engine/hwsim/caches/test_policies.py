"""Tree pseudo-LRU and exclusive levels against caches as a textbook has them: ways, bits, and lines that move."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.simulator.cachegrind import Geometry, cached_machine

from tilewright.engine.hwsim.caches.model import Asked, Level
from tilewright.engine.hwsim.caches.policies import Plru
from tilewright.engine.hwsim.machine.parts import Cache

LINE = 16


class Tree:
    """A set whose node n has the children 2n and 2n + 1; the bit of a node says which half is replaced next."""

    def __init__(self, ways: int) -> None:
        self.ways = ways
        self.lines: list[int | None] = [None] * ways
        self.bits = [0] * ways

    def access(self, line: int) -> tuple[bool, int | None]:
        """Whether it was there, and what it evicted."""
        hit = line in self.lines
        way = self.lines.index(line) if hit else self.free()
        victim, self.lines[way] = (None if hit else self.lines[way]), line
        node = way + self.ways
        while node > 1:
            self.bits[node // 2] = 1 - node % 2
            node //= 2
        return hit, victim

    def free(self) -> int:
        """The way that the bits lead to, among the empty ones if there are any."""
        empty = {n for n, line in enumerate(self.lines) if line is None} or set(range(self.ways))
        node = 1
        while node < self.ways:
            child = 2 * node + self.bits[node]
            node = child if self.leaves(child) & empty else child ^ 1
        return node - self.ways

    def leaves(self, node: int) -> set[int]:
        if node >= self.ways:
            return {node - self.ways}
        return self.leaves(2 * node) | self.leaves(2 * node + 1)


@given(seed=st.integers(0, 1 << 20), ways=st.sampled_from([1, 2, 4, 8, 16]))
def test_law_listed_ways_do_what_a_tree_of_bits_does(seed: int, ways: int):
    rng = random.Random(seed)
    policy, tree = Plru(ways), Tree(ways)
    held = policy.empty
    for _ in range(200):
        line = rng.randrange(2 * ways + 1)
        hit, held, victim = policy.access(held, 0, line, False)
        assert (hit, None if victim is None else victim[1]) == tree.access(line)


def test_given_four_ways_when_one_is_accessed_again_then_plru_evicts_another_line_than_lru():
    policy = Plru(4)
    held = policy.empty
    for line in (0, 1, 2, 3, 0, 2):
        _, held, _ = policy.access(held, 0, line, False)
    _, held, _ = policy.access(held, 0, 1, False)
    _, _, victim = policy.access(held, 0, 9, False)
    assert victim is not None and victim[1] == 0, "3 was not accessed for longer, in the half of 1"


class Exclusive:
    """Two levels of one set, LRU: a line is in the last level only while the first does not hold it."""

    def __init__(self, first: int, last: int) -> None:
        self.ways = first, last
        self.first: dict[int, bool] = {}
        self.last: dict[int, bool] = {}
        self.misses, self.written_back = [0, 0], 0

    def access(self, line: int, written: bool) -> None:
        dirty = self.first.pop(line, None)
        if dirty is None:
            self.misses[0] += 1
            if len(self.first) == self.ways[0]:
                victim = next(iter(self.first))
                self.put(victim, self.first.pop(victim))
            dirty = self.last.pop(line, None)
            if dirty is None:
                self.misses[1] += 1
        self.first[line] = bool(dirty) or written

    def put(self, line: int, dirty: bool) -> None:
        if len(self.last) == self.ways[1]:
            self.written_back += self.last.pop(next(iter(self.last)))
        self.last[line] = dirty


@given(seed=st.integers(0, 1 << 20), first=st.integers(1, 4), last=st.integers(1, 4))
def test_law_an_exclusive_level_holds_what_the_level_before_evicts(seed: int, first: int, last: int):
    rng = random.Random(seed)
    front, back = levels(first, last)
    naive = Exclusive(first, last)
    accesses = [(rng.randrange(first + last + 2), rng.random() < 0.3) for _ in range(150)]
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_)
    address = np.array([line * LINE for line, _ in accesses], np.int64)
    dirty = np.array([written for _, written in accesses], np.bool_)
    missed = front.ask(Asked(np.arange(len(accesses)), address, dirty, nothing))
    clean = np.zeros(len(missed.which), np.bool_)
    through = back.ask(Asked(missed.which, address[missed.which], clean, missed.returned))
    for line, written in accesses:
        naive.access(line, written)
    assert [len(missed.which), len(through.which)] == naive.misses
    assert int(through.returned[2].sum()) == naive.written_back


def levels(first: int, last: int) -> tuple[Level, Level]:
    machine = cached_machine(Geometry(LINE * first, first, LINE), Geometry(LINE * last, last, LINE))
    caches: tuple[Cache, ...] = machine.replace("caches.last.inclusion", "exclusive").caches
    return Level(caches[0], clean=True), Level(caches[1])
