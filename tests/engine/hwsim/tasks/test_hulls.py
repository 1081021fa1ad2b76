"""Conditions that cut a box of iterations: the simulator counts the executed ones, or reports an upper bound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.simulator.every_law.compare import compare
from support.simulator.hulls import CHAIN, fused_chain

from tilewright.engine.hwsim import Report, load_machine, simulate
from tilewright.engine.hwsim.tasks import geometry, grid, variants
from tilewright.engine.hwsim.tasks.large import listed
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

FEW = 100_000
MACHINES = ["dual-bank-npu", "matrix-vector-npu", "gpu-sm"]


@contextmanager
def with_limit(points: int) -> Iterator[None]:
    """At most this many points at once: larger domains have no mask."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (grid, geometry, listed, variants):
            patch.setattr(module, "MAX_POINTS", points)
        yield


def on(func: PrimFunc, machine: str) -> Report:
    return simulate(func, load_machine(machine))


@given(st.integers(0, 2**32), st.sampled_from(MACHINES))
def test_law_tiles_of_fused_loops_are_those_of_an_oracle(seed: int, machine: str) -> None:
    assert not compare(fused_chain(Random(seed)), load_machine(machine), FEW).difference


@given(st.integers(0, 2**32), st.sampled_from(MACHINES), st.sampled_from([16, 64, 256, 2048]))
def test_law_domains_do_not_depend_on_masks(seed: int, machine: str, limit: int) -> None:
    func = fused_chain(Random(seed))
    exact = on(func, machine)
    with with_limit(limit):
        found = on(func, machine)
    if found.unknown is not None:
        assert found.unknown.limit == "upper" and found.roofline.operations >= exact.roofline.operations
        return
    assert found.roofline.operations == exact.roofline.operations
    if machine == "dual-bank-npu":  # a scalar engine: its cycles do not depend on the tasks
        assert found.cycles == exact.cycles


def chain(rows: int, columns: int, factor: int) -> PrimFunc:
    """The first stage in fused tiles of the last one, itself in fused tiles."""
    sch = Schedule(parse(CHAIN.format(rows=rows, columns=columns)).program)
    outer, _ = sch.split(sch.fuse(*sch.get_loops("last")), [None, factor])
    sch.compute_at("first", outer)
    sch.split(sch.fuse(*sch.get_loops("first")[-2:]), [None, factor])
    return sch.func


def executed(rows: int, columns: int, factor: int) -> int:
    """The iterations of both stages: a tile needs the rows of its elements."""
    count = 0
    for first in range(0, rows * columns, factor):
        last = min(first + factor, rows * columns) - 1
        count += (last // columns - first // columns + 1) * columns + last - first + 1
    return count


@pytest.mark.parametrize(("rows", "columns", "factor"), [(64, 250, 32), (30, 70, 16), (128, 1000, 96)])
def test_scalar_engine_executes_what_the_conditions_leave(rows: int, columns: int, factor: int) -> None:
    report = on(chain(rows, columns, factor), "dual-bank-npu")
    assert report.unknown is None
    assert report.roofline.operations == executed(rows, columns, factor)


UNEVEN = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({m}, {k}), "float32"), B: T.Buffer(({k}, {n}), "float32"), C: T.Buffer(({m}, {n}), "float32")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def uneven(m: int, n: int, k: int, tile: int) -> PrimFunc:
    """A product in tiles that divide neither rows nor columns."""
    sch = Schedule(parse(UNEVEN.format(m=m, n=n, k=k)).program)
    i, j, depth = sch.get_loops("C")
    (io, ii), (jo, ji) = sch.split(i, [None, tile]), sch.split(j, [None, tile])
    sch.reorder(io, jo, depth, ii, ji)
    return sch.func


@pytest.mark.parametrize("machine", MACHINES)
def test_large_uneven_split_costs_what_the_whole_loop_does(machine: str) -> None:
    split, whole = uneven(1000, 900, 700, 48), parse(UNEVEN.format(m=1000, n=900, k=700)).program
    found, expected = on(split, machine), on(whole, machine)
    assert found.unknown is None
    assert (found.cycles, found.roofline.operations) == (expected.cycles, expected.roofline.operations)


def test_small_uneven_split_costs_the_same_without_a_mask() -> None:
    func = uneven(20, 18, 7, 8)
    exact = on(func, "dual-bank-npu")
    with with_limit(100):
        found = on(func, "dual-bank-npu")
    assert (found.cycles, found.accesses) == (exact.cycles, exact.accesses)


SCATTERED = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((8192, 4096), "float32")):
    for i, j in T.grid(8192, 4096):
        with T.sblock("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.where((i * 4099 + j * j * 31) % 8191 < 4000)
            A[vi, vj] = A[vi, vj] + T.float32(1)
"""


def test_uncountable_iterations_are_reported_as_an_upper_bound() -> None:
    report = on(parse(SCATTERED).program, "dual-bank-npu")
    assert [f.code for f in report.findings if f.code == "iterations-bounded"] == ["iterations-bounded"]
    assert report.unknown is not None and report.unknown.limit == "upper"
    assert "cycles" in report.unknown.figures and report.to_json()["unknown"]["limit"] == "upper"


LONG = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((9000000,), "int8")):
    for i in range(9000000):
        with T.sblock("A"):
            vi = T.axis.spatial(9000000, i)
            T.where({condition})
            A[vi] = A[vi] + T.int8(1)
"""


@pytest.mark.parametrize(
    ("condition", "count"),
    [("i < 8500001", 8500001), ("i >= 100 and i < 8500001", 8499901), ("i * 3 < 9000001", 3000001)],
)
def test_long_loop_executes_what_its_condition_leaves(condition: str, count: int) -> None:
    report = on(parse(LONG.format(condition=condition)).program, "dual-bank-npu")
    assert report.unknown is None and report.roofline.operations == count
