"""Functions applied while an accumulator is stored: an elementwise block that a DMA can apply is one copy."""

from __future__ import annotations

from random import Random

import pytest
from support.profile import samples
from support.simulator.exactness import differing_reports, varied
from support.simulator.machines import PLAIN

from tilewright.engine.hwsim import Machine, MachineError, lower_bound_of, read_machine, simulate, tasks_of
from tilewright.engine.hwsim.cost.model import Cost
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse


def machine(*activations: str) -> Machine:
    """`plain` with a DMA that applies these functions."""
    return read_machine(PLAIN).replace("dma.activations", activations)


def block(expression: str, source: str = "int32", target: str = "int8", more: str = "") -> str:
    return f'''
@T.prim_func
def main(A: T.Buffer((16, 64), "{source}"), S: T.Buffer((16, 64), "{source}"), V: T.Buffer((64,), "{source}"),
         B: T.Buffer((16, 64), "{target}")):
    for i, j in T.grid(16, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j]){more}
            B[vi, vj] = {expression}
'''


def engine_and_cost(source: str, on: Machine) -> tuple[str, Cost]:
    program, _ = replayed(parse(source).program, on)
    (variant,) = program.variants
    return program.machine.engines[variant.engine].name, variant.cost


REQUANTISED = 'T.Cast("int8", T.max(T.min(T.round(T.Cast("float32", A[vi, vj]) * T.float32(0.1)), T.float32(127)), T.float32(-128)))'


@pytest.mark.parametrize(
    ("expression", "needed"),
    [
        ('T.Cast("int8", A[vi, vj])', ("cast",)),
        ('T.Cast("int8", T.max(A[vi, vj], 0))', ("cast", "relu")),
        ('T.Cast("int8", T.max(T.min(A[vi, vj], 6), 0))', ("cast", "clip")),
        ('T.Cast("int8", T.shift_right(A[vi, vj], 4))', ("cast", "scale")),
        ('T.Cast("int8", A[vi, vj] * 3 + 7)', ("cast", "scale", "offset")),
        (REQUANTISED, ("cast", "clip", "scale")),
    ],
)
def test_dma_that_applies_all_functions_copies_the_block(expression: str, needed: tuple[str, ...]):
    assert engine_and_cost(block(expression), machine(*needed))[0] == "dma"
    for missing in needed:
        assert engine_and_cost(block(expression), machine(*(n for n in needed if n != missing)))[0] != "dma"


@pytest.mark.parametrize(
    "expression", ['T.Cast("int8", A[vi, vj] + S[vi, vj])', 'T.Cast("int8", 3 - A[vi, vj])', "T.int8(0)"]
)
def test_another_operand_or_function_prevents_a_dma_copy(expression: str):
    assert engine_and_cost(block(expression), machine("cast", "clip", "offset", "relu", "scale"))[0] != "dma"


def test_narrowing_copy_reads_at_the_port_rate():
    """4 096 bytes of int32 read at 4 a cycle, beside 1 024 bytes of int8 written; from a wide memory only the results count."""
    source = block('T.Cast("int8", A[vi, vj])')
    on = machine("cast")
    assert engine_and_cost(source, on)[1].duration == 10 + 1024
    wide = on.replace("ddr.read_bytes_per_cycle", 1 << 20)
    _, cost = engine_and_cost(source, wide)
    assert cost.duration == 10 + 256 and cost.operations == 16 * 64
    assert {(t.buffer.name, t.size_bytes) for t in cost.touched} == {("A", 4096), ("B", 1024)}
    assert cost.descriptor is not None and (cost.descriptor.read_bytes, cost.descriptor.written_bytes) == (4096, 1024)
    assert cost.descriptor.wanted_bytes == max(cost.descriptor.read_bytes, cost.descriptor.written_bytes)


def test_an_annotated_engine_takes_precedence():
    source = block('T.Cast("int8", A[vi, vj])', more='\n            T.block_attr({"engine": "scalar"})')
    assert engine_and_cost(source, machine("cast"))[0] == "scalar"


def test_the_bound_is_that_of_the_replay():
    program = tasks_of(parse(block('T.Cast("int8", T.max(A[vi, vj], 0))')).program, machine("cast", "relu"))
    report = simulate(parse(block('T.Cast("int8", T.max(A[vi, vj], 0))')).program, machine("cast", "relu"))
    bound = lower_bound_of(program)
    assert bound.cycles == report.bound <= report.cycles
    assert bound.energy_pj == pytest.approx(report.energy_pj)
    assert bound.copied_bytes == report.copied_bytes == 1024


def test_unknown_function_of_a_machine_is_refused():
    with pytest.raises(MachineError) as caught:
        machine("gelu")
    assert caught.value.refusal.code == "bad-figure"


SCALED = 'T.Cast("int8", T.round(T.Cast("float32", A[vi, vj]) * T.Cast("float32", V[vj])))'


@pytest.mark.parametrize(
    ("expression", "needed"),
    [
        ('T.Cast("int8", A[vi, vj] + V[vj])', ("bias", "cast")),
        ('T.Cast("int8", V[vj] + A[vi, vj])', ("bias", "cast")),
        ('T.Cast("int8", A[vi, vj] - V[vj])', ("bias", "cast")),
        ('T.Cast("int8", T.max(A[vi, vj] + S[vi, vj], 0))', ("bias", "cast", "relu")),
        ('T.Cast("int8", T.max((A[vi, vj] + V[vj]) * S[vi, vj], 0))', ("bias", "cast", "channel_scale", "relu")),
        (SCALED, ("cast", "channel_scale")),
    ],
)
def test_dma_that_applies_operands_copies_the_block(expression: str, needed: tuple[str, ...]) -> None:
    assert engine_and_cost(block(expression), machine(*needed))[0] == "dma"
    for missing in needed:
        assert engine_and_cost(block(expression), machine(*(n for n in needed if n != missing)))[0] != "dma"


@pytest.mark.parametrize(
    "expression",
    [
        'T.Cast("int8", V[vj] - A[vi, vj])',
        'T.Cast("int8", T.max(V[vj], 0) * A[vi, vj])',
        'T.Cast("int8", A[vi, vj] // V[vj])',
    ],
)
def test_smaller_source_or_a_quotient_prevents_a_dma_copy(expression: str) -> None:
    every = machine("bias", "cast", "channel_scale", "clip", "offset", "relu", "scale")
    assert engine_and_cost(block(expression), every)[0] != "dma"


def test_bias_per_channel_is_read_once_beside_the_source() -> None:
    """4 096 bytes of the source and 256 of the bias pass one port at 4 a cycle; on separate ports only the source counts."""
    source, on = block('T.Cast("int8", V[vj] + A[vi, vj])'), machine("bias", "cast")
    _, cost = engine_and_cost(source, on)
    assert cost.duration == 10 + 1024 + 64
    assert {(t.buffer.name, t.size_bytes) for t in cost.touched} == {("A", 4096), ("V", 256), ("B", 1024)}
    assert cost.descriptor is not None and (cost.descriptor.read_bytes, cost.descriptor.written_bytes) == (4096, 1024)
    _, cost = engine_and_cost(source, on.replace("ddr.burst_bytes", 512))
    assert {port.name: cycles for port, cycles in cost.demands} == {
        "global read port": 1024 + 128,
        "global write port": 256,
    }
    report = simulate(parse(source).program, on)
    assert [(row.buffer, row.bytes) for row in report.traffic] == [("A", 1024)]
    assert [(a.engine, a.buffer, a.read_bytes) for a in report.accesses] == [("dma", "V", 256)]


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", samples(range(10), *range(3)))
def test_law_skipping_drains_with_bias_and_scales_is_exact(seed: int) -> None:
    rng = Random(seed)
    text = """
@T.prim_func
def main(A: T.Buffer((64, 56), "int32"), V: T.Buffer((56,), "int32"), W: T.Buffer((56,), "int32"), B: T.Buffer((64, 56), "int8")):
    C = T.alloc_buffer((64, 56), "int32", scope="local")
    for i, j in T.grid(64, 56):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj]
    for i, j in T.grid(64, 56):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.Cast("int8", T.max((C[vi, vj] + V[vj]) * W[vj], 0))
"""
    sch = Schedule(parse(text).program)
    loops = [sch.split(loop, factors=[None, rng.choice((3, 8, 16))]) for loop in sch.get_loops("B")]
    sch.reorder(*(outer for outer, _ in loops), *(inner for _, inner in loops))
    sch.compute_at("C", loops[1][0])
    if rng.random() < 0.5:
        sch.double_buffer("C")
    on = varied(rng, machine("bias", "cast", "channel_scale", "relu").replace("pad.capacity_bytes", 1 << 16))
    report = simulate(sch.func, on)
    assert {a.buffer for a in report.accesses if a.engine.startswith("dma")} == {"V", "W"}
    assert not differing_reports(sch.func, on)
