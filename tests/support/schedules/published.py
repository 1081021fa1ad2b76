"""Schedules of workloads with published figures: layers of the first TPU, convolutions on VTA, products and layers on Gemmini."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt, prod

from tilewright.engine.schedule import LoopRV, Schedule
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


PRODUCT = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def product(
    A: T.Buffer(({rows}, {depth}), "int8"),
    B: T.Buffer(({depth}, {columns}), "int8"),
    C: T.Buffer(({rows}, {columns}), "int8"),
):
    S = T.sblock_alloc_buffer(({rows}, {columns}), "int32", scope="local.accumulator")
    for i, j, k in T.grid({rows}, {columns}, {depth}):
        with T.sblock("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = 0
            S[vi, vj] = S[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Cast("int8", T.max(T.min(S[vi, vj], 127), -128))
"""

SPAD_ROWS, SUM_ROWS = 8192, 512
"""Half of Gemmini's scratchpad and accumulator, in rows of 16 elements: the other half holds the next tile."""


def gemmini_tile(rows: int, columns: int, depth: int) -> tuple[int, int, int]:
    """The tile of a product chosen by Gemmini's library (`tiled_matmul_auto` of gemmini-rocc-tests, include/gemmini.h)."""
    most = [-(-extent // 16) for extent in (rows, columns, depth)]
    limits = (isqrt(SUM_ROWS // 16), isqrt(SUM_ROWS // 16), SPAD_ROWS // 32 // isqrt(SUM_ROWS // 16))
    tile = [min(m, limit) for m, limit in zip(most, limits, strict=True)]
    grows = True
    while grows:
        grows = False
        for axis in (1, 0, 2):
            i, j, k = (t + (n == axis) for n, t in enumerate(tile))
            if 16 * (i + j) * k <= SPAD_ROWS and 16 * i * j <= SUM_ROWS and tile[axis] < most[axis]:
                tile[axis] += 1
                grows = True
    i, j, k = (min(16 * t, extent) for t, extent in zip(tile, (rows, columns, depth), strict=True))
    return i, j, k


def gemmini_product(rows: int, columns: int, depth: int) -> Schedule:
    """A product of int8 on Gemmini, narrowed to int8 on the way out, in the tiles of Gemmini's library."""
    sch = Schedule(parse(PRODUCT.format(rows=rows, columns=columns, depth=depth)).program)
    loops = sch.get_loops("S")
    tile = gemmini_tile(rows, columns, depth)
    (io, ii), (jo, ji), (ko, ki) = (sch.split(v, [None, t]) for v, t in zip(loops, tile, strict=True))
    sch.reorder(io, jo, ko, ii, ji, ki)
    tiles = [-(-extent // t) for extent, t in zip((rows, columns, depth), tile, strict=True)]
    _stage(sch, ko, jo, reads=prod(tiles) > 1, sums=tiles[0] * tiles[1] > 1)
    return sch


def _stage(sch: Schedule, reads_at: LoopRV, sums_at: LoopRV, *, reads: bool, sums: bool) -> None:
    """Operands in the scratchpad and sums in the accumulator, in two slots each if there are several tiles of `reads`, or of `sums`."""
    for operand in (0, 1):
        staged = sch.cache_read("S", operand, "local.scratchpad")
        sch.compute_at(staged, reads_at)
        if reads:
            sch.double_buffer(staged, banks=[2 * operand, 2 * operand + 1])
    sch.reverse_compute_at("C", sums_at)
    if sums:
        sch.double_buffer("S", banks=[0, 1])


WINDOW = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def convolution(
    A: T.Buffer(({batch}, {padded}, {padded}, {channels}), "int8"),
    B: T.Buffer(({window}, {window}, {channels}, {filters}), "int8"),
    C: T.Buffer(({batch}, {size}, {size}, {filters}), "int8"),
):
    S = T.sblock_alloc_buffer(({batch}, {size}, {size}, {filters}), "int32", scope="local.accumulator")
    for b, y, x, f, dy, dx, c in T.grid({batch}, {size}, {size}, {filters}, {window}, {window}, {channels}):
        with T.sblock("S"):
            vb, vy, vx, vf, vdy, vdx, vc = T.axis.remap("SSSSRRR", [b, y, x, f, dy, dx, c])
            with T.init():
                S[vb, vy, vx, vf] = 0
            S[vb, vy, vx, vf] = S[vb, vy, vx, vf] + T.Cast("int32", A[vb, vy * {stride} + vdy, vx * {stride} + vdx, vc]) * T.Cast(
                "int32", B[vdy, vdx, vc, vf])
    for b, y, x, f in T.grid({batch}, {size}, {size}, {filters}):
        with T.sblock("C"):
            vb, vy, vx, vf = T.axis.remap("SSSS", [b, y, x, f])
            C[vb, vy, vx, vf] = T.Cast("int8", T.max(T.min(S[vb, vy, vx, vf], 127), 0))
"""


@dataclass(frozen=True)
class Window:
    """A convolution of `size` x `size` results and a square window, and its tile: images, rows, filters, channels."""

    batch: int
    size: int
    channels: int
    filters: int
    window: int
    stride: int
    tile: tuple[int, int, int, int]

    @property
    def products(self) -> int:
        """Multiply-adds."""
        return self.batch * self.size**2 * self.channels * self.filters * self.window**2


def gemmini_convolution(w: Window) -> Schedule:
    """A convolution of int8 on Gemmini, narrowed to int8 and rectified on its way out; its input has its border of zeros in memory."""
    padded = (w.size - 1) * w.stride + w.window
    text = WINDOW.format(batch=w.batch, size=w.size, channels=w.channels, filters=w.filters, window=w.window, stride=w.stride,
                         padded=padded)  # fmt: skip
    sch = Schedule(parse(text).program)
    b, y, x, f, dy, dx, c = sch.get_loops("S")
    (bo, bi), (yo, yi), (fo, fi), (co, ci) = (
        sch.split(v, [None, t]) for v, t in zip((b, y, f, c), w.tile, strict=True)
    )
    sch.reorder(bo, yo, fo, co, bi, yi, x, fi, dy, dx, ci)
    _stage(sch, co, fo, reads=True, sums=True)
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
