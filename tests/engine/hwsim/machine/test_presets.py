"""The machine presets: a source beside each figure, and a small program on each, its tasks calculated by hand."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from support.schedules.published import tpu_layer

from tilewright import static
from tilewright.app.document import evaluate, load_document
from tilewright.engine.hwsim import VectorEngine, load_machine, preset_names, simulate
from tilewright.engine.hwsim.cost.model import Cost
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

EXAMPLES = Path(__file__).parents[4] / "static" / "examples"

PRESETS = (
    "a100",
    "aie2",
    "ascend-910b",
    "ascend-910b-24",
    "cpu-core",
    "dual-bank-npu",
    "ethos-u55",
    "gemmini",
    "gpu-sm",
    "h100",
    "hexagon-hvx",
    "matrix-vector-npu",
    "sm80",
    "sm90",
    "snitch-cluster",
    "tpu-like-quad",
    "tpu-v1",
    "vta",
    "wormhole",
)

NO_FIGURES = {
    "name", "description", "source", "kind", "scopes", "memory", "reads", "writes", "level", "register_memories", "shared_memories",
    "from", "to",
}  # fmt: skip
"""The machine's structure: names and connections."""

GROUPS = ("memories", "engines", "caches", "buses", "levels", "links")


def sections(name: str) -> dict[str, dict[str, Any]]:
    """The sections of a preset's file, unparsed."""
    table = tomllib.loads((resources.files(static) / "machines" / f"{name}.toml").read_text("utf-8"))
    found = {"": {key: value for key, value in table.items() if key not in GROUPS}}
    for group in GROUPS:
        found |= {f"{group}.{part}": figures for part, figures in table.get(group, {}).items()}
    return found


def test_the_folder_has_these_presets():
    assert preset_names() == PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_every_figure_of_a_preset_has_a_source(name: str):
    machine = load_machine(name)
    assert machine.name == name and machine.description
    for section, figures in sections(name).items():
        sources = figures.get("source", {})
        # Which engines use a cache or a bus is structure.
        stated = figures.keys() - NO_FIGURES - ({"engines"} if section.startswith(("caches", "buses")) else set())
        assert stated - {"block_scopes"} <= sources.keys() <= stated, f"{name}: {section}"
        assert all(len(text) > 10 for text in sources.values()), f"{name}: {section}"


def costs(sch: Schedule, preset: str) -> dict[str, tuple[str, Cost]]:
    """The engine and the cost of each block's only kind of task."""
    program, _ = replayed(sch.func, load_machine(preset))
    found = {
        program.templates[v.template].name: (program.machine.engines[v.engine].name, v.cost) for v in program.variants
    }
    assert len(found) == len(program.variants)
    report = simulate(sch.func, program.machine)
    assert report.cycles >= report.bound > 0
    assert {f.code for f in report.findings} <= {"bank-conflict", "idle-cores"}
    return found


def matmul(rows: int, columns: int, depth: int, narrow: str, wide: str) -> str:
    zero = "0" if wide.startswith("int") else "T.float32(0)"
    return f'''
@T.prim_func
def main(A: T.Buffer(({rows}, {depth}), "{narrow}"), B: T.Buffer(({depth}, {columns}), "{narrow}"),
         C: T.Buffer(({rows}, {columns}), "{wide}")):
    for i, j, k in T.grid({rows}, {columns}, {depth}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = {zero}
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "{wide}") * T.cast(B[vk, vj], "{wide}")
'''


def staged(source: str, first: str, second: str, result: str) -> Schedule:
    sch = Schedule(parse(source).program)
    sch.cache_read("C", 0, first)
    sch.cache_read("C", 1, second)
    sch.cache_write("C", 0, result)
    return sch


ELEMENTWISE = """
@T.prim_func
def main(A: T.Buffer((64, 128), "float16"), B: T.Buffer((64, 128), "float16"), C: T.Buffer((64, 128), "float16")):
    for i, j in T.grid(64, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + B[vi, vj]
"""

TRANSPOSE = """
@T.prim_func
def main(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    for i, j in T.grid(32, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""


def test_matmul_on_the_dual_bank_npu_pays_for_tiles_and_bursts():
    # 48 x 40 x 32 in tiles of 32 x 32 x 32: 2 x 2 x 1 tiles of 32 cycles, 61 440 of 131 072 multiplications used; 16 of set-up.
    found = costs(
        staged(matmul(48, 40, 32, "float16", "float32"), "local.vtcm", "local.vtcm", "local.acc"), "dual-bank-npu"
    )
    engine, cost = found["C"]
    assert engine == "matrix" and cost.duration == 16 + 4 * 32 and cost.latency == 32
    assert cost.tiling is not None
    assert (cost.tiling.tiles, cost.tiling.useful, cost.tiling.offered) == (4, 48 * 40 * 32, 4 * 32**3)
    # A is 48 x 32 halves, 3 072 bytes in one run, at 26 bytes a cycle from DDR.
    engine, cost = found["A_local.vtcm"]
    assert engine == "dma" and cost.duration == 40 + -(-3072 // 26) and cost.latency == 200
    assert cost.descriptor is not None and cost.descriptor.shape == (48 * 32,)
    assert cost.descriptor.wanted_bytes == cost.descriptor.read_bytes == 3072


def test_tile_on_the_dual_bank_npu_is_whole_bursts():
    # Tiles of 16 columns out of 40: 32 runs of 32 bytes, each a burst of 64 bytes of DDR: half of what moves is wanted.
    sch = Schedule(parse(matmul(48, 48, 32, "float16", "float32")).program)
    j, _ = sch.split(sch.get_loops("C")[1], [None, 16])
    sch.reorder(j, sch.get_loops("C")[0])
    for n in (0, 1):
        sch.compute_at(sch.cache_read("C", n, "local.vtcm"), j)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local.acc"), j)
    _, cost = costs(sch, "dual-bank-npu")["B_local.vtcm"]
    descriptor = cost.descriptor
    assert descriptor is not None and (
        descriptor.shape,
        descriptor.run_bytes,
        descriptor.runs,
        descriptor.descriptors,
    ) == ((32, 16), 32, 32, 1)
    assert (descriptor.wanted_bytes, descriptor.read_bytes, descriptor.written_bytes) == (1024, 2048, 1024)
    assert cost.duration == 40 + -(-2048 // 26)


def test_operands_conflict_on_the_matrix_vector_npu():
    # 64 operations of 128 halves. A, B and C begin at multiples of 16 KiB, in the same banks: of each operation's eight blocks of 32
    # bytes, A's and B's are in one group, and C's in the bank of both: 3 cycles instead of 1.
    _, cost = costs(staged(ELEMENTWISE, "local", "local", "local"), "matrix-vector-npu")["C"]
    assert cost.duration == 8 + 64 + 2 * 64
    (conflict,) = cost.conflicts
    assert {b.name for b in conflict.buffers} == {"A_local", "B_local", "C_local"}
    assert (conflict.kind, conflict.accesses, conflict.degree, conflict.cycles) == ("together", 64, 3, 128)


def test_each_row_of_a_product_on_vta_takes_one_cycle():
    # 16 x 16 x 32: rows one by one, one block of columns, two of the depth: 32 cycles and 4 of set-up, nothing idle.
    source = matmul(16, 16, 32, "int8", "int32")
    found = costs(staged(source, "local.inp_buffer", "local.wgt_buffer", "local.acc_buffer"), "vta")
    engine, cost = found["C"]
    assert engine == "gemm" and cost.duration == 4 + 32
    assert cost.tiling is not None and cost.tiling.useful == cost.tiling.offered
    # 512 int8 over a bus of 8 bytes; 256 int32 out, two a cycle.
    assert found["A_local.inp_buffer"][1].duration == 4 + 512 // 8
    engine, cost = found["C_local.acc_buffer"]
    assert engine == "store" and cost.duration == 4 + 256 // 2


def test_product_on_ascend_multiplies_a_cube_a_cycle():
    # 128 x 256 x 64 in cubes of 16: 8 * 16 * 4 cycles and 21 of set-up. 128 KiB go out in 164 cycles and 86 bytes a cycle.
    source = matmul(128, 256, 64, "float16", "float32")
    found = costs(staged(source, "shared.l1", "shared.l1", "wmma.accumulator"), "ascend-910b")
    engine, cost = found["C"]
    assert engine == "cube" and cost.duration == 21 + 8 * 16 * 4
    engine, cost = found["C_wmma.accumulator"]
    assert engine == "fixpipe" and cost.duration == 164 + -(-128 * 256 * 4 // 86)


def test_product_on_gemmini_is_folded_over_the_array():
    # Depth 64 and 32 columns on 16 x 16 cells: 4 x 2 folds of 64 rows each. The next weights are loaded meanwhile; the skew of 30 cycles
    # delays the result.
    source = matmul(64, 32, 64, "int8", "int32")
    found = costs(staged(source, "local.scratchpad", "local.scratchpad", "local.accumulator"), "gemmini")
    engine, cost = found["C"]
    assert engine == "array" and (cost.duration, cost.latency) == (4 + 8 * 64, 30)
    assert cost.tiling is not None and (cost.tiling.tiles, cost.tiling.useful) == (8, 64 * 32 * 64)
    # 64 x 64 int8 in at 16 bytes a cycle, 64 x 32 int32 out.
    assert found["A_local.scratchpad"][0] == "mvin" and found["A_local.scratchpad"][1].duration == 8 + 4096 // 16
    assert found["C_local.accumulator"][0] == "mvout" and found["C_local.accumulator"][1].duration == 8 + 8192 // 16


def test_layer_on_the_tpu_is_bound_by_its_weights():
    # 8 tiles of weights: 4 of the depth, 2 of the columns, 200 rows each. A fold lasts as long as the shift of the next tile, 256 cycles.
    # The sums of a column tile leave 256 per cycle.
    found = costs(tpu_layer(200, 1024, 512, slots=1), "tpu-v1")
    engine, cost = found["S"]
    assert engine == "matrix" and (cost.duration, cost.latency) == (256, 510)
    assert cost.tiling is not None and (cost.tiling.useful, cost.tiling.offered) == (200 * 256**2, 256**3)
    engine, cost = found["B_local.weight_fifo"]
    assert engine == "read_weights" and cost.duration == -(-(256 * 256) // 48)
    engine, cost = found["C"]
    assert engine == "activate" and cost.duration == 16 + 200


@pytest.mark.parametrize(("padding", "lost"), [(0, 32 * 31), (1, 0)])
def test_padding_removes_bank_conflicts_of_a_gpu_transpose(padding: int, lost: int):
    # 32 warps. Each reads a column of shared memory, one warp a cycle: 32 rows of one bank, or of 32 banks with 33 words a row. Out to
    # memory go 4 096 bytes at 13 a cycle, longer than 32 cycles of accesses.
    sch = Schedule(parse(TRANSPOSE).program)
    copy = sch.cache_read("B", 0, "shared")
    for block in (copy, "B"):
        i, j = sch.get_loops(block)
        sch.bind(i, "threadIdx.y")
        sch.bind(j, "threadIdx.x")
    sch.storage_align(copy, 0, 0, 32, padding)
    found = costs(sch, "gpu-sm")
    engine, cost = found["B"]
    assert engine == "lanes" and cost.duration == max(32 + lost, -(-4096 // 13))
    assert [(c.buffers[0].name, c.degree) for c in cost.conflicts] == ([("A_shared", 32)] if lost else [])
    assert found["A_shared"][0] == "copy" and found["A_shared"][1].duration == 20 + -(-4096 // 13)


def test_cpu_transpose_uses_vectors_and_three_cache_levels():
    machine = load_machine("cpu-core")
    assert [(c.name, c.sets) for c in machine.caches_of("simd", "dram")] == [("L1", 64), ("L2", 1024), ("L3", 16384)]
    sch = Schedule(parse(TRANSPOSE).program)
    engine, cost = costs(sch, "cpu-core")["B"]
    # 1 024 floats, 16 lanes: 64 operations at least.
    assert engine == "simd" and cost.operations == 1024 and cost.duration >= 64


def test_snitch_cluster_multiplies_two_floats_a_cycle_on_each_core():
    found = costs(staged(matmul(16, 16, 32, "float32", "float32"), "shared", "shared", "shared"), "snitch-cluster")
    engine, cost = found["C"]
    assert (engine, cost.duration) == ("fma", 16 * 16 * 32 // 2)
    engine, cost = found["A_shared"]
    # 2 KiB over four banks of 8 bytes, half the rate of the DMA.
    assert (engine, cost.duration) == ("dma", 10 + 2048 // 32)


@pytest.mark.parametrize(
    ("chip", "core", "cores"), [("a100", "sm80", 108), ("h100", "sm90", 132), ("ascend-910b-24", "ascend-910b", 24)]
)
def test_a_chip_has_the_core_of_the_preset_of_one_core(chip: str, core: str, cores: int):
    machine, alone = load_machine(chip), load_machine(core)
    assert machine.core is not None and machine.cores == machine.core.count == cores
    engines = [replace(e, level="") for e in machine.engines]
    # One core alone has no levels around it.
    alike = [replace(e, around_bytes_per_cycle=0) if isinstance(e, VectorEngine) else e for e in engines]
    assert [replace(e, source=()) for e in alike] == [replace(e, source=()) for e in alone.engines]
    private = {m.name: replace(m, level="") for m in machine.memories if m.level}
    assert private == {m.name: m for m in alone.memories if m is not alone.far}
    # A burst at a port of the chip takes a cycle, so equal cores fold.
    assert machine.far.burst_bytes <= min(machine.far.read_bytes_per_cycle, machine.far.write_bytes_per_cycle)


def test_products_of_a_fixed_core_on_ascend_take_the_cycles_of_the_cube():
    """Two tiles of 128 x 256 x 1024 on each of 20 cores: 16 products of 128 x 256 x 64, 21 cycles and 512 each."""
    notebook = evaluate(load_document(EXAMPLES / "ascend_gemm_cores.py"))
    assert notebook.schedule is not None
    machine = (
        load_machine("ascend-910b-24").replace("levels.core.count", 64).replace("levels.core.dispatch", "persistent")
    )
    report = simulate(notebook.schedule.func, machine)
    fill = 21 + 128 * 256 // 256
    # The sums are filled on the cube, too, in each block once.
    assert report.engines["cube"].busy - 2 * 16 * (21 + 512) == pytest.approx(2 * fill, abs=2 * 300)
    assert report.unknown is None
