"""ONNXim's tiles as schedules, and its core as a machine: a weight-stationary array whose weights have two registers per cell."""

from __future__ import annotations

from typing import Any

from tilewright.engine.hwsim import Machine, read_machine
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

GEMM = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def gemm(A: T.Buffer(({m}, {k}), "float16"), B: T.Buffer(({k}, {n}), "float16"), C: T.Buffer(({m}, {n}), "float16")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
CONVOLUTION = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def convolution(
    A: T.Buffer(({ih}, {iw}, {c}), "float16"),
    B: T.Buffer(({window}, {window}, {c}, {f}), "float16"),
    C: T.Buffer(({h}, {w}, {f}), "float16"),
):
    for y, x, f, c, dy, dx in T.grid({h}, {w}, {f}, {c}, {window}, {window}):
        with T.sblock("C"):
            vy, vx, vf, vc, vdy, vdx = T.axis.remap("SSSRRR", [y, x, f, c, dy, dx])
            with T.init():
                C[vy, vx, vf] = T.float16(0)
            C[vy, vx, vf] = C[vy, vx, vf] + A[vy + vdy, vx + vdx, vc] * B[vdy, vdx, vc, vf]
"""
CORE = """
name = "onnxim"
clock_hz = 1_000_000_000

[memories.dram]
scopes = ["global"]
capacity_bytes = 17_179_869_184
read_bytes_per_cycle = {rate}
write_bytes_per_cycle = {rate}
ports = "shared"
burst_bytes = 32
latency_cycles = 13

[memories.scratchpad]
scopes = ["local"]
capacity_bytes = 16_777_216
read_bytes_per_cycle = 1_048_576
write_bytes_per_cycle = 1_048_576

[engines.movin]
kind = "dma"
reads = ["dram"]
writes = ["scratchpad"]
bytes_per_cycle = {rate}
queue_tasks = 64

[engines.movout]
kind = "dma"
reads = ["scratchpad"]
writes = ["dram"]
bytes_per_cycle = {rate}
queue_tasks = 64

[engines.array]
kind = "systolic"
reads = ["scratchpad"]
writes = ["scratchpad"]
rows = {size}
columns = {size}
dataflow = "weight_stationary"
weights = "double"
element_bytes = 2
queue_tasks = 64
"""


def core(row: dict[str, Any]) -> Machine:
    """The core of a recorded case: `ports` requests of 32 bytes per cycle, served after 13 cycles (10 of the memory, 3 of the network)."""
    return read_machine(CORE.format(size=row["size"], rate=32 * row["ports"]), "onnxim.toml")


def schedule(row: dict[str, Any]) -> Schedule:
    """The schedule of a recorded case: tiles in the order of the outputs, then of the reduction; two slots for each operand and result."""
    if row["kind"] == "gemm":
        m, n, k = row["shape"]
        text, spatial = GEMM.format(m=m, n=n, k=k), 2
    else:
        h, w, f, c, window = row["shape"]
        text = CONVOLUTION.format(h=h, w=w, f=f, c=c, window=window, ih=h + window - 1, iw=w + window - 1)
        spatial = 3
    sch = Schedule(parse(text).program)
    loops = sch.get_loops("C")
    tile = [min(t, n) for t, n in zip(row["tile"], row["shape"], strict=False)]
    outer, inner = zip(*(sch.split(loop, factors=[None, t]) for loop, t in zip(loops, tile, strict=False)), strict=True)
    sch.reorder(*outer, *inner, *loops[len(tile) :])
    output, reduced = sch.fuse(*outer[:spatial]), outer[spatial]
    is_cut = row["shape"][spatial] > tile[spatial]
    for operand in (1, 0):
        copy = sch.cache_read("C", operand, "local")
        sch.compute_at(copy, reduced if is_cut else output)
        sch.double_buffer(copy)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), output)
    # Results leave while the next tile is computed.
    sch.pipeline(output, stages=[0, 1] if is_cut else [0, 0, 0, 1])
    return sch
