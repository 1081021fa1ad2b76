# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_matmul_add_add1(
    lv18: T.Buffer((T.int64(128), T.int64(256)), "float32"),
    w8: T.Buffer((T.int64(256), T.int64(256)), "float32"),
    w9: T.Buffer((T.int64(256),), "float32"),
    x: T.Buffer((T.int64(128), T.int64(256)), "float32"),
    T_add_intermediate_1: T.Buffer((T.int64(128), T.int64(256)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    matmul_intermediate = T.sblock_alloc_buffer((T.int64(128), T.int64(256)))
    T_add_intermediate = T.sblock_alloc_buffer((T.int64(128), T.int64(256)))
    for i0, i1, k in T.grid(T.int64(128), T.int64(256), T.int64(256)):
        with T.sblock("matmul"):
            v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
            T.reads(lv18[v_i0, v_k], w8[v_k, v_i1])
            T.writes(matmul_intermediate[v_i0, v_i1])
            with T.init():
                matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
            matmul_intermediate[v_i0, v_i1] = matmul_intermediate[v_i0, v_i1] + lv18[v_i0, v_k] * w8[v_k, v_i1]
    for ax0, ax1 in T.grid(T.int64(128), T.int64(256)):
        with T.sblock("T_add"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(matmul_intermediate[v_ax0, v_ax1], w9[v_ax1])
            T.writes(T_add_intermediate[v_ax0, v_ax1])
            T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + w9[v_ax1]
    for ax0, ax1 in T.grid(T.int64(128), T.int64(256)):
        with T.sblock("T_add1"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(x[v_ax0, v_ax1], T_add_intermediate[v_ax0, v_ax1])
            T.writes(T_add_intermediate_1[v_ax0, v_ax1])
            T_add_intermediate_1[v_ax0, v_ax1] = x[v_ax0, v_ax1] + T_add_intermediate[v_ax0, v_ax1]


# %% schedule
sch = tilewright.Schedule(fused_matmul_add_add1)
# Elementwise work in its reader: T_add inlined.
sch.compute_inline("T_add")
# The engine of each block: matmul on matrix: a product.
# Tiles of the last block: tiles of T_add1: loops ax0, ax1.
T_add1 = sch.get_block("T_add1")
ax0, ax1 = sch.get_loops(T_add1)
tile_ax0 = 64
ax0_o, ax0_i = sch.split(ax0, [None, tile_ax0], names=["ax0_o", "ax0_i"])
tile_ax1 = 32
ax1_o, ax1_i = sch.split(ax1, [None, tile_ax1], names=["ax1_o", "ax1_i"])
sch.reorder(ax0_o, ax1_o, ax0_i, ax1_i)
# Producers tile by tile: matmul at loop ax1_o.
sch.compute_at("matmul", ax1_o)
# Intermediate buffers on chip: matmul_intermediate in local.acc or local.vtcm.
matmul_intermediate_scope = "local.acc"
sch.set_scope("matmul", 0, matmul_intermediate_scope)
# Operands copied to the engines: lv18 copied at loop ax0_o; w8 copied at loop ax1_o; x copied at loop ax1_o;
#   w9 copied at the start.
lv18_in = sch.cache_read("matmul", "lv18", "local.vtcm")
sch.compute_at(lv18_in, ax0_o)
w8_in = sch.cache_read("matmul", "w8", "local.vtcm")
sch.compute_at(w8_in, ax1_o)
x_in = sch.cache_read("T_add1", "x", "local.vtcm")
sch.compute_at(x_in, ax1_o)
w9_in = sch.cache_read("T_add1", "w9", "local.vtcm")
# Results tile by tile: T_add1 leaves tile by tile from local.vtcm.
T_add1_out = sch.cache_write("T_add1", 0, "local.vtcm")
sch.reverse_compute_at(T_add1_out, ax1_o)
T_add1_slots = 2
sch.double_buffer("T_add1", slots=T_add1_slots)
# Overlap of the engines: pipeline of ax1_o in up to 3 stages; pipeline of ax0_o in up to 2 stages.
stages = [0, 1, 0, 1, 1]
sch.pipeline(ax1_o, stages=stages)
stages_1 = [0, 0]
sch.pipeline(ax0_o, stages=stages_1)
# Left out: tiles of the main block: no tried point is faster.
# Left out: tiles of T_add1 by ax0: no tried point is faster.
# Left out: tiles of T_add1 by ax1: no tried point is faster.
# Left out: tiles of T_add1 by ax1, ax0: no tried point is faster.
