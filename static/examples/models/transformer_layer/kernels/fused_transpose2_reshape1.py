# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_transpose2_reshape1(
    lv16: T.Buffer((T.int64(4), T.int64(128), T.int64(64)), "float32"),
    T_reshape_intermediate: T.Buffer((T.int64(128), T.int64(256)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    T_transpose_intermediate = T.sblock_alloc_buffer((T.int64(128), T.int64(4), T.int64(64)))
    for ax0, ax1, ax2 in T.grid(T.int64(128), T.int64(4), T.int64(64)):
        with T.sblock("T_transpose"):
            v_ax0, v_ax1, v_ax2 = T.axis.remap("SSS", [ax0, ax1, ax2])
            T.reads(lv16[v_ax1, v_ax0, v_ax2])
            T.writes(T_transpose_intermediate[v_ax0, v_ax1, v_ax2])
            T_transpose_intermediate[v_ax0, v_ax1, v_ax2] = lv16[v_ax1, v_ax0, v_ax2]
    for ax0, ax1 in T.grid(T.int64(128), T.int64(256)):
        with T.sblock("T_reshape"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(T_transpose_intermediate[(v_ax1 // T.int64(256) + v_ax0) % T.int64(128), v_ax1 % T.int64(256) // T.int64(64), v_ax1 % T.int64(64)])
            T.writes(T_reshape_intermediate[v_ax0, v_ax1])
            T_reshape_intermediate[v_ax0, v_ax1] = T_transpose_intermediate[(v_ax1 // T.int64(256) + v_ax0) % T.int64(128), v_ax1 % T.int64(256) // T.int64(64), v_ax1 % T.int64(64)]


# %% schedule
sch = tilewright.Schedule(fused_transpose2_reshape1)
# Elementwise work in its reader: T_transpose inlined.
sch.compute_inline("T_transpose")
sch.annotate("T_reshape", "engine", "vector")
# Tiles of the last block: tiles of T_reshape: loops ax0.
T_reshape = sch.get_block("T_reshape")
ax0, ax1 = sch.get_loops(T_reshape)
tile_ax0 = 64
ax0_o, ax0_i = sch.split(ax0, [None, tile_ax0], names=["ax0_o", "ax0_i"])
# Operands copied to the engines: lv16 copied at loop ax0_o.
lv16_in = sch.cache_read("T_reshape", "lv16", "local.vtcm")
sch.compute_at(lv16_in, ax0_o)
# Results tile by tile: T_reshape leaves tile by tile from local.vtcm.
T_reshape_out = sch.cache_write("T_reshape", 0, "local.vtcm")
sch.reverse_compute_at(T_reshape_out, ax0_o)
T_reshape_slots = 2
sch.double_buffer("T_reshape", slots=T_reshape_slots)
# Overlap of the engines: pipeline of ax0_o in up to 2 stages.
stages = [0, 1, 1]
sch.pipeline(ax0_o, stages=stages)
# Left out: tiles of the main block: 23,924 cycles.
# Left out: tiles of T_reshape by ax1: no tried point is faster.
# Left out: tiles of T_reshape by ax1, ax0: no tried point is faster.
# Left out: tiles of T_reshape by ax0, ax1: a higher estimate.
