"""Simulation with given data: equal to that of the program with the numbers written into it."""

from __future__ import annotations

import pytest

from tilewright.engine.data import DataValue, with_data
from tilewright.engine.hwsim import MachineError, Report, load_machine, simulate
from tilewright.engine.ir import PrimFunc
from tilewright.engine.lower import with_sizes
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

SPMV = """\
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def rows(
    P: T.Buffer((65,), "int32"), J: T.Buffer((512,), "int32"), V: T.Buffer((512,), "float32"),
    X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")
):
    for i in range(64):
        with T.sblock("row"):
            vi = T.axis.spatial(64, i)
            T.reads(P[0:65], J[0:512], V[0:512], X[0:64])
            T.writes(Y[vi])
            for j in range({count}):
                with T.sblock("sum"):
                    vj = T.axis.reduce(512, j)
                    T.reads(P[0:65], J[0:512], V[0:512], X[0:64])
                    T.writes(Y[vi])
                    with T.init():
                        Y[vi] = T.float32(0)
                    Y[vi] = Y[vi] + V[{first} + vj] * X[J[{first} + vj]]
"""

DATA = SPMV.format(count="P[vi + 1] - P[vi]", first="P[vi]")

COPIED = (
    DATA.replace("for i in range(64)", "for i in range(64)")
    .replace("P[vi", "n[vi")
    .replace(
        '    for i in range(64):\n        with T.sblock("row")',
        '    n = T.sblock_alloc_buffer((65,), "int32")\n    for q in range(65):\n        with T.sblock("copy"):\n'
        '            vq = T.axis.spatial(65, q)\n            n[vq] = P[vq]\n    for i in range(64):\n        with T.sblock("row")',
    )
)


def func_of(text: str) -> PrimFunc:
    found = parse(text).program
    assert isinstance(found, PrimFunc)
    return found


def simulated(func: PrimFunc, machine: str, given: dict[str, DataValue] | None = None) -> Report:
    known = with_data(func, given or {})
    assert isinstance(known, PrimFunc)
    return simulate(known, load_machine(machine))


@pytest.mark.parametrize("machine", ["dual-bank-npu", "gpu-sm", "cpu-core"])
@pytest.mark.parametrize("given", [{"j": 4}, {"P": 4}, {"P": [4 * i for i in range(65)]}])
def test_an_even_distribution_equals_a_written_trip_count(machine: str, given: dict[str, DataValue]) -> None:
    assumed = simulated(func_of(DATA), machine, given)
    written = simulated(func_of(SPMV.format(count="4", first="(4 * vi)")), machine)
    reads = {buffer for a in assumed.accesses for buffer in [a.buffer]}
    assert "P" in reads, "the offsets are read, also where their values are known"
    busy = [{name: e.busy for name, e in r.engines.items() if e.busy} for r in (assumed, written)]
    assert busy[0].keys() == busy[1].keys()
    assert assumed.roofline.operations == written.roofline.operations
    assert assumed.cycles >= written.cycles


def test_the_work_follows_the_given_rows() -> None:
    lengths = [n % 7 for n in range(64)]
    offsets = [sum(lengths[:n]) for n in range(65)]
    even = simulated(func_of(DATA), "dual-bank-npu", {"j": 1})
    uneven = simulated(func_of(DATA), "dual-bank-npu", {"P": offsets})
    assert uneven.cycles * 64 == even.cycles * sum(lengths)
    assert uneven.assumed == ("the cycles assume data: P has the 65 given values",)


def test_a_fractional_mean_counts_its_iterations() -> None:
    whole, half = (simulated(func_of(DATA), "dual-bank-npu", {"j": mean}).cycles for mean in (5, 2.5))
    assert whole == 2 * half


def test_a_copy_of_the_offsets_is_known_too() -> None:
    assert simulated(func_of(COPIED), "dual-bank-npu", {"j": 4}).assumed
    with pytest.raises(MachineError) as caught:
        simulated(func_of(COPIED), "dual-bank-npu")
    assert caught.value.code == "unknown-trip-count"


def test_a_schedule_keeps_the_data_of_its_program() -> None:
    known = with_data(func_of(DATA), {"j": 4})
    assert isinstance(known, PrimFunc)
    sch = Schedule(known)
    (i,) = sch.get_loops("row")
    outer, _ = sch.split(i, factors=[None, 8])
    sch.parallel(outer)
    before, after = (simulate(f, load_machine("dual-bank-npu")) for f in (known, sch.func))
    assert before.cycles == after.cycles and after.assumed == before.assumed
    assert sch.check().status == "tested"


@pytest.mark.parametrize("given", [None, {"J": 3}, {"P": "sorted"}])
def test_without_data_the_error_names_the_parameter(given: dict[str, DataValue] | None) -> None:
    with pytest.raises(MachineError) as caught:
        simulated(func_of(DATA), "dual-bank-npu", given)
    assert caught.value.code == "unknown-trip-count"
    assert caught.value.refusal.found == "P" and caught.value.refusal.fix == ('data = {"P": 16}',)


def test_values_of_another_size_are_refused() -> None:
    func = func_of(DATA.replace('P: T.Buffer((65,), "int32")', "p: T.handle").replace(
        "    for i in range(64):\n        with T.sblock(\"row\")",
        "    n = T.int32()\n    P = T.match_buffer(p, (n,), \"int32\")\n    for i in range(64):\n        with T.sblock(\"row\")",
    ))  # fmt: skip
    known = with_data(func, {"P": [1, 2, 3]})
    assert isinstance(known, PrimFunc)
    with pytest.raises(MachineError) as caught:
        simulate(with_sizes(known, {"n": 65}).func, load_machine("dual-bank-npu"))
    assert caught.value.code == "bad-data"
