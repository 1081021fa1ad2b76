"""Operand traffic of matrix engines depends on the tiles and the registers of the engine, not on the number of tasks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.programs.gemms import gemm, tiled_gemm

from tilewright.engine.hwsim import Machine, MatrixEngine, Report, load_machine, read_machine, simulate
from tilewright.engine.hwsim.cost.operand_traffic import operand_traffic
from tilewright.engine.hwsim.tasks.product import Product

MACHINE = """
name = "registers"
clock_hz = 1_000_000_000

[memories.ddr]
scopes = ["global"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = 1_048_576
write_bytes_per_cycle = 1_048_576

[memories.pad]
scopes = ["local"]
capacity_bytes = 1_048_576
read_bytes_per_cycle = {wide}
write_bytes_per_cycle = {wide}
energy_pj_per_byte = 1.0

[engines.dma]
kind = "dma"
reads = ["ddr", "pad"]
writes = ["ddr", "pad"]
bytes_per_cycle = 1_048_576

[engines.matrix]
kind = "matrix"
reads = ["pad"]
writes = ["pad"]
tile_rows = 8
tile_columns = 8
tile_depth = 8
cycles_per_tile = 8
element_bytes = 1
energy_pj_per_operation = 1.0
"""


def machine(rows: int, columns: int, *, wide: int = 1 << 20) -> Machine:
    """A matrix engine of 8 x 8 x 8 with registers of `rows` x `columns` tiles."""
    found = read_machine(MACHINE.format(wide=wide))
    return found.replace("matrix.register_rows", rows).replace("matrix.register_columns", columns)


def engine(rows: int, columns: int) -> MatrixEngine:
    found = machine(rows, columns).engine("matrix")
    assert isinstance(found, MatrixEngine)
    return found


def read_by_the_engine(report: Report) -> dict[str, int]:
    return {a.buffer: a.read_bytes for a in report.accesses if a.engine == "matrix"}


@pytest.mark.parametrize("block", [(1, 1), (2, 4), (4, 2), (4, 4)])
def test_tasks_of_whole_register_blocks_read_operands_as_one_task(block: tuple[int, int]):
    """256 x 256 x 256 as one task and in 512 tasks of 32 x 32 x 32: equal reads of A and B; the sums of a task are its own."""
    whole = simulate(tiled_gemm(256, 256, 256, (None, None, None)), machine(*block))
    tiled = simulate(tiled_gemm(256, 256, 256, (32, 32, 32)), machine(*block))
    assert (whole.engines["matrix"].tasks, tiled.engines["matrix"].tasks) == (1, 512)
    rows, columns = block
    a, b = 256**3 // (8 * columns), 256**3 // (8 * rows)
    sums = 256 * 256 * 4
    assert read_by_the_engine(whole) == {"A_local": a, "B_local": b, "C_local": sums}
    assert read_by_the_engine(tiled) == {"A_local": a, "B_local": b, "C_local": 8 * sums}
    assert whole.engines["matrix"].busy == tiled.engines["matrix"].busy


def test_energy_of_a_cut_program_differs_by_sums_and_copies():
    block = machine(4, 4)
    whole = simulate(tiled_gemm(256, 256, 256, (None, None, None)), block)
    tiled = simulate(tiled_gemm(256, 256, 256, (32, 32, 32)), block)
    assert whole.energy["matrix"] == tiled.energy["matrix"]
    sums = 2 * 7 * 256 * 256 * 4  # read and written seven times more
    copied = {report: sum(row.bytes for row in report.traffic) for report in (whole, tiled)}
    assert tiled.energy["pad"] - whole.energy["pad"] == sums + copied[tiled] - copied[whole]


def test_sums_in_memory_are_read_and_written_by_each_depth_tile():
    report = simulate(
        tiled_gemm(64, 64, 256, (None, None, None)), machine(1, 1).replace("matrix.accumulate_in", "memory")
    )
    (access,) = (a for a in report.accesses if a.buffer == "C_local" and a.engine == "matrix")
    assert access.read_bytes == access.written_bytes == 64 * 64 * 4 * 256 // 8


def test_operand_traffic_through_a_narrow_port_limits_the_engine():
    """Registers of 1 x 1 tile read 128 bytes each 8 cycles, 16 a cycle: a port of 8 halves the rate, a block of 2 x 2 restores it."""
    program = tiled_gemm(64, 64, 64, (None, None, None))
    tiles = 8 * 8 * 8 * 8
    sums = 64 * 64 * 4
    assert simulate(program, machine(1, 1, wide=8)).engines["matrix"].busy == (2 * 64**3 // 8 + sums) // 8 > tiles
    assert simulate(program, machine(2, 2, wide=16)).engines["matrix"].busy == tiles


sizes = st.integers(1, 100)
blocks = st.integers(1, 6)


@given(sizes, sizes, sizes, st.integers(1, 3), blocks, blocks, blocks, blocks)
def test_law_larger_register_blocks_never_read_more(
    m: int, n: int, k: int, batch: int, rows: int, columns: int, more_rows: int, more_columns: int
):
    product = Product(m, n, k, batch)
    small = operand_traffic(engine(rows, columns), product)
    large = operand_traffic(engine(rows + more_rows, columns + more_columns), product)
    assert large.first <= small.first and large.second <= small.second and large.sums == small.sums
    assert large.first >= batch * m * k and large.second >= batch * k * n


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), blocks, blocks, st.integers(1, 30))
def test_law_tasks_of_whole_blocks_read_what_one_task_reads(
    down: int, across: int, deep: int, rows: int, columns: int, depth: int
):
    """Any cut of a product along its blocks, and along its depth, keeps the traffic of both operands."""
    unit = engine(rows, columns)
    whole = operand_traffic(unit, Product(down * rows * 8, across * columns * 8, deep * depth))
    piece = operand_traffic(unit, Product(rows * 8, columns * 8, depth))
    tasks = down * across * deep
    assert (tasks * piece.first, tasks * piece.second) == (whole.first, whole.second)
    assert tasks * piece.sums == deep * whole.sums


def test_product_within_the_cube_registers_reads_operands_once():
    """L0C of the matrix and vector NPU holds 8 x 16 tiles of 16 x 16: 128 rows and 256 columns."""
    report = simulate(gemm(128, 128, 64, "float16"), _reaching_ddr())
    reads = {a.buffer: a.read_bytes for a in report.accesses}
    assert (reads["A"], reads["B"]) == (128 * 64 * 2, 128 * 64 * 2)


def _reaching_ddr() -> Machine:
    found = load_machine("matrix-vector-npu")
    return found.replace("matrix.reads", ("ddr", "local")).replace("matrix.writes", ("ddr", "local"))
