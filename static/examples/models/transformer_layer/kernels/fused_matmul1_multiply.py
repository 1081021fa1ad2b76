# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_matmul1_multiply(
    lv8: T.Buffer((T.int64(4), T.int64(128), T.int64(64)), "float32"),
    lv10: T.Buffer((T.int64(4), T.int64(64), T.int64(128)), "float32"),
    T_multiply_intermediate: T.Buffer((T.int64(4), T.int64(128), T.int64(128)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    matmul_intermediate = T.sblock_alloc_buffer((T.int64(4), T.int64(128), T.int64(128)))
    for i0, i1, i2, k in T.grid(T.int64(4), T.int64(128), T.int64(128), T.int64(64)):
        with T.sblock("matmul"):
            v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
            T.reads(lv8[v_i0, v_i1, v_k], lv10[v_i0, v_k, v_i2])
            T.writes(matmul_intermediate[v_i0, v_i1, v_i2])
            with T.init():
                matmul_intermediate[v_i0, v_i1, v_i2] = T.float32(0.0)
            matmul_intermediate[v_i0, v_i1, v_i2] = matmul_intermediate[v_i0, v_i1, v_i2] + lv8[v_i0, v_i1, v_k] * lv10[v_i0, v_k, v_i2]
    for ax0, ax1, ax2 in T.grid(T.int64(4), T.int64(128), T.int64(128)):
        with T.sblock("T_multiply"):
            v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
            T.reads(matmul_intermediate[v_ax0, v_ax1, v_ax2])
            T.writes(T_multiply_intermediate[v_ax0, v_ax1, v_ax2])
            T_multiply_intermediate[v_ax0, v_ax1, v_ax2] = matmul_intermediate[v_ax0, v_ax1, v_ax2] * T.float32(0.125)


# %% schedule
sch = tilewright.Schedule(fused_matmul1_multiply)
# The engine of each block: matmul on matrix: a product.
# Tiles of the last block: tiles of T_multiply: loops ax0.
T_multiply = sch.get_block("T_multiply")
ax0, ax1, ax2 = sch.get_loops(T_multiply)
tile_ax0 = 1
ax0_o, ax0_i = sch.split(ax0, [None, tile_ax0], names=["ax0_o", "ax0_i"])
# Producers tile by tile: matmul at loop ax0_o.
sch.compute_at("matmul", ax0_o)
# Intermediate buffers on chip: matmul_intermediate in local.acc or local.vtcm.
matmul_intermediate_scope = "local.acc"
sch.set_scope("matmul", 0, matmul_intermediate_scope)
# Operands copied to the engines: lv8 copied at loop ax0_o; lv10 copied at loop ax0_o.
lv8_in = sch.cache_read("matmul", "lv8", "local.vtcm")
sch.compute_at(lv8_in, ax0_o)
lv10_in = sch.cache_read("matmul", "lv10", "local.vtcm")
sch.compute_at(lv10_in, ax0_o)
# Results tile by tile: T_multiply leaves tile by tile from local.vtcm.
T_multiply_out = sch.cache_write("T_multiply", 0, "local.vtcm")
sch.reverse_compute_at(T_multiply_out, ax0_o)
T_multiply_slots = 2
sch.double_buffer("T_multiply", slots=T_multiply_slots)
# Overlap of the engines: pipeline of ax0_o in up to 3 stages.
stages = [0, 0, 1, 1, 1]
sch.pipeline(ax0_o, stages=stages)
# Left out: tiles of the main block: 41,226 cycles.
# Left out: tiles of T_multiply by ax0, ax2: no tried point is faster.
# Left out: tiles of T_multiply by ax0, ax1: no tried point is faster.
# Left out: tiles of T_multiply by ax2: no tried point is faster.
# Left out: tiles of T_multiply by ax2, ax0: no tried point is faster.
