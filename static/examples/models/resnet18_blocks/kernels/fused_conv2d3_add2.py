# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_conv2d3_add2(
    lv13: T.Buffer((T.int64(1), T.int64(64), T.int64(56), T.int64(56)), "float32"),
    w12: T.Buffer((T.int64(128), T.int64(64), T.int64(1), T.int64(1)), "float32"),
    w13: T.Buffer((T.int64(1), T.int64(128), T.int64(1), T.int64(1)), "float32"),
    T_add_intermediate: T.Buffer((T.int64(1), T.int64(128), T.int64(28), T.int64(28)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    pad_temp = T.sblock_alloc_buffer((T.int64(1), T.int64(64), T.int64(56), T.int64(56)))
    conv2d_nchw_intermediate = T.sblock_alloc_buffer((T.int64(1), T.int64(128), T.int64(28), T.int64(28)))
    for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(64), T.int64(56), T.int64(56)):
        with T.sblock("pad_temp"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(lv13[v_i0, v_i1, v_i2, v_i3])
            T.writes(pad_temp[v_i0, v_i1, v_i2, v_i3])
            pad_temp[v_i0, v_i1, v_i2, v_i3] = lv13[v_i0, v_i1, v_i2, v_i3]
    for nn, ff, yy, xx, rc, ry, rx in T.grid(T.int64(1), T.int64(128), T.int64(28), T.int64(28), T.int64(64), T.int64(1), T.int64(1)):
        with T.sblock("conv2d_nchw"):
            v_nn, v_ff, v_yy, v_xx, v_rc, v_ry, v_rx = T.axis.remap("SSSSRRR", [nn, ff, yy, xx, rc, ry, rx])
            T.reads(pad_temp[v_nn, v_rc, v_yy * T.int64(2) + v_ry, v_xx * T.int64(2) + v_rx], w12[v_ff, v_rc, v_ry, v_rx])
            T.writes(conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx])
            with T.init():
                conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] = T.float32(0.0)
            conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] = conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] + pad_temp[v_nn, v_rc, v_yy * T.int64(2) + v_ry, v_xx * T.int64(2) + v_rx] * w12[v_ff, v_rc, v_ry, v_rx]
    for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(128), T.int64(28), T.int64(28)):
        with T.sblock("T_add"):
            v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            T.reads(conv2d_nchw_intermediate[v_ax0, v_ax1, v_ax2, v_ax3], w13[v_ax0, v_ax1, T.int64(0), T.int64(0)])
            T.writes(T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3])
            T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] = conv2d_nchw_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] + w13[v_ax0, v_ax1, T.int64(0), T.int64(0)]


# %% schedule
sch = tilewright.Schedule(fused_conv2d3_add2)
# The engine of each block: conv2d_nchw on matrix: a product.
sch.annotate("pad_temp", "engine", "vector")
# Tiles of the last block: tiles of T_add: loops ax1, ax2.
T_add = sch.get_block("T_add")
ax0, ax1, ax2, ax3 = sch.get_loops(T_add)
tile_ax1 = 128
ax1_o, ax1_i = sch.split(ax1, [None, tile_ax1], names=["ax1_o", "ax1_i"])
tile_ax2 = 1
ax2_o, ax2_i = sch.split(ax2, [None, tile_ax2], names=["ax2_o", "ax2_i"])
sch.reorder(ax1_o, ax2_o, ax0, ax1_i, ax2_i, ax3)
# Producers tile by tile: conv2d_nchw at loop ax2_o; pad_temp at loop ax2_o.
sch.compute_at("conv2d_nchw", ax2_o)
sch.compute_at("pad_temp", ax2_o)
# Intermediate buffers on chip: pad_temp in local.vtcm; conv2d_nchw_intermediate in local.acc or local.vtcm.
sch.set_scope("pad_temp", 0, "local.vtcm")
conv2d_nchw_intermediate_scope = "local.acc"
sch.set_scope("conv2d_nchw", 0, conv2d_nchw_intermediate_scope)
# Operands copied to the engines: lv13 copied at loop ax2_o; w12 copied at loop ax1_o; w13 copied at the
#   start.
lv13_in = sch.cache_read("pad_temp", "lv13", "local.vtcm")
sch.compute_at(lv13_in, ax2_o)
w12_in = sch.cache_read("conv2d_nchw", "w12", "local.vtcm")
sch.compute_at(w12_in, ax1_o)
w13_in = sch.cache_read("T_add", "w13", "local.vtcm")
# Results tile by tile: T_add leaves tile by tile from local.vtcm.
T_add_out = sch.cache_write("T_add", 0, "local.vtcm")
sch.reverse_compute_at(T_add_out, ax2_o)
T_add_slots = 2
sch.double_buffer("T_add", slots=T_add_slots)
# Overlap of the engines: pipeline of ax2_o in up to 4 stages; pipeline of ax1_o in up to 2 stages.
stages = [0, 1, 2, 3, 3]
sch.pipeline(ax2_o, stages=stages)
stages_1 = [0, 1]
sch.pipeline(ax1_o, stages=stages_1)
# Left out: tiles of the main block: 134,026 cycles.
# Left out: tiles of T_add by ax1: no tried point is faster.
# Left out: tiles of T_add by ax1, ax3: no tried point is faster.
# Left out: tiles of T_add by ax3, ax1: no tried point is faster.
# Left out: tiles of T_add by ax3: no tried point is faster.
