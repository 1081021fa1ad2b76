# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_matmul3_add2_gelu(
    lv22: T.Buffer((T.int64(128), T.int64(256)), "float32"),
    w12: T.Buffer((T.int64(256), T.int64(1024)), "float32"),
    w13: T.Buffer((T.int64(1024),), "float32"),
    T_multiply_intermediate: T.Buffer((T.int64(128), T.int64(1024)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    matmul_intermediate = T.sblock_alloc_buffer((T.int64(128), T.int64(1024)))
    T_add_intermediate = T.sblock_alloc_buffer((T.int64(128), T.int64(1024)))
    T_multiply = T.sblock_alloc_buffer((T.int64(128), T.int64(1024)))
    compute = T.sblock_alloc_buffer((T.int64(128), T.int64(1024)))
    T_multiply_1 = T.sblock_alloc_buffer((T.int64(128), T.int64(1024)))
    T_add = T.sblock_alloc_buffer((T.int64(128), T.int64(1024)))
    for i0, i1, k in T.grid(T.int64(128), T.int64(1024), T.int64(256)):
        with T.sblock("matmul"):
            v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
            T.reads(lv22[v_i0, v_k], w12[v_k, v_i1])
            T.writes(matmul_intermediate[v_i0, v_i1])
            with T.init():
                matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
            matmul_intermediate[v_i0, v_i1] = matmul_intermediate[v_i0, v_i1] + lv22[v_i0, v_k] * w12[v_k, v_i1]
    for ax0, ax1 in T.grid(T.int64(128), T.int64(1024)):
        with T.sblock("T_add"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(matmul_intermediate[v_ax0, v_ax1], w13[v_ax1])
            T.writes(T_add_intermediate[v_ax0, v_ax1])
            T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + w13[v_ax1]
    for ax0, ax1 in T.grid(T.int64(128), T.int64(1024)):
        with T.sblock("T_multiply"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(T_add_intermediate[v_ax0, v_ax1])
            T.writes(T_multiply[v_ax0, v_ax1])
            T_multiply[v_ax0, v_ax1] = T_add_intermediate[v_ax0, v_ax1] * T.float32(0.7071067811865476)
    for i0, i1 in T.grid(T.int64(128), T.int64(1024)):
        with T.sblock("compute"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.reads(T_multiply[v_i0, v_i1])
            T.writes(compute[v_i0, v_i1])
            compute[v_i0, v_i1] = T.erf(T_multiply[v_i0, v_i1])
    for ax0, ax1 in T.grid(T.int64(128), T.int64(1024)):
        with T.sblock("T_multiply_1"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(compute[v_ax0, v_ax1])
            T.writes(T_multiply_1[v_ax0, v_ax1])
            T_multiply_1[v_ax0, v_ax1] = compute[v_ax0, v_ax1] * T.float32(0.5)
    for ax0, ax1 in T.grid(T.int64(128), T.int64(1024)):
        with T.sblock("T_add1"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(T_multiply_1[v_ax0, v_ax1])
            T.writes(T_add[v_ax0, v_ax1])
            T_add[v_ax0, v_ax1] = T.float32(0.5) + T_multiply_1[v_ax0, v_ax1]
    for ax0, ax1 in T.grid(T.int64(128), T.int64(1024)):
        with T.sblock("T_multiply_2"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(T_add_intermediate[v_ax0, v_ax1], T_add[v_ax0, v_ax1])
            T.writes(T_multiply_intermediate[v_ax0, v_ax1])
            T_multiply_intermediate[v_ax0, v_ax1] = T_add_intermediate[v_ax0, v_ax1] * T_add[v_ax0, v_ax1]


# %% schedule
sch = tilewright.Schedule(fused_matmul3_add2_gelu)
# Elementwise work in its reader: T_multiply inlined; compute inlined; T_multiply_1 inlined; T_add1 inlined.
sch.compute_inline("T_multiply")
sch.compute_inline("compute")
sch.compute_inline("T_multiply_1")
sch.compute_inline("T_add1")
# The engine of each block: matmul on matrix: a product.
# Tiles of the last block: tiles of T_multiply_2: loops ax1.
T_multiply_2 = sch.get_block("T_multiply_2")
ax0, ax1 = sch.get_loops(T_multiply_2)
tile_ax1 = 32
ax1_o, ax1_i = sch.split(ax1, [None, tile_ax1], names=["ax1_o", "ax1_i"])
sch.reorder(ax1_o, ax0, ax1_i)
# Producers tile by tile: T_add at loop ax1_o; matmul at loop ax1_o.
sch.compute_at("T_add", ax1_o)
sch.compute_at("matmul", ax1_o)
# Intermediate buffers on chip: matmul_intermediate in local.acc or local.vtcm; T_add_intermediate in
#   local.vtcm or local.acc.
matmul_intermediate_scope = "local.acc"
sch.set_scope("matmul", 0, matmul_intermediate_scope)
T_add_intermediate_scope = "local.vtcm"
sch.set_scope("T_add", 0, T_add_intermediate_scope)
# Operands copied to the engines: lv22 copied at the start; w12 copied at loop ax1_o; w13 copied at the start.
lv22_in = sch.cache_read("matmul", "lv22", "local.vtcm")
w12_in = sch.cache_read("matmul", "w12", "local.vtcm")
sch.compute_at(w12_in, ax1_o)
w13_in = sch.cache_read("T_add", "w13", "local.vtcm")
# Results tile by tile: T_multiply_2 leaves tile by tile from local.vtcm.
T_multiply_2_out = sch.cache_write("T_multiply_2", 0, "local.vtcm")
sch.reverse_compute_at(T_multiply_2_out, ax1_o)
T_multiply_2_slots = 2
sch.double_buffer("T_multiply_2", slots=T_multiply_2_slots)
# Overlap of the engines: pipeline of ax1_o in up to 3 stages.
stages = [0, 1, 2, 2, 2]
sch.pipeline(ax1_o, stages=stages)
# Left out: tiles of the main block: no tried point is faster.
# Left out: tiles of T_multiply_2 by ax0: no tried point is faster.
# Left out: tiles of T_multiply_2 by ax0, ax1: no tried point is faster.
# Left out: tiles of T_multiply_2 by ax1, ax0: a higher estimate.
