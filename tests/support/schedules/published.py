"""Schedules of the workloads whose figures are published: layers of the first TPU, and convolutions on VTA."""

from __future__ import annotations

from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

LAYER = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def layer(
    A: T.Buffer(({rows}, {depth}), "int8", scope="local.unified_buffer"),
    B: T.Buffer(({depth}, {columns}), "int8", scope="global.weights"),
    C: T.Buffer(({rows}, {columns}), "int8", scope="local.unified_buffer"),
):
    S = T.sblock_alloc_buffer(({rows}, {columns}), "int32", scope="local.accumulators")
    for i, j, k in T.grid({rows}, {columns}, {depth}):
        with T.sblock("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = 0
            S[vi, vj] = S[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Cast("int8", T.max(S[vi, vj], 0))
"""


def tpu_layer(rows: int, depth: int, columns: int, slots: int = 4) -> Schedule:
    """A layer of the first TPU: weights in tiles of 256 x 256 through `slots` slots of the FIFO, and all rows of a batch for each tile."""
    sch = Schedule(parse(LAYER.format(rows=rows, depth=depth, columns=columns)).program)
    i, j, k = sch.get_loops("S")
    jo, ji = sch.split(j, [None, 256])
    ko, ki = sch.split(k, [None, 256])
    sch.reorder(jo, ko, i, ji, ki)
    fifo = sch.cache_read("S", 1, "local.weight_fifo")
    sch.compute_at(fifo, ko)
    if slots > 1:
        sch.double_buffer(fifo, slots=slots)
    sch.reverse_compute_at("C", jo)
    return sch


CONVOLUTION = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def convolution(
    A: T.Buffer(({padded}, {padded}, {channels}), "int8"),
    B: T.Buffer((3, 3, {filters}, {channels}), "int8"),
    C: T.Buffer(({size}, {size}, {filters}), "int8"),
):
    S = T.sblock_alloc_buffer(({size}, {size}, {filters}), "int32", scope="local.acc_buffer")
    for y, x, f, c, dy, dx in T.grid({size}, {size}, {filters}, {channels}, 3, 3):
        with T.sblock("S"):
            vy, vx, vf, vc, vdy, vdx = T.axis.remap("SSSRRR", [y, x, f, c, dy, dx])
            with T.init():
                S[vy, vx, vf] = 0
            S[vy, vx, vf] = S[vy, vx, vf] + T.Cast("int32", A[vy + vdy, vx + vdx, vc]) * T.Cast("int32", B[vdy, vdx, vf, vc])
    for y, x, f in T.grid({size}, {size}, {filters}):
        with T.sblock("C"):
            vy, vx, vf = T.axis.remap("SSS", [y, x, f])
            C[vy, vx, vf] = T.Cast("int8", S[vy, vx, vf])
"""


def vta_convolution(size: int, channels: int, filters: int, tile: tuple[int, int, int], slots: int) -> Schedule:
    """A 3 x 3 convolution of stride 1 on VTA, in tiles of rows, filters and channels; operands have `slots` slots each."""
    text = CONVOLUTION.format(size=size, padded=size + 2, channels=channels, filters=filters)
    sch = Schedule(parse(text).program)
    y, x, f, c, dy, dx = sch.get_loops("S")
    (yo, yi), (fo, fi), (co, ci) = (sch.split(v, [None, t]) for v, t in zip((y, f, c), tile, strict=True))
    sch.reorder(yo, fo, co, yi, x, fi, ci, dy, dx)
    for operand, scope in enumerate(("local.inp_buffer", "local.wgt_buffer")):
        staged = sch.cache_read("S", operand, scope)
        sch.compute_at(staged, co)
        if slots > 1:
            sch.double_buffer(staged, slots=slots)
    sch.reverse_compute_at("C", fo)
    return sch


STRIDED = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def strided(A: T.Buffer((2048,), "float32", scope="shared"), B: T.Buffer((1024,), "float32", scope="local")):
    for w, x in T.grid(32, 32):
        with T.sblock("B"):
            vw, vx = T.axis.remap("SS", [w, x])
            B[vw * 32 + vx] = A[vw * 32 + vx * {degree}]
"""


def strided_warps(degree: int) -> Schedule:
    """32 warps that read shared memory at a stride of `degree` words, so with bank conflicts of this degree (a power of two)."""
    sch = Schedule(parse(STRIDED.format(degree=degree)).program)
    warp, lane = sch.get_loops("B")
    sch.bind(warp, "threadIdx.y")
    sch.bind(lane, "threadIdx.x")
    return sch
