# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_reshape_transpose(
    lv2: T.Buffer((T.int64(128), T.int64(256)), "float32"),
    T_transpose_intermediate: T.Buffer((T.int64(4), T.int64(128), T.int64(64)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    T_reshape_intermediate = T.sblock_alloc_buffer((T.int64(128), T.int64(4), T.int64(64)))
    for ax0, ax1, ax2 in T.grid(T.int64(128), T.int64(4), T.int64(64)):
        with T.sblock("T_reshape"):
            v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
            T.reads(lv2[((v_ax1 * T.int64(64) + v_ax2) // T.int64(256) + v_ax0) % T.int64(128), (v_ax1 * T.int64(64) + v_ax2) % T.int64(256)])
            T.writes(T_reshape_intermediate[v_ax0, v_ax1, v_ax2])
            T_reshape_intermediate[v_ax0, v_ax1, v_ax2] = lv2[((v_ax1 * T.int64(64) + v_ax2) // T.int64(256) + v_ax0) % T.int64(128), (v_ax1 * T.int64(64) + v_ax2) % T.int64(256)]
    for ax0, ax1, ax2 in T.grid(T.int64(4), T.int64(128), T.int64(64)):
        with T.sblock("T_transpose"):
            v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
            T.reads(T_reshape_intermediate[v_ax1, v_ax0, v_ax2])
            T.writes(T_transpose_intermediate[v_ax0, v_ax1, v_ax2])
            T_transpose_intermediate[v_ax0, v_ax1, v_ax2] = T_reshape_intermediate[v_ax1, v_ax0, v_ax2]


# %% schedule
sch = tilewright.Schedule(fused_reshape_transpose)
# Elementwise work in its reader: T_reshape inlined.
sch.compute_inline("T_reshape")
sch.annotate("T_transpose", "engine", "vector")
# Tiles of the last block: tiles of T_transpose: loops ax0.
T_transpose = sch.get_block("T_transpose")
ax0, ax1, ax2 = sch.get_loops(T_transpose)
tile_ax0 = 2
ax0_o, ax0_i = sch.split(ax0, [None, tile_ax0], names=["ax0_o", "ax0_i"])
# Operands copied to the engines: lv2 copied at loop ax0_o.
lv2_in = sch.cache_read("T_transpose", "lv2", "local.vtcm")
sch.compute_at(lv2_in, ax0_o)
# Results tile by tile: T_transpose leaves tile by tile from local.vtcm.
T_transpose_out = sch.cache_write("T_transpose", 0, "local.vtcm")
sch.reverse_compute_at(T_transpose_out, ax0_o)
T_transpose_slots = 2
sch.double_buffer("T_transpose", slots=T_transpose_slots)
# Overlap of the engines: pipeline of ax0_o in up to 2 stages.
stages = [0, 1, 1]
sch.pipeline(ax0_o, stages=stages)
# Left out: tiles of the main block: 18,964 cycles.
# Left out: tiles of T_transpose by ax2, ax0: no tried point is faster.
# Left out: tiles of T_transpose by ax0, ax1: no tried point is faster.
# Left out: tiles of T_transpose by ax2: no tried point is faster.
# Left out: tiles of T_transpose by ax0, ax2: no tried point is faster.
