"""Warping against the plain simulation, access by access: equal counts by level, block and buffer, write-backs and cycles of tasks."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import few, samples
from support.programs.sources import HEADER, matmul
from support.simulator.cachegrind import Geometry, cached_machine
from support.simulator.nests import random_machine, random_nest

from tilewright.engine.hwsim import CacheCounts, CachedTask, Machine, MachineError, cache_counts, load_machine
from tilewright.engine.hwsim.caches.accesses import accesses_of, counts_of
from tilewright.engine.hwsim.caches.budget import CacheBudget
from tilewright.engine.hwsim.caches.run import cached_nest
from tilewright.engine.hwsim.caches.warping.chain import chain_of, count_by_warping
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def warped(func: PrimFunc, machine: Machine, tasks: tuple[CachedTask, ...] = ()) -> CacheCounts:
    """The counts by warping alone, at any cost."""
    accesses = accesses_of(cached_nest(func), machine, None, {}, tasks)
    chain = chain_of(accesses)
    assert chain is not None
    return counts_of(accesses, count_by_warping(accesses, chain, CacheBudget(1 << 40)))


def same(a: CacheCounts, b: CacheCounts) -> bool:
    return (a.rows, a.written_back, a.cycles, a.accesses) == (b.rows, b.written_back, b.cycles, b.accesses)


@few(4)
@given(seed=st.integers(0, 1 << 20))
def test_law_warping_counts_as_the_plain_simulation(seed: int):
    func = parse(random_nest(seed, 1500)).program
    machine, depth = random_machine(seed), random.Random(seed).randint(0, 1)
    tasks = (CachedTask((0,), depth),)
    assert same(warped(func, machine, tasks), cache_counts(func, machine, tasks=tasks, skip=False))


@pytest.mark.sample(1)
@pytest.mark.parametrize("size", samples([24, 40, 64], 24))
@pytest.mark.parametrize("tile", [0, 8])
def test_warping_a_matmul_simulates_few_accesses(size: int, tile: int):
    func = tiled(size, tile)
    machine = cached_machine(Geometry(1024, 2, 32), Geometry(4096, 4, 32))
    found, plain = warped(func, machine), cache_counts(func, machine, skip=False)
    assert same(found, plain) and found.simulated < plain.simulated / 2


def tiled(size: int, tile: int) -> PrimFunc:
    sch = Schedule(parse(matmul(size, size, size)).program)
    if tile:
        i, j, k = sch.get_loops("C")
        (io, ii), (jo, ji), (ko, ki) = (sch.split(loop, [None, tile]) for loop in (i, j, k))
        sch.reorder(io, jo, ko, ii, ji, ki)
    return sch.func


@pytest.mark.parametrize("tile", samples([0, 32], 0))
def test_warping_a_large_matmul_on_a_real_core(tile: int):
    found = cache_counts(tiled(1024, tile), load_machine("cpu-core"), engine="core", limit=1 << 24)
    assert found.accesses == 4 * 1024**3 + 1024**2 and found.simulated < 20_000
    last = found.total("L3")
    # All three matrices fit: each line is loaded once.
    assert last.read_misses + last.write_misses == 3 * 1024**2 * 4 // 64 and found.written_back["L3"] == 0


def test_warping_above_the_limit_is_refused():
    machine = cached_machine(Geometry(1024, 2, 32), Geometry(4096, 4, 32))
    with pytest.raises(MachineError) as caught:
        cache_counts(parse(matmul(64, 64, 64)).program, machine, limit=100, batch=1000)
    assert caught.value.code == "too-many-accesses" and "100" in caught.value.refusal.message
    assert cache_counts(parse(matmul(8, 8, 8)).program, machine).simulated == 4 * 8**3 + 64


def test_rows_of_a_triangle_are_simulated_plainly():
    machine = cached_machine(Geometry(64, 2, 16), Geometry(128, 2, 16))
    found = cache_counts(parse(HEADER + TRIANGLE).program, machine, batch=100)
    assert found.simulated == found.accesses == 2 * sum(range(1, 41))


TRIANGLE = """
@T.prim_func
def rows(A: T.Buffer((40, 40), "float32"), B: T.Buffer((40, 40), "float32")):
    for i, j in T.grid(40, 40):
        with T.block("B"):
            T.where(j <= i)
            vi, vj = T.axis.remap("SS", [i, j])
            B[vj, vi] = A[vi, vj]
"""
