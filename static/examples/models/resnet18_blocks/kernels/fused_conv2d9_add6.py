# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_conv2d9_add6(
    lv45: T.Buffer((T.int64(1), T.int64(256), T.int64(14), T.int64(14)), "float32"),
    w32: T.Buffer((T.int64(512), T.int64(256), T.int64(1), T.int64(1)), "float32"),
    w33: T.Buffer((T.int64(1), T.int64(512), T.int64(1), T.int64(1)), "float32"),
    T_add_intermediate: T.Buffer((T.int64(1), T.int64(512), T.int64(7), T.int64(7)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    pad_temp = T.sblock_alloc_buffer((T.int64(1), T.int64(256), T.int64(14), T.int64(14)))
    conv2d_nchw_intermediate = T.sblock_alloc_buffer((T.int64(1), T.int64(512), T.int64(7), T.int64(7)))
    for i0, i1, i2, i3 in T.grid(T.int64(1), T.int64(256), T.int64(14), T.int64(14)):
        with T.sblock("pad_temp"):
            v_i0, v_i1, v_i2, v_i3 = T.axis.remap("SSSS", [i0, i1, i2, i3])
            T.reads(lv45[v_i0, v_i1, v_i2, v_i3])
            T.writes(pad_temp[v_i0, v_i1, v_i2, v_i3])
            pad_temp[v_i0, v_i1, v_i2, v_i3] = lv45[v_i0, v_i1, v_i2, v_i3]
    for nn, ff, yy, xx, rc, ry, rx in T.grid(T.int64(1), T.int64(512), T.int64(7), T.int64(7), T.int64(256), T.int64(1), T.int64(1)):
        with T.sblock("conv2d_nchw"):
            v_nn, v_ff, v_yy, v_xx, v_rc, v_ry, v_rx = T.axis.remap("SSSSRRR", [nn, ff, yy, xx, rc, ry, rx])
            T.reads(pad_temp[v_nn, v_rc, v_yy * T.int64(2) + v_ry, v_xx * T.int64(2) + v_rx], w32[v_ff, v_rc, v_ry, v_rx])
            T.writes(conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx])
            with T.init():
                conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] = T.float32(0.0)
            conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] = conv2d_nchw_intermediate[v_nn, v_ff, v_yy, v_xx] + pad_temp[v_nn, v_rc, v_yy * T.int64(2) + v_ry, v_xx * T.int64(2) + v_rx] * w32[v_ff, v_rc, v_ry, v_rx]
    for ax0, ax1, ax2, ax3 in T.grid(T.int64(1), T.int64(512), T.int64(7), T.int64(7)):
        with T.sblock("T_add"):
            v_ax0, v_ax1, v_ax2, v_ax3 = T.axis.remap("SSSS", [ax0, ax1, ax2, ax3])
            T.reads(conv2d_nchw_intermediate[v_ax0, v_ax1, v_ax2, v_ax3], w33[v_ax0, v_ax1, T.int64(0), T.int64(0)])
            T.writes(T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3])
            T_add_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] = conv2d_nchw_intermediate[v_ax0, v_ax1, v_ax2, v_ax3] + w33[v_ax0, v_ax1, T.int64(0), T.int64(0)]


# %% schedule
sch = tilewright.Schedule(fused_conv2d9_add6)
conv2d_nchw = sch.get_block("conv2d_nchw")
nn, ff, yy, xx, rc, ry, rx = sch.get_loops(conv2d_nchw)
root, nn = sch.split(nn, [1, None], names=["root", "nn_all"])
tile_ff = 128
ff_o, ff_i = sch.split(ff, [None, tile_ff], names=["ff_o", "ff_i"])
tile_yy = 7
yy_o, yy_i = sch.split(yy, [None, tile_yy], names=["yy_o", "yy_i"])
tile_rc = 32
rc_o, rc_i = sch.split(rc, [None, tile_rc], names=["rc_o", "rc_i"])
order = ["ff_o", "yy_o", "rc_o"]
sch.reorder(*order, nn, ff_i, yy_i, xx, rc_i, ry, rx)
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
w32_in = sch.cache_read(conv2d_nchw, 1, "local.vtcm")
w32_at = "rc_o"
sch.compute_at(w32_in, w32_at)
w32_slots = 2
w32_banks = [0, 1]
sch.double_buffer(w32_in, banks=w32_banks, slots=w32_slots)
T_add = sch.get_block("T_add")
sch.reverse_compute_at(T_add, order[1])
w33_in = sch.cache_read(T_add, 1, "local.vtcm")
w33_at = "yy_o"
sch.compute_at(w33_in, w33_at)
w33_slots = 2
w33_banks = [0, 1]
sch.double_buffer(w33_in, banks=w33_banks, slots=w33_slots)
T_add_out = sch.cache_write(T_add, 0, "local.vtcm")
sch.reverse_compute_at(T_add_out, order[1])
lv45_layout = lambda i0, i1, i2, i3: [i0, i1, i2, i3]
sch.transform_layout(lv45_in, ("write", 0), lv45_layout)
w32_layout = lambda i0, i1, i2, i3: [i0, i1, i2, i3]
sch.transform_layout(w32_in, ("write", 0), w32_layout)
w33_layout = lambda i0, i1, i2, i3: [i0, i1, i2, i3]
sch.transform_layout(w33_in, ("write", 0), w33_layout)
# Left out: tiles of T_add by ax1: no tried point is faster.
# Left out: tiles of T_add by ax1, ax3: no tried point is faster.
# Left out: tiles of T_add by ax3, ax1: no tried point is faster.
# Left out: tiles of T_add by ax1, ax2: no tried point is faster.
# Left out: tiles of T_add by ax3: no tried point is faster.
