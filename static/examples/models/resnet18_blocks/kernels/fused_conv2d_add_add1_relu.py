# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_conv2d_add_add1_relu(
    lv2: T.Buffer((T.int64(1), T.int64(64), T.int64(56), T.int64(56)), "float32"),
    w2: T.Buffer((T.int64(64), T.int64(64), T.int64(3), T.int64(3)), "float32"),
    w3: T.Buffer((T.int64(1), T.int64(64), T.int64(1), T.int64(1)), "float32"),
    x: T.Buffer((T.int64(1), T.int64(64), T.int64(56), T.int64(56)), "float32"),
    compute_intermediate: T.Buffer((T.int64(1), T.int64(64), T.int64(56), T.int64(56)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    pad_temp = T.sblock_alloc_buffer((T.int64(1), T.int64(64), T.int64(58), T.int64(58)))
    conv2d_nchw_intermediate = T.sblock_alloc_buffer((T.int64(1), T.int64(64), T.int64(56), T.int64(56)))
    T_add_intermediate = T.sblock_alloc_buffer((T.int64(1), T.int64(64), T.int64(56), T.int64(56)))
    T_add_intermediate_1 = T.sblock_alloc_buffer((T.int64(1), T.int64(64), T.int64(56), T.int64(56)))
    for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(64), T.int64(58), T.int64(58)):
        with T.sblock("pad_temp"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(lv2[v_i0, v_i1, v_i2 - T.int64(1), v_i3 - T.int64(1)])
            T.writes(pad_temp[v_i0, v_i1, v_i2, v_i3])
            pad_temp[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(T.int64(1) <= v_i2 and v_i2 < T.int64(57) and T.int64(1) <= v_i3 and v_i3 < T.int64(57), lv2[v_i0, v_i1, v_i2 - T.int64(1), v_i3 - T.int64(1)], T.float32(0.0))
    for nn, ff, yy, xx, rc, ry, rx in T.grid(T.int64(1), T.int64(64), T.int64(56), T.int64(56), T.int64(64), T.int64(3), T.int64(3)):
        with T.sblock("conv2d_nchw"):
            v_nn, v_ff, v_yy, v_xx, v_rc, v_ry, v_rx = T.axis.remap("SSSSRRR", [nn, ff, yy, xx, rc, ry, rx])
            T.reads(pad_temp[v_nn, v_rc, v_yy + v_ry, v_xx + v_rx], w2[v_ff, v_rc, v_ry, v_rx])
            T.writes(conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx])
            with T.init():
                conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] = T.float32(0.0)
            conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] = conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] + pad_temp[v_nn, v_rc, v_yy + v_ry, v_xx + v_rx] * w2[v_ff, v_rc, v_ry, v_rx]
    for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(64), T.int64(56), T.int64(56)):
        with T.sblock("T_add"):
            v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            T.reads(conv2d_nchw_intermediate[v_ax0, v_ax1, v_ax2, v_ax3], w3[v_ax0, v_ax1, T.int64(0), T.int64(0)])
            T.writes(T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3])
            T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] = conv2d_nchw_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] + w3[v_ax0, v_ax1, T.int64(0), T.int64(0)]
    for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(64), T.int64(56), T.int64(56)):
        with T.sblock("T_add1"):
            v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            T.reads(T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3], x[v_ax0, v_ax1, v_ax2, v_ax3])
            T.writes(T_add_intermediate_1[v_ax0, v_ax1, v_ax2, v_ax3])
            T_add_intermediate_1[v_ax0, v_ax1, v_ax2, v_ax3] = T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] + x[v_ax0, v_ax1, v_ax2, v_ax3]
    for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(64), T.int64(56), T.int64(56)):
        with T.sblock("compute"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(T_add_intermediate_1[v_i0, v_i1, v_i2, v_i3])
            T.writes(compute_intermediate[v_i0, v_i1, v_i2, v_i3])
            compute_intermediate[v_i0, v_i1, v_i2, v_i3] = T.max(T_add_intermediate_1[v_i0, v_i1, v_i2, v_i3], T.float32(0.0))


# %% schedule
sch = tilewright.Schedule(fused_conv2d_add_add1_relu)
# Elementwise work in its reader: T_add inlined; T_add1 inlined.
sch.compute_inline("T_add")
sch.compute_inline("T_add1")
# The engine of each block: conv2d_nchw on matrix: a product.
# Tiles of the last block: tiles of compute: loops i1, i2.
compute = sch.get_block("compute")
i0, i1, i2, i3 = sch.get_loops(compute)
tile_i1 = 32
i1_o, i1_i = sch.split(i1, [None, tile_i1], names=["i1_o", "i1_i"])
tile_i2 = 2
i2_o, i2_i = sch.split(i2, [None, tile_i2], names=["i2_o", "i2_i"])
sch.reorder(i1_o, i2_o, i0, i1_i, i2_i, i3)
# Producers tile by tile: conv2d_nchw at loop i2_o; pad_temp at loop i2_o.
sch.compute_at("conv2d_nchw", i2_o)
sch.compute_at("pad_temp", i2_o)
# Intermediate buffers on chip: pad_temp in local.vtcm; conv2d_nchw_intermediate in local.acc or local.vtcm.
sch.set_scope("pad_temp", 0, "local.vtcm")
conv2d_nchw_intermediate_scope = "local.acc"
sch.set_scope("conv2d_nchw", 0, conv2d_nchw_intermediate_scope)
# Padding filled and copied in place: padding pad_temp: filled, then copied in place.
pad_temp_loop = sch.get_loops("pad_temp")[2]
pad_temp_fill = sch.decompose_padding("pad_temp", pad_temp_loop)
# Operands copied to the engines: w2 copied at loop i1_o; w3 copied at the start; x copied at loop i2_o.
w2_in = sch.cache_read("conv2d_nchw", "w2", "local.vtcm")
sch.compute_at(w2_in, i1_o)
w3_in = sch.cache_read("compute", "w3", "local.vtcm")
x_in = sch.cache_read("compute", "x", "local.vtcm")
sch.compute_at(x_in, i2_o)
# Results tile by tile: compute leaves tile by tile from local.vtcm.
compute_out = sch.cache_write("compute", 0, "local.vtcm")
sch.reverse_compute_at(compute_out, i2_o)
compute_slots = 1
sch.double_buffer("compute", slots=compute_slots)
# Overlap of the engines: pipeline of i2_o in up to 3 stages; pipeline of i1_o in up to 2 stages.
stages = [0, 0, 1, 0, 2, 2]
sch.pipeline(i2_o, stages=stages)
stages_1 = [0, 0]
sch.pipeline(i1_o, stages=stages_1)
# Left out: tiles of the main block: 712,384 cycles.
# Left out: tiles of compute by i1: no tried point is faster.
# Left out: tiles of compute by i1, i3: no tried point is faster.
# Left out: tiles of compute by i3, i1: no tried point is faster.
# Left out: tiles of compute by i3: no tried point is faster.
