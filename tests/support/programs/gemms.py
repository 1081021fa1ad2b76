"""Matrix products, whole or tiled and staged, and machines with a systolic array to run them on."""

from __future__ import annotations

from tilewright.engine.hwsim import Machine, read_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

GEMM = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def gemm(A: T.Buffer(({m}, {k}), "{dtype}"), B: T.Buffer(({k}, {n}), "{dtype}"), C: T.Buffer(({m}, {n}), "int32")):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
"""

CONVOLUTION = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def convolution(
    A: T.Buffer(({h}, {w}, {c}), "int8"), B: T.Buffer(({fh}, {fw}, {c}, {f}), "int8"), C: T.Buffer(({oh}, {ow}, {f}), "int32")
):
    for y, x, f, dy, dx, c in T.grid({oh}, {ow}, {f}, {fh}, {fw}, {c}):
        with T.sblock("C"):
            vy, vx, vf, vdy, vdx, vc = T.axis.remap("SSSRRR", [y, x, f, dy, dx, c])
            T.reads(A[vy * {s} + vdy, vx * {s} + vdx, vc], B[vdy, vdx, vc, vf])
            T.writes(C[vy, vx, vf])
            with T.init():
                C[vy, vx, vf] = 0
            C[vy, vx, vf] = C[vy, vx, vf] + T.Cast("int32", A[vy * {s} + vdy, vx * {s} + vdx, vc]) * T.Cast("int32", B[vdy, vdx, vc, vf])
"""

ARRAY = """
name = "array"
clock_hz = 1_000_000_000

[memories.ddr]
scopes = ["global"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = {wide}
write_bytes_per_cycle = {wide}

[memories.l2]
scopes = ["shared"]
capacity_bytes = 16_777_216
read_bytes_per_cycle = {wide}
write_bytes_per_cycle = {wide}

[memories.pad]
scopes = ["local"]
capacity_bytes = 1_048_576
read_bytes_per_cycle = 1_048_576
write_bytes_per_cycle = 1_048_576

[engines.dma]
kind = "dma"
reads = ["ddr", "l2", "pad"]
writes = ["ddr", "l2", "pad"]
bytes_per_cycle = {wide}

[engines.vector]
kind = "vector"
reads = ["ddr"]
writes = ["ddr"]
vector_bytes = 64
cycles_per_operation = 1

[engines.array]
kind = "systolic"
reads = {reach}
writes = {reach}
rows = {rows}
columns = {columns}
dataflow = "{dataflow}"
element_bytes = 1
"""


def gemm(m: int, n: int, k: int, dtype: str = "int8") -> PrimFunc:
    """C[m, n] = A[m, k] @ B[k, n], small integers into 32-bit sums."""
    program = parse(GEMM.format(m=m, n=n, k=k, dtype=dtype)).program
    assert isinstance(program, PrimFunc)
    return program


def convolution(h: int, w: int, fh: int, fw: int, c: int, f: int, s: int) -> PrimFunc:
    """An h x w image of c channels, f filters of fh x fw, a step of s, no padding."""
    oh, ow = (h - fh) // s + 1, (w - fw) // s + 1
    program = parse(CONVOLUTION.format(h=h, w=w, fh=fh, fw=fw, c=c, f=f, s=s, oh=oh, ow=ow)).program
    assert isinstance(program, PrimFunc)
    return program


def tiled_gemm(
    m: int,
    n: int,
    k: int,
    tile: tuple[int | None, int | None, int | None],
    order: str = "MNK",
    *,
    doubled: bool = False,
) -> PrimFunc:
    """`gemm` in tiles (M, N, K; None for a dimension that is not cut), loops over them in `order`, outermost first.

    An operand is staged to "local" in the innermost of the loops that it depends on, sums stay there until they are complete.
    `doubled` gives each of the three two slots.
    """
    sch = Schedule(gemm(m, n, k))
    outer, inner = {}, []
    for name, loop, size, extent in zip("MNK", sch.get_loops("C"), tile, (m, n, k), strict=True):
        outer[name], i = sch.split(loop, factors=[None, size or extent])
        inner.append(i)
    sch.reorder(*(outer[name] for name in order), *inner)
    for operand, dimensions in ((0, "MK"), (1, "KN")):
        copy = sch.cache_read("C", operand, "local")
        sch.compute_at(copy, outer[max(dimensions, key=order.index)])
        if doubled:
            sch.double_buffer(copy)
    out = sch.cache_write("C", 0, "local")
    if order[0] != "K":
        loop = outer[order[order.index("K") - 1]]
        sch.reverse_compute_at(out, loop)
        if doubled:
            sch.pipeline(loop, stages=[0, 1])
    return sch.func


def spilled_gemm(m: int, n: int, k: int, tile: tuple[int, int, int], order: str) -> PrimFunc:
    """`gemm` in tiles as `tiled_gemm` makes them, but a tile's partial sums are fetched before it and written back after it."""
    sch = Schedule(gemm(m, n, k))
    outer, inner = {}, []
    for name, loop, size in zip("MNK", sch.get_loops("C"), tile, strict=True):
        outer[name], i = sch.split(loop, factors=[None, size])
        inner.append(i)
    sch.decompose_reduction("C", outer["M"])
    sch.reorder(*(outer[name] for name in order), *inner)
    for operand, dimensions in ((1, "MK"), (2, "KN")):
        sch.compute_at(sch.cache_read("C", operand, "local"), outer[max(dimensions, key=order.index)])
    sch.cache_inplace(sch.blockize(inner[0]), 0, "local")
    return sch.func


def blocked_gemm(
    m: int, n: int, k: int, block: tuple[int, int, int], tile: tuple[int, int, int], order: tuple[str, str]
) -> PrimFunc:
    """`gemm` in blocks staged to "shared", those in tiles staged to "local"; `order` is of the loops over blocks and over tiles.

    Sums stay in "local" until they are complete, and come back by way of "shared".
    """
    sch = Schedule(gemm(m, n, k))
    outer, within, inner = {}, {}, []
    for name, loop, large, small in zip("MNK", sch.get_loops("C"), block, tile, strict=True):
        outer[name], within[name], i = sch.split(loop, factors=[None, large // small, small])
        inner.append(i)
    sch.reorder(*(outer[name] for name in order[0]), *(within[name] for name in order[1]), *inner)
    for operand, dimensions in ((0, "MK"), (1, "KN")):
        shared = sch.cache_read("C", operand, "shared")
        sch.compute_at(sch.cache_read("C", operand, "local"), within[max(dimensions, key=order[1].index)])
        sch.compute_at(shared, outer[max(dimensions, key=order[0].index)])
    shared = sch.cache_write("C", 0, "shared")
    local = sch.cache_write("C", 0, "local")
    if order[0][0] != "K":
        loop = outer[order[0][order[0].index("K") - 1]]
        sch.reverse_compute_at(local, loop)
        sch.reverse_compute_at(shared, loop)
    return sch.func


def array_machine(rows: int, columns: int, dataflow: str, *, staged: bool = False, wide: int = 1 << 20) -> Machine:
    """One memory for all and an array on it; when `staged`, the array reaches a scratchpad only, `wide` bytes a cycle away."""
    reach = '["pad"]' if staged else '["ddr", "pad"]'
    text = ARRAY.format(rows=rows, columns=columns, dataflow=dataflow, reach=reach, wide=wide)
    return read_machine(text, "array.toml")


STREAMING = """
name = "streaming"
clock_hz = 1_000_000_000

[memories.ddr]
scopes = ["global"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = {read}
write_bytes_per_cycle = {write}

[memories.pad]
scopes = ["local"]
capacity_bytes = 4_194_304
read_bytes_per_cycle = 1_048_576
write_bytes_per_cycle = 1_048_576

[engines.load]
kind = "dma"
reads = ["ddr"]
writes = ["pad"]
bytes_per_cycle = 1_048_576
queue_tasks = 64

[engines.store]
kind = "dma"
reads = ["pad"]
writes = ["ddr"]
bytes_per_cycle = 1_048_576
queue_tasks = 64

[engines.matrix]
kind = "matrix"
reads = ["pad"]
writes = ["pad"]
tile_rows = 8
tile_columns = 8
tile_depth = 8
cycles_per_tile = 8
element_bytes = 1
queue_tasks = 64
"""


def streaming_machine(read: int, write: int) -> Machine:
    """64 multiply-accumulates a cycle on a scratchpad, and a DMA engine for each direction of a DRAM of `read` and `write` bytes a cycle.

    Queues are so long that no engine stalls on another one that is behind.
    """
    return read_machine(STREAMING.format(read=read, write=write), "streaming.toml")
