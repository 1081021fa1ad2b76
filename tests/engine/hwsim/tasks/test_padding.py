"""Zero padding: part of a copy where the DMA pads, else work of a vector engine, else of the scalar engine, with a lint."""

from __future__ import annotations

from random import Random

import pytest
from support.profile import samples
from support.simulator.exactness import same_figures
from support.simulator.machines import plain, roomy

from tilewright.engine.hwsim import Machine, Report, load_machine, simulate
from tilewright.engine.lint import lint
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

CONV = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def conv(X: T.Buffer((32, 32, 16), "int8"), W: T.Buffer((3, 3, 16, 16), "int8"), Y: T.Buffer((32, 32, 16), "int32")):
    with T.sblock("root"):
        P = T.sblock_alloc_buffer((34, 34, 16), "int8")
        for i, j, c in T.grid(34, 34, 16):
            with T.sblock("pad"):
                vi, vj, vc = T.axis.remap("SSS", [i, j, c])
                P[vi, vj, vc] = {value}
        for i, j, k, ry, rx, c in T.grid(32, 32, 16, 3, 3, 16):
            with T.sblock("conv"):
                vi, vj, vk, vy, vx, vc = T.axis.remap("SSSRRR", [i, j, k, ry, rx, c])
                with T.init():
                    Y[vi, vj, vk] = 0
                Y[vi, vj, vk] = Y[vi, vj, vk] + T.Cast("int32", P[vi + vy, vj + vx, vc]) * T.Cast("int32", W[vy, vx, vc, vk])
"""

INSIDE = "1 <= vi and vi < 33 and 1 <= vj and vj < 33"
PADDED = f"T.if_then_else({INSIDE}, X[vi - 1, vj - 1, vc], T.int8(0))"
FORMS = (
    PADDED,
    f"T.Select({INSIDE}, X[vi - 1, vj - 1, vc], T.int8(0))",
    "T.if_then_else(vi < 1 or 33 <= vi or vj < 1 or 33 <= vj, T.int8(0), X[vi - 1, vj - 1, vc])",
)

COPY = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def copy(X: T.Buffer(({n}, {n}), "float32"), Y: T.Buffer(({m}, {m}), "float32")):
    with T.sblock("root"):
        P = T.sblock_alloc_buffer(({m}, {m}), scope="local")
        for i, j in T.grid({m}, {m}):
            with T.sblock("pad"):
                vi, vj = T.axis.remap("SS", [i, j])
                P[vi, vj] = T.if_then_else(
                    {p} <= vi and vi < {n} + {p} and {p} <= vj and vj < {n} + {p},
                    X[vi - {p}, vj - {p}], T.float32(0))
        for i, j in T.grid({m}, {m}):
            with T.sblock("use"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = P[vi, vj]
"""


def staged(value: str = PADDED) -> Schedule:
    sch = Schedule(parse(CONV.format(value=value)).program)
    for operand in (0, 1):
        sch.cache_read("conv", operand, "local.scratchpad")
    sch.cache_write("conv", 0, "local.accumulator")
    return sch


def padding(n: int, p: int, tile: int | None = None) -> Schedule:
    """A padded copy into a scratchpad and out of it, in square tiles."""
    sch = Schedule(parse(COPY.format(n=n, m=n + 2 * p, p=p)).program)
    if tile is not None:
        outer, inner = zip(*(sch.split(loop, factors=[None, tile]) for loop in sch.get_loops("use")), strict=True)
        sch.reorder(*outer, *inner)
        sch.compute_at("pad", outer[1])
    return sch


def engine_of(report: Report, block: str) -> str:
    return next(k.engine for k in report.tasks if k.block == block)


def read_bytes(report: Report) -> int:
    return sum(t.bytes for t in report.traffic if t.buffer == "X")


@pytest.mark.parametrize("value", FORMS)
def test_dma_with_zero_padding_copies_the_padding(value: str) -> None:
    sch = staged(value)
    sch.compute_inline("pad")
    report = simulate(sch.func, load_machine("gemmini"))
    assert engine_of(report, "P_local.scratchpad") == "mvin"
    assert read_bytes(report) == 32 * 32 * 16
    (cost,) = (
        v.cost for v in report.segments.program.variants if v.cost.touched[-1].buffer.name == "P_local.scratchpad"
    )
    assert [t.size_bytes for t in cost.touched] == [32 * 32 * 16, 34 * 34 * 16]
    assert cost.descriptor is not None and cost.descriptor.shape == (34, 34 * 16)


@pytest.mark.parametrize(
    "value", ["T.if_then_else(X[0, 0, vc] < 3, X[0, 0, vc], T.int8(0))", PADDED.replace("int8(0)", "int8(1)")]
)
def test_another_condition_or_value_is_no_padding(value: str) -> None:
    report = simulate(staged(value).func, load_machine("gemmini"))
    (reason,) = (k.reason for k in report.tasks if k.block == "pad")
    assert engine_of(report, "pad") == "core" and reason.startswith("elementwise work")


def test_vector_engine_pads_for_a_dma_without_zero_padding() -> None:
    sch = Schedule(parse(COPY.format(n=14, m=16, p=1)).program)
    sch.cache_read("pad", 0, "local")
    report = simulate(sch.func, plain())
    assert engine_of(report, "pad") == "vector"
    assert engine_of(simulate(sch.func, with_padding(plain())), "pad") == "dma"


def with_padding(machine: Machine) -> Machine:
    return machine.replace("engines.dma.zero_padding", True)


@pytest.mark.slow
def test_fix_of_padding_on_the_scalar_engine_saves_cycles() -> None:
    sch, machine = staged(), load_machine("gemmini")
    before = simulate(sch.func, machine).cycles
    (finding,) = [f for f in lint(sch, machine) if f.code == "scalar-padding"]
    assert finding.message.startswith("the padding of X is done by the scalar engine")
    fix = finding.fixes[0]
    assert [str(call) for call in fix.calls] == ['sch.compute_inline("pad")']
    sch.compute_inline("pad")
    after = simulate(sch.func, machine)
    assert after.cycles * 20 < before
    assert not any(f.code == "scalar-padding" for f in lint(sch, machine))


@pytest.mark.slow
def test_fix_uses_the_vector_engine_without_padding_in_flight() -> None:
    sch = Schedule(parse(COPY.format(n=14, m=16, p=1)).program)
    (finding,) = [f for f in lint(sch, plain()) if f.code == "scalar-padding"]
    assert any("cache_read" in call for call in finding.fixes[0].calls)
    assert finding.fixes[0].cycles < simulate(sch.func, plain()).cycles


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", samples(range(30), *range(5)))
def test_law_tiles_of_a_padded_copy_cost_as_in_a_plain_replay(seed: int) -> None:
    rng = Random(seed)
    n, p = rng.randint(3, 90), rng.randint(1, 9)
    tile = rng.choice([4, 8, 13, n + 2 * p])
    sch = padding(n, p, tile)
    if tile < n and rng.random() < 0.5:
        sch.double_buffer("pad")
    machine = with_padding(roomy()).replace("engines.dma.dimensions", rng.choice([0, 2]))
    every, few = (simulate(sch.func, machine, whole=whole) for whole in (10**9, 0))
    assert same_figures(few, every)
    assert read_bytes(few) == 4 * n * n
    assert engine_of(few, "pad") == "dma"
