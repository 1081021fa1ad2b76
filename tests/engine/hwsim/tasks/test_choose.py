"""Engine selection and its reasons: annotation, preference, alternation of equal engines; the missing calls where no engine reaches."""

from __future__ import annotations

import ast

import pytest
from support.programs.sources import matmul
from support.simulator.machines import PLAIN, only, plain

from tilewright.engine.hwsim import Machine, MachineError, copy_path, load_machine, read_machine, simulate
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

SECOND_DMA = """
[engines.dma_2]
kind = "dma"
reads = ["ddr", "pad"]
writes = ["ddr", "pad"]
bytes_per_cycle = 4
setup_cycles = 10
source.setup_cycles = "as dma"
"""

STEPWISE = """
name = "stepwise"
clock_hz = 1_000_000_000

[memories.ddr]
scopes = ["global"]
capacity_bytes = 1_048_576
read_bytes_per_cycle = 4
write_bytes_per_cycle = 4

[memories.l1]
scopes = ["shared"]
capacity_bytes = 65_536
read_bytes_per_cycle = 16
write_bytes_per_cycle = 16

[memories.l0]
scopes = ["local"]
capacity_bytes = 8_192
read_bytes_per_cycle = 64
write_bytes_per_cycle = 64

[engines.outer]
kind = "dma"
reads = ["ddr", "l1"]
writes = ["ddr", "l1"]
bytes_per_cycle = 4

[engines.inner]
kind = "dma"
reads = ["l1", "l0"]
writes = ["l1", "l0"]
bytes_per_cycle = 16

[engines.matrix]
kind = "matrix"
reads = ["l0"]
writes = ["l0"]
tile_rows = 8
tile_columns = 8
tile_depth = 8
cycles_per_tile = 8
element_bytes = 4
"""
"""The operands of the matrix unit pass two memories, with a DMA for each step."""


SCALAR = """
[engines.scalar]
kind = "scalar"
reads = ["ddr", "l1", "l0"]
writes = ["ddr", "l1", "l0"]
cycles_per_operation = 1
"""
"""Reaches every memory, an element at a time."""


def staged() -> Schedule:
    sch = Schedule(parse(matmul(8, 8, 8)).program)
    sch.cache_read("C", 0, "local")
    sch.cache_read("C", 1, "local")
    sch.cache_write("C", 0, "local")
    return sch


def chosen(sch: Schedule, machine: Machine) -> dict[str, tuple[str, str]]:
    return {t.block: (t.engine, t.reason) for t in simulate(sch.func, machine).tasks}


def follow(sch: Schedule, fix: tuple[str, ...]) -> None:
    """Make the calls that a refusal names."""
    for line in fix:
        call = ast.parse(line, mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        getattr(sch, call.func.attr)(*(ast.literal_eval(a) for a in call.args))


def test_blocks_alternate_between_two_equal_engines():
    machine = read_machine(PLAIN + SECOND_DMA)
    found = chosen(staged(), machine)
    assert {block: engine for block, (engine, _) in found.items()} == {
        "B_local": "dma", "A_local": "dma_2", "C_local": "dma", "C": "matrix",
    }  # fmt: skip
    assert found["A_local"][1] == "a copy; dma_2 reaches all operands, alternating with dma"
    # The two loads overlap now: each needs 74 cycles.
    both = simulate(staged().func, machine.replace("ddr.read_bytes_per_cycle", 64))
    assert both.engines["dma_2"].tasks == 1 and both.engines["dma"].tasks == 2


def test_first_of_two_different_engines_is_used():
    machine = read_machine(PLAIN + SECOND_DMA).replace("dma_2.setup_cycles", 11)
    assert {e for e, _ in chosen(staged(), machine).values()} == {"dma", "matrix"}


def test_annotation_selects_one_of_two_equal_engines():
    sch = staged()
    for block in ("A_local", "B_local", "C_local"):
        sch.annotate(block, "engine", "dma_2")
    found = chosen(sch, read_machine(PLAIN + SECOND_DMA))
    assert found["A_local"] == ("dma_2", "annotated: engine dma_2") and {e for e, _ in found.values()} == {
        "dma_2",
        "matrix",
    }


def test_annotated_kind_selects_an_engine():
    sch = staged()
    sch.annotate("C_local", "engine", "vector")
    with pytest.raises(MachineError) as caught:
        simulate(sch.func, plain())  # a vector unit that does not reach global memory
    assert caught.value.code == "out-of-reach"
    sch = staged()
    sch.annotate("C_local", "engine", "scalar")
    assert chosen(sch, plain())["C_local"] == ("scalar", "annotated: engine scalar")


def test_unreachable_faster_engine_is_explained():
    found = chosen(Schedule(parse(matmul(8, 8, 8)).program), plain())
    engine, reason = found["C"]
    assert engine == "scalar"
    assert (
        reason
        == "a multiply-accumulate; scalar reaches all operands; matrix does not reach A in global, B in global, C in global"
    )


def test_missing_calls_stage_through_memories():
    machine = read_machine(STEPWISE)
    sch = Schedule(parse(matmul(8, 8, 8)).program)
    with pytest.raises(MachineError) as caught:
        simulate(sch.func, machine)
    assert caught.value.refusal.fix == (
        "sch.cache_read('C', 0, 'shared')",
        "sch.cache_read('C', 0, 'local')",
        "sch.cache_read('C', 1, 'shared')",
        "sch.cache_read('C', 1, 'local')",
        "sch.cache_write('C', 0, 'shared')",
        "sch.cache_write('C', 0, 'local')",
    )
    follow(sch, caught.value.refusal.fix)
    assert {block: engine for block, (engine, _) in chosen(sch, machine).items()} == {
        "A_shared": "outer", "B_shared": "outer", "A_shared_local": "inner", "B_shared_local": "inner", "C": "matrix",
        "C_shared": "outer", "C_shared_local": "inner",
    }  # fmt: skip


@pytest.mark.parametrize("preset", ["dual-bank-npu", "gemmini", "gpu-sm", "matrix-vector-npu", "tpu-v1", "vta"])
def test_missing_calls_of_a_preset_make_a_matmul_matrix_work(preset: str):
    machine = load_machine(preset)
    sch = Schedule(parse(matmul(16, 16, 16).replace("float32", "int8")).program)
    engine = next(e.name for e in machine.engines if type(e).__name__ in ("MatrixEngine", "SystolicEngine"))
    sch.annotate("C", "engine", engine)
    for _ in range(3):
        try:
            assert chosen(sch, machine)["C"][0] == engine
            return
        except MachineError as error:
            assert error.code == "out-of-reach" and error.refusal.fix, error
            follow(sch, error.refusal.fix)
    raise AssertionError("what was missing is still missing")


def test_unreachable_intermediate_lacks_its_scope():
    text = """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")):
    M = T.alloc_buffer((8, 8), "float32")
    for i, j in T.grid(8, 8):
        with T.block("M"):
            vi, vj = T.axis.remap("SS", [i, j])
            M[vi, vj] = A[vi, vj] + T.float32(1)
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = M[vi, vj] * T.float32(2)
"""
    machine = only(plain(), "dma", "vector")
    sch = Schedule(parse(text).program)
    calls: list[str] = []
    for _ in range(4):
        try:
            report = simulate(sch.func, machine)
            break
        except MachineError as error:
            calls += error.refusal.fix
            follow(sch, error.refusal.fix)
    else:
        raise AssertionError(calls)
    assert calls == [
        "sch.cache_read('M', 0, 'local')",
        "sch.set_scope('M', 0, 'local')",
        "sch.cache_write('B', 0, 'local')",
    ]
    assert report.engines["vector"].tasks == 2


def test_copies_pass_a_memory_rather_than_go_element_by_element():
    machine = read_machine(STEPWISE + SCALAR)
    assert copy_path(machine, ("ddr",), ("l0",)) == ("global", "shared", "local")
    assert copy_path(machine, ("l0",), ("ddr",)) == ("local", "shared", "global")
    alone = only(machine, "outer", "scalar", "matrix")
    assert copy_path(alone, ("ddr",), ("l0",)) == ("global", "local")


def test_memory_without_a_copy_path_still_names_the_call():
    machine = only(read_machine(STEPWISE), "outer", "matrix")
    with pytest.raises(MachineError) as caught:
        simulate(parse(matmul(8, 8, 8)).program, machine)
    assert caught.value.refusal.fix[0] == "sch.cache_read('C', 0, 'local')"
