# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def softmax(
    lv12: T.Buffer((T.int64(4), T.int64(128), T.int64(128)), "float32"),
    T_softmax_norm: T.Buffer((T.int64(4), T.int64(128), T.int64(128)), "float32"),
):
    T.func_attr({"op_pattern": 4, "tirx.noalias": True})
    # with T.sblock("root"):
    T_softmax_maxelem = T.sblock_alloc_buffer((T.int64(4), T.int64(128)))
    T_softmax_exp = T.sblock_alloc_buffer((T.int64(4), T.int64(128), T.int64(128)))
    T_softmax_expsum = T.sblock_alloc_buffer((T.int64(4), T.int64(128)))
    for i0, i1, k in T.grid(T.int64(4), T.int64(128), T.int64(128)):
        with T.sblock("T_softmax_maxelem"):
            v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
            T.reads(lv12[v_i0, v_i1, v_k])
            T.writes(T_softmax_maxelem[v_i0, v_i1])
            with T.init():
                T_softmax_maxelem[v_i0, v_i1] = T.float32(-3.4028234663852886e+38)
            T_softmax_maxelem[v_i0, v_i1] = T.max(T_softmax_maxelem[v_i0, v_i1], lv12[v_i0, v_i1, v_k])
    for i0, i1, i2 in T.grid(T.int64(4), T.int64(128), T.int64(128)):
        with T.sblock("T_softmax_exp"):
            v_i0, v_i1, v_i2 = T.axis.remap("SSS", [i0, i1, i2])
            T.reads(lv12[v_i0, v_i1, v_i2], T_softmax_maxelem[v_i0, v_i1])
            T.writes(T_softmax_exp[v_i0, v_i1, v_i2])
            T_softmax_exp[v_i0, v_i1, v_i2] = T.exp(lv12[v_i0, v_i1, v_i2] - T_softmax_maxelem[v_i0, v_i1])
    for i0, i1, k in T.grid(T.int64(4), T.int64(128), T.int64(128)):
        with T.sblock("T_softmax_expsum"):
            v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
            T.reads(T_softmax_exp[v_i0, v_i1, v_k])
            T.writes(T_softmax_expsum[v_i0, v_i1])
            with T.init():
                T_softmax_expsum[v_i0, v_i1] = T.float32(0.0)
            T_softmax_expsum[v_i0, v_i1] = T_softmax_expsum[v_i0, v_i1] + T_softmax_exp[v_i0, v_i1, v_k]
    for i0, i1, i2 in T.grid(T.int64(4), T.int64(128), T.int64(128)):
        with T.sblock("T_softmax_norm"):
            v_i0, v_i1, v_i2 = T.axis.remap("SSS", [i0, i1, i2])
            T.reads(T_softmax_exp[v_i0, v_i1, v_i2], T_softmax_expsum[v_i0, v_i1])
            T.writes(T_softmax_norm[v_i0, v_i1, v_i2])
            T.sblock_attr({"axis": 2})
            T_softmax_norm[v_i0, v_i1, v_i2] = T_softmax_exp[v_i0, v_i1, v_i2] / T_softmax_expsum[v_i0, v_i1]


# %% schedule
sch = tilewright.Schedule(softmax)
# Tiles of the last block: tiles of T_softmax_norm: loops i0, i1.
T_softmax_norm = sch.get_block("T_softmax_norm")
i0, i1, i2 = sch.get_loops(T_softmax_norm)
tile_i0 = 4
i0_o, i0_i = sch.split(i0, [None, tile_i0], names=["i0_o", "i0_i"])
tile_i1 = 8
i1_o, i1_i = sch.split(i1, [None, tile_i1], names=["i1_o", "i1_i"])
sch.reorder(i0_o, i1_o, i0_i, i1_i, i2)
# Producers tile by tile: T_softmax_expsum at loop i1_o; T_softmax_exp at loop i1_o; T_softmax_maxelem at loop
#   i1_o.
sch.compute_at("T_softmax_expsum", i1_o)
sch.compute_at("T_softmax_exp", i1_o)
sch.compute_at("T_softmax_maxelem", i1_o)
# Intermediate buffers on chip: T_softmax_maxelem in local.vtcm or local.acc; T_softmax_exp in local.vtcm or
#   local.acc; T_softmax_expsum in local.vtcm or local.acc.
T_softmax_maxelem_scope = "local.vtcm"
sch.set_scope("T_softmax_maxelem", 0, T_softmax_maxelem_scope)
T_softmax_exp_scope = "local.vtcm"
sch.set_scope("T_softmax_exp", 0, T_softmax_exp_scope)
T_softmax_expsum_scope = "local.vtcm"
sch.set_scope("T_softmax_expsum", 0, T_softmax_expsum_scope)
# Operands copied to the engines: lv12 copied at loop i1_o.
lv12_in = sch.cache_read("T_softmax_maxelem", "lv12", "local.vtcm", consumer_blocks=["T_softmax_maxelem", "T_softmax_exp"])
sch.compute_at(lv12_in, i1_o)
# Results tile by tile: T_softmax_norm leaves tile by tile from local.vtcm.
T_softmax_norm_out = sch.cache_write("T_softmax_norm", 0, "local.vtcm")
sch.reverse_compute_at(T_softmax_norm_out, i1_o)
T_softmax_norm_slots = 2
sch.double_buffer("T_softmax_norm", slots=T_softmax_norm_slots)
# Overlap of the engines: pipeline of i1_o in up to 2 stages.
stages = [0, 1, 1, 1, 1, 1]
sch.pipeline(i1_o, stages=stages)
# Left out: tiles of the main block: no tried point is faster.
# Left out: tiles of T_softmax_norm by i0: 87,216 cycles.
# Left out: tiles of T_softmax_norm by i0, i2: no tried point is faster.
# Left out: tiles of T_softmax_norm by i2, i0: no tried point is faster.
# Left out: tiles of T_softmax_norm by i2: no tried point is faster.
