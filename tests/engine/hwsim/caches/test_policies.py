"""Tree pseudo-LRU, FIFO, exclusive and inclusive levels against textbook caches: ways, bits, and lines that move."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from support.programs.sources import HEADER
from support.simulator.cachegrind import Geometry, cached_machine
from support.simulator.nests import random_machine, random_nest

from tilewright.engine.hwsim import cache_counts
from tilewright.engine.hwsim.caches.accesses import accesses_of, counts_of
from tilewright.engine.hwsim.caches.budget import CacheBudget
from tilewright.engine.hwsim.caches.hierarchy import Hierarchy
from tilewright.engine.hwsim.caches.model import Asked, CacheLevel
from tilewright.engine.hwsim.caches.plain import Runner
from tilewright.engine.hwsim.caches.policies import Fifo, Plru
from tilewright.engine.hwsim.caches.run import cached_nest
from tilewright.engine.hwsim.machine.parts import Cache
from tilewright.engine.script import parse

LINE = 16


class Tree:
    """A set whose node n has the children 2n and 2n + 1; the bit of a node says which half is replaced next."""

    def __init__(self, ways: int) -> None:
        self.ways = ways
        self.lines: list[int | None] = [None] * ways
        self.bits = [0] * ways

    def access(self, line: int) -> tuple[bool, int | None]:
        """(hit, evicted line)."""
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
def test_law_listed_ways_behave_as_a_tree_of_bits(seed: int, ways: int):
    rng = random.Random(seed)
    policy, tree = Plru(ways), Tree(ways)
    held = policy.empty
    for _ in range(200):
        line = rng.randrange(2 * ways + 1)
        hit, held, victim = policy.access(held, 0, line, False)
        assert (hit, None if victim is None else victim[1]) == tree.access(line)


def test_plru_with_four_ways_evicts_another_line_than_lru():
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
def test_law_an_exclusive_level_holds_what_the_inner_level_evicts(seed: int, first: int, last: int):
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


def levels(first: int, last: int) -> tuple[CacheLevel, CacheLevel]:
    machine = cached_machine(Geometry(LINE * first, first, LINE), Geometry(LINE * last, last, LINE))
    caches: tuple[Cache, ...] = machine.replace("caches.last.inclusion", "exclusive").caches
    return CacheLevel(caches[0], clean=True), CacheLevel(caches[1])


def test_fifo_evicts_the_first_line_despite_a_later_access():
    policy, held = Fifo(2), Fifo(2).empty
    for line in (0, 1, 0):
        _, held, _ = policy.access(held, 0, line, line == 1)
    hit, held, victim = policy.access(held, 0, 2, False)
    assert not hit and victim == (0, 0, False)
    hit, held, _ = policy.access(held, 0, 2, True)
    assert hit and [(line, bool(dirty)) for _, line, dirty in held] == [(1, True), (2, True)]


class Inclusive:
    """Levels of one set each, LRU: a line that a level evicts leaves the levels before it."""

    def __init__(self, ways: list[int]) -> None:
        self.ways = ways
        self.levels: list[dict[int, bool]] = [{} for _ in ways]
        self.misses, self.written_back = [0] * len(ways), [0] * len(ways)

    def access(self, level: int, line: int, written: bool) -> None:
        if level == len(self.ways):
            return
        held = self.levels[level]
        dirty = held.pop(line, None)
        if dirty is None:
            self.misses[level] += 1
            if len(held) == self.ways[level]:
                self.evict(level, next(iter(held)))
        held[line] = bool(dirty) or written
        if dirty is None:
            self.access(level + 1, line, False)

    def evict(self, level: int, line: int) -> None:
        dirty = self.levels[level].pop(line)
        for inner in self.levels[:level]:
            dirty = inner.pop(line, False) or dirty
        self.written_back[level] += dirty
        if dirty and level + 1 < len(self.ways):
            self.levels[level + 1][line] = True


@given(seed=st.integers(0, 1 << 20), ways=st.lists(st.integers(1, 5), min_size=2, max_size=3))
def test_law_a_line_evicted_by_an_inclusive_level_leaves_inner_levels(seed: int, ways: list[int]):
    rng = random.Random(seed)
    machine = cached_machine(*(Geometry(LINE * n, n, LINE) for n in ways))
    for level in machine.caches[1:]:
        machine = machine.replace(f"caches.{level.name}.inclusion", "inclusive")
    naive, levels = Inclusive(ways), Hierarchy(machine.caches, [*range(1, len(ways)), -1], 1)
    accesses = [(rng.randrange(max(ways) + 2), rng.random() < 0.3) for _ in range(150)]
    served = levels.serve((0, n, line * LINE, written) for n, (line, written) in enumerate(accesses))
    for line, written in accesses:
        naive.access(0, line, written)
    assert [len(s.missed) for s in served] == naive.misses
    assert [s.returned for s in served] == naive.written_back


def test_inclusive_level_evicts_lines_of_a_level_that_would_fit():
    def missed(inclusion: str) -> int:
        machine = cached_machine(Geometry(128, 4, 32), Geometry(128, 4, 32)).replace("caches.last.inclusion", inclusion)
        found = cache_counts(parse(RELOADED).program, machine)
        assert found.one_by_one == ("inclusive cache last" if inclusion == "inclusive" else "")
        return found.total("first").read_misses

    assert missed("inclusive") > missed("non-inclusive")


@given(seed=st.integers(0, 1 << 20))
def test_law_levels_simulated_together_count_as_levels_in_sequence(seed: int):
    func, machine = parse(random_nest(seed, 300)).program, random_machine(seed)
    accesses = accesses_of(cached_nest(func), machine, None, {}, ())
    apart, together = (Runner(accesses, CacheBudget(1 << 30), 100) for _ in range(2))
    together.together = Hierarchy(machine.caches, accesses.behind, together.scale)
    for runner in (apart, together):
        runner.run(accesses.stream.nodes, {})
    assert counts_of(accesses, together.tally) == counts_of(accesses, apart.tally)


RELOADED = (
    HEADER
    + """
@T.prim_func
def reloaded(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[0] + A[vi]
"""
)
