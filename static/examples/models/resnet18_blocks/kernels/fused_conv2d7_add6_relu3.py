# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_conv2d7_add6_relu3(
    lv45: T.Buffer((T.int64(1), T.int64(256), T.int64(14), T.int64(14)), "float32"),
    w28: T.Buffer((T.int64(512), T.int64(256), T.int64(3), T.int64(3)), "float32"),
    w29: T.Buffer((T.int64(1), T.int64(512), T.int64(1), T.int64(1)), "float32"),
    compute_intermediate: T.Buffer((T.int64(1), T.int64(512), T.int64(7), T.int64(7)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    pad_temp = T.sblock_alloc_buffer((T.int64(1), T.int64(256), T.int64(16), T.int64(16)))
    conv2d_nchw_intermediate = T.sblock_alloc_buffer((T.int64(1), T.int64(512), T.int64(7), T.int64(7)))
    T_add_intermediate = T.sblock_alloc_buffer((T.int64(1), T.int64(512), T.int64(7), T.int64(7)))
    for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(256), T.int64(16), T.int64(16)):
        with T.sblock("pad_temp"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(lv45[v_i0, v_i1, v_i2 - T.int64(1), v_i3 - T.int64(1)])
            T.writes(pad_temp[v_i0, v_i1, v_i2, v_i3])
            pad_temp[v_i0, v_i1, v_i2, v_i3] = T.if_then_else(T.int64(1) <= v_i2 and v_i2 < T.int64(15) and T.int64(1) <= v_i3 and v_i3 < T.int64(15), lv45[v_i0, v_i1, v_i2 - T.int64(1), v_i3 - T.int64(1)], T.float32(0.0))
    for nn, ff, yy, xx, rc, ry, rx in T.grid(T.int64(1), T.int64(512), T.int64(7), T.int64(7), T.int64(256), T.int64(3), T.int64(3)):
        with T.sblock("conv2d_nchw"):
            v_nn, v_ff, v_yy, v_xx, v_rc, v_ry, v_rx = T.axis.remap("SSSSRRR", [nn, ff, yy, xx, rc, ry, rx])
            T.reads(pad_temp[v_nn, v_rc, v_yy * T.int64(2) + v_ry, v_xx * T.int64(2) + v_rx], w28[v_ff, v_rc, v_ry, v_rx])
            T.writes(conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx])
            with T.init():
                conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] = T.float32(0.0)
            conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] = conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] + pad_temp[v_nn, v_rc, v_yy * T.int64(2) + v_ry, v_xx * T.int64(2) + v_rx] * w28[v_ff, v_rc, v_ry, v_rx]
    for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(512), T.int64(7), T.int64(7)):
        with T.sblock("T_add"):
            v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            T.reads(conv2d_nchw_intermediate[v_ax0, v_ax1, v_ax2, v_ax3], w29[v_ax0, v_ax1, T.int64(0), T.int64(0)])
            T.writes(T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3])
            T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] = conv2d_nchw_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] + w29[v_ax0, v_ax1, T.int64(0), T.int64(0)]
    for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(512), T.int64(7), T.int64(7)):
        with T.sblock("compute"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(T_add_intermediate[v_i0, v_i1, v_i2, v_i3])
            T.writes(compute_intermediate[v_i0, v_i1, v_i2, v_i3])
            compute_intermediate[v_i0, v_i1, v_i2, v_i3] = T.max(T_add_intermediate[v_i0, v_i1, v_i2, v_i3], T.float32(0.0))


# %% schedule
sch = tilewright.Schedule(fused_conv2d7_add6_relu3)
conv2d_nchw = sch.get_block("conv2d_nchw")
nn, ff, yy, xx, rc, ry, rx = sch.get_loops(conv2d_nchw)
tile_ff = 64
ff_o, ff_i = sch.split(ff, [None, tile_ff], names=["ff_o", "ff_i"])
tile_yy = 7
yy_o, yy_i = sch.split(yy, [None, tile_yy], names=["yy_o", "yy_i"])
tile_rc = 32
rc_o, rc_i = sch.split(rc, [None, tile_rc], names=["rc_o", "rc_i"])
tile_ry = 3
ry_o, ry_i = sch.split(ry, [None, tile_ry], names=["ry_o", "ry_i"])
order = ["ff_o", "yy_o", "rc_o", "ry_o"]
sch.reorder(*order, nn, ff_i, yy_i, xx, rc_i, ry_i, rx)
sch.set_scope(conv2d_nchw, 0, "local.acc")
pad_temp = sch.get_block("pad_temp")
sch.set_scope(pad_temp, 0, "local.vtcm")
pad_temp_at = "rc_o"
sch.compute_at(pad_temp, pad_temp_at)
pad_temp_slots = 2
pad_temp_banks = [0, 1]
sch.double_buffer(pad_temp, banks=pad_temp_banks, slots=pad_temp_slots)
lv45_in = sch.cache_read(pad_temp, 0, "local.vtcm")
sch.compute_at(lv45_in, pad_temp_at)
lv45_slots = 2
lv45_banks = [0, 1]
sch.double_buffer(lv45_in, banks=lv45_banks, slots=lv45_slots)
w28_in = sch.cache_read(conv2d_nchw, 1, "local.vtcm")
w28_at = "ry_o"
sch.compute_at(w28_in, w28_at)
w28_slots = 2
w28_banks = [0, 1]
sch.double_buffer(w28_in, banks=w28_banks, slots=w28_slots)
T_add = sch.get_block("T_add")
sch.reverse_compute_at(T_add, order[1])
w29_in = sch.cache_read(T_add, 1, "local.vtcm")
w29_at = "yy_o"
sch.compute_at(w29_in, w29_at)
w29_slots = 2
w29_banks = [0, 1]
sch.double_buffer(w29_in, banks=w29_banks, slots=w29_slots)
sch.set_scope(T_add, 0, "local.vtcm")
compute = sch.get_block("compute")
sch.reverse_compute_at(compute, order[1])
compute_out = sch.cache_write(compute, 0, "local.vtcm")
sch.reverse_compute_at(compute_out, order[1])
lv45_layout = lambda i0, i1, i2, i3: [i0, i1, i2, i3]
sch.transform_layout(lv45_in, ("write", 0), lv45_layout)
w28_layout = lambda i0, i1, i2, i3: [i0, i1, i2, i3]
sch.transform_layout(w28_in, ("write", 0), w28_layout)
w29_layout = lambda i0, i1, i2, i3: [i0, i1, i2, i3]
sch.transform_layout(w29_in, ("write", 0), w29_layout)
# Left out: tiles of compute by i1: no tried point is faster.
# Left out: tiles of compute by i1, i3: no tried point is faster.
# Left out: tiles of compute by i3, i1: no tried point is faster.
# Left out: tiles of compute by i1, i2: no tried point is faster.
# Left out: tiles of compute by i3: a higher estimate.
