# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(private=True, s_tir=True)
def fused_matmul4_add_add1(
    lv25: T.Buffer((T.int64(128), T.int64(1024)), "float32"),
    w14: T.Buffer((T.int64(1024), T.int64(256)), "float32"),
    w15: T.Buffer((T.int64(256),), "float32"),
    lv21: T.Buffer((T.int64(128), T.int64(256)), "float32"),
    T_add_intermediate_1: T.Buffer((T.int64(128), T.int64(256)), "float32"),
):
    T.func_attr({"tirx.noalias": True})
    # with T.sblock("root"):
    matmul_intermediate = T.sblock_alloc_buffer((T.int64(128), T.int64(256)))
    T_add_intermediate = T.sblock_alloc_buffer((T.int64(128), T.int64(256)))
    for i0, i1, k in T.grid(T.int64(128), T.int64(256), T.int64(1024)):
        with T.sblock("matmul"):
            v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
            T.reads(lv25[v_i0, v_k], w14[v_k, v_i1])
            T.writes(matmul_intermediate[v_i0, v_i1])
            with T.init():
                matmul_intermediate[v_i0, v_i1] = T.float32(0.0)
            matmul_intermediate[v_i0, v_i1] = matmul_intermediate[v_i0, v_i1] + lv25[v_i0, v_k] * w14[v_k, v_i1]
    for ax0, ax1 in T.grid(T.int64(128), T.int64(256)):
        with T.sblock("T_add"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(matmul_intermediate[v_ax0, v_ax1], w15[v_ax1])
            T.writes(T_add_intermediate[v_ax0, v_ax1])
            T_add_intermediate[v_ax0, v_ax1] = matmul_intermediate[v_ax0, v_ax1] + w15[v_ax1]
    for ax0, ax1 in T.grid(T.int64(128), T.int64(256)):
        with T.sblock("T_add1"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(lv21[v_ax0, v_ax1], T_add_intermediate[v_ax0, v_ax1])
            T.writes(T_add_intermediate_1[v_ax0, v_ax1])
            T_add_intermediate_1[v_ax0, v_ax1] = lv21[v_ax0, v_ax1] + T_add_intermediate[v_ax0, v_ax1]


# %% schedule
sch = tilewright.Schedule(fused_matmul4_add_add1)
matmul = sch.get_block("matmul")
i0, i1, k = sch.get_loops(matmul)
tile_i0 = 128
i0_o, i0_i = sch.split(i0, [None, tile_i0], names=["i0_o", "i0_i"])
tile_i1 = 128
i1_o, i1_i = sch.split(i1, [None, tile_i1], names=["i1_o", "i1_i"])
tile_k = 32
k_o, k_i = sch.split(k, [None, tile_k], names=["k_o", "k_i"])
order = ["i1_o", "i0_o", "k_o"]
sch.reorder(*order, i0_i, i1_i, k_i)
sch.set_scope(matmul, 0, "local.acc")
lv25_in = sch.cache_read(matmul, 0, "local.vtcm")
lv25_at = "k_o"
sch.compute_at(lv25_in, lv25_at)
lv25_slots = 2
lv25_banks = [0, 1]
sch.double_buffer(lv25_in, banks=lv25_banks, slots=lv25_slots)
w14_in = sch.cache_read(matmul, 1, "local.vtcm")
w14_at = "k_o"
sch.compute_at(w14_in, w14_at)
w14_slots = 2
w14_banks = [0, 1]
sch.double_buffer(w14_in, banks=w14_banks, slots=w14_slots)
T_add = sch.get_block("T_add")
sch.reverse_compute_at(T_add, order[1])
w15_in = sch.cache_read(T_add, 1, "local.vtcm")
w15_at = "i0_o"
sch.compute_at(w15_in, w15_at)
w15_slots = 1
w15_banks = [0, 1]
sch.double_buffer(w15_in, banks=w15_banks, slots=w15_slots)
sch.set_scope(T_add, 0, "local.vtcm")
T_add1 = sch.get_block("T_add1")
sch.reverse_compute_at(T_add1, order[1])
lv21_in = sch.cache_read(T_add1, 0, "local.vtcm")
lv21_at = "i0_o"
sch.compute_at(lv21_in, lv21_at)
lv21_slots = 2
lv21_banks = [0, 1]
sch.double_buffer(lv21_in, banks=lv21_banks, slots=lv21_slots)
T_add1_out = sch.cache_write(T_add1, 0, "local.vtcm")
sch.reverse_compute_at(T_add1_out, order[1])
lv25_layout = lambda i0, i1: [i0 // 64, tilewright.AXIS_SEPARATOR, i0 % 64, i1]
sch.transform_layout(lv25_in, ("write", 0), lv25_layout)
w14_layout = lambda i0, i1: [i0, i1]
sch.transform_layout(w14_in, ("write", 0), w14_layout)
w15_layout = lambda i0: [i0]
sch.transform_layout(w15_in, ("write", 0), w15_layout)
lv21_layout = lambda i0, i1: [i0, i1]
sch.transform_layout(lv21_in, ("write", 0), lv21_layout)
# Left out: tiles of T_add1 by ax0, ax1: no tried point is faster.
# Left out: tiles of T_add1 by ax1, ax0: no tried point is faster.
# Left out: tiles of T_add1 by ax1: no tried point is faster.
# Left out: tiles of T_add1 by ax0: no tried point is faster.
