# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def matmul2(
    lv13: T.Buffer((T.int64(4), T.int64(128), T.int64(128)), "float32"),
    lv15: T.Buffer((T.int64(4), T.int64(128), T.int64(64)), "float32"),
    matmul: T.Buffer((T.int64(4), T.int64(128), T.int64(64)), "float32"),
):
    T.func_attr({"op_pattern": 4, "tirx.noalias": True})
    # with T.sblock("root"):
    for i0, i1, i2, k in T.grid(T.int64(4), T.int64(128), T.int64(64), T.int64(128)):
        with T.sblock("matmul"):
            v_i0, v_i1, v_i2, v_k = T.axis.remap("SSSR", [i0, i1, i2, k])
            T.reads(lv13[v_i0, v_i1, v_k], lv15[v_i0, v_k, v_i2])
            T.writes(matmul[v_i0, v_i1, v_i2])
            with T.init():
                matmul[v_i0, v_i1, v_i2] = T.float32(0.0)
            matmul[v_i0, v_i1, v_i2] = matmul[v_i0, v_i1, v_i2] + lv13[v_i0, v_i1, v_k] * lv15[v_i0, v_k, v_i2]


# %% schedule
sch = tilewright.Schedule(matmul2)
# The engine of each block: matmul on matrix: a product.
# Tiles of the last block: tiles of matmul: loops i0.
matmul = sch.get_block("matmul")
i0, i1, i2, k = sch.get_loops(matmul)
tile_i0 = 1
i0_o, i0_i = sch.split(i0, [None, tile_i0], names=["i0_o", "i0_i"])
# Operands copied to the engines: lv13 copied at loop i0_o; lv15 copied at loop i0_o.
lv13_in = sch.cache_read("matmul", "lv13", "local.vtcm")
sch.compute_at(lv13_in, i0_o)
lv15_in = sch.cache_read("matmul", "lv15", "local.vtcm")
sch.compute_at(lv15_in, i0_o)
# Results tile by tile: matmul leaves tile by tile from local.acc or local.vtcm.
matmul_scope = "local.acc"
matmul_out = sch.cache_write("matmul", 0, matmul_scope)
sch.reverse_compute_at(matmul_out, i0_o)
matmul_slots = 2
sch.double_buffer("matmul", slots=matmul_slots)
# Overlap of the engines: pipeline of i0_o in up to 2 stages.
stages = [0, 0, 1, 1]
sch.pipeline(i0_o, stages=stages)
# Left out: tiles of the main block: 35,524 cycles.
# Left out: tiles of matmul by i2, i0: no tried point is faster.
# Left out: tiles of matmul by i0, i1: no tried point is faster.
# Left out: tiles of matmul by i0, k: no tried point is faster.
# Left out: tiles of matmul by i0, i2, k: no tried point is faster.
# Left out: tiles of matmul by i2, k: a higher estimate.
# Left out: tiles of matmul by i0, i2: a higher estimate.
# Left out: tiles of matmul by i2: a higher estimate.
