# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def layer_norm(
    x: T.Buffer((T.int64(128), T.int64(256)), "float32"),
    w0: T.Buffer((T.int64(256),), "float32"),
    w1: T.Buffer((T.int64(256),), "float32"),
    T_layer_norm: T.Buffer((T.int64(128), T.int64(256)), "float32"),
):
    T.func_attr({"op_pattern": 4, "tirx.noalias": True})
    # with T.sblock("root"):
    x_sum = T.sblock_alloc_buffer((T.int64(128),))
    x_mean = T.sblock_alloc_buffer((T.int64(128),))
    x_var_sum = T.sblock_alloc_buffer((T.int64(128),))
    for ax0, k1 in T.grid(T.int64(128), T.int64(256)):
        with T.sblock("x_sum"):
            v_ax0, v_k1 = T.axis.remap("SR", [ax0, k1])
            T.reads(x[v_ax0, v_k1])
            T.writes(x_sum[v_ax0])
            with T.init():
                x_sum[v_ax0] = T.float32(0.0)
            x_sum[v_ax0] = x_sum[v_ax0] + x[v_ax0, v_k1]
    for ax0 in range(T.int64(128)):
        with T.sblock("x_mean"):
            v_ax0 = T.axis.spatial(T.int64(128), ax0)
            T.reads(x_sum[v_ax0])
            T.writes(x_mean[v_ax0])
            x_mean[v_ax0] = x_sum[v_ax0] / T.float32(256.0)
    for ax0, k1 in T.grid(T.int64(128), T.int64(256)):
        with T.sblock("x_var_sum"):
            v_ax0, v_k1 = T.axis.remap("SR", [ax0, k1])
            T.reads(x[v_ax0, v_k1], x_mean[v_ax0])
            T.writes(x_var_sum[v_ax0])
            with T.init():
                x_var_sum[v_ax0] = T.float32(0.0)
            x_var_sum[v_ax0] = x_var_sum[v_ax0] + (x[v_ax0, v_k1] - x_mean[v_ax0]) * (x[v_ax0, v_k1] - x_mean[v_ax0])
    for ax0, ax1 in T.grid(T.int64(128), T.int64(256)):
        with T.sblock("T_layer_norm"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(x[v_ax0, v_ax1], x_mean[v_ax0], x_var_sum[v_ax0], w0[v_ax1], w1[v_ax1])
            T.writes(T_layer_norm[v_ax0, v_ax1])
            T_layer_norm[v_ax0, v_ax1] = (x[v_ax0, v_ax1] - x_mean[v_ax0]) * T.rsqrt(x_var_sum[v_ax0] / T.float32(256.0) + T.float32(1e-05)) * w0[v_ax1] + w1[v_ax1]


# %% schedule
sch = tilewright.Schedule(layer_norm)
# Tiles of the last block: tiles of T_layer_norm: loops ax0.
T_layer_norm = sch.get_block("T_layer_norm")
ax0, ax1 = sch.get_loops(T_layer_norm)
tile_ax0 = 8
ax0_o, ax0_i = sch.split(ax0, [None, tile_ax0], names=["ax0_o", "ax0_i"])
# Producers tile by tile: x_var_sum at loop ax0_o; x_mean at loop ax0_o; x_sum at loop ax0_o.
sch.compute_at("x_var_sum", ax0_o)
sch.compute_at("x_mean", ax0_o)
sch.compute_at("x_sum", ax0_o)
# Intermediate buffers on chip: x_sum in local.vtcm or local.acc; x_mean in local.vtcm or local.acc; x_var_sum
#   in local.vtcm or local.acc.
x_sum_scope = "local.vtcm"
sch.set_scope("x_sum", 0, x_sum_scope)
x_mean_scope = "local.vtcm"
sch.set_scope("x_mean", 0, x_mean_scope)
x_var_sum_scope = "local.vtcm"
sch.set_scope("x_var_sum", 0, x_var_sum_scope)
# Operands copied to the engines: x copied at loop ax0_o; w0 copied at the start; w1 copied at the start.
x_in = sch.cache_read("x_sum", "x", "local.vtcm", consumer_blocks=["x_sum", "x_var_sum", "T_layer_norm"])
sch.compute_at(x_in, ax0_o)
w0_in = sch.cache_read("T_layer_norm", "w0", "local.vtcm")
w1_in = sch.cache_read("T_layer_norm", "w1", "local.vtcm")
# Results tile by tile: T_layer_norm leaves tile by tile from local.vtcm.
T_layer_norm_out = sch.cache_write("T_layer_norm", 0, "local.vtcm")
sch.reverse_compute_at(T_layer_norm_out, ax0_o)
T_layer_norm_slots = 2
sch.double_buffer("T_layer_norm", slots=T_layer_norm_slots)
# Overlap of the engines: pipeline of ax0_o in up to 2 stages.
stages = [0, 1, 1, 1, 1, 1]
sch.pipeline(ax0_o, stages=stages)
# Left out: tiles of the main block: 1,317,362 cycles.
# Left out: tiles of T_layer_norm by ax1, ax0: no tried point is faster.
# Left out: tiles of T_layer_norm by ax0, ax1: no tried point is faster.
# Left out: tiles of T_layer_norm by ax1: a higher estimate.
