# %% [markdown]
# # Causal attention of one head: a mask before the softmax

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def attention_causal(
    Q: T.Buffer((256, 64), "float16"),
    K: T.Buffer((256, 64), "float16"),
    V: T.Buffer((256, 64), "float16"),
    O: T.Buffer((256, 64), "float32"),
):
    S = T.sblock_alloc_buffer((256, 256))
    M = T.sblock_alloc_buffer((256, 256))
    largest = T.sblock_alloc_buffer((256,))
    P = T.sblock_alloc_buffer((256, 256), "float16")
    total = T.sblock_alloc_buffer((256,))
    raw = T.sblock_alloc_buffer((256, 64))
    for i, j, k in T.grid(256, 256, 64):
        with T.sblock("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + T.Cast("float32", Q[vi, vk]) * T.Cast("float32", K[vj, vk])
    for i, j in T.grid(256, 256):
        with T.sblock("M"):
            vi, vj = T.axis.remap("SS", [i, j])
            M[vi, vj] = T.if_then_else(vj <= vi, S[vi, vj], T.float32(-30000))
    for i, k in T.grid(256, 256):
        with T.sblock("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.min_value("float32")
            largest[vi] = T.max(largest[vi], M[vi, vk])
    for i, j in T.grid(256, 256):
        with T.sblock("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.Cast("float16", T.exp((M[vi, vj] - largest[vi]) * T.float32(0.125)))
    for i, k in T.grid(256, 256):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + T.Cast("float32", P[vi, vk])
    for i, j, k in T.grid(256, 64, 256):
        with T.sblock("raw"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                raw[vi, vj] = T.float32(0)
            raw[vi, vj] = raw[vi, vj] + T.Cast("float32", P[vi, vk]) * T.Cast("float32", V[vk, vj])
    for i, j in T.grid(256, 64):
        with T.sblock("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = raw[vi, vj] / total[vi]


# %% schedule
sch = tilewright.Schedule(attention_causal)
O = sch.get_block("O")
O_out = sch.cache_write(O, 0, "local.vtcm")
K_in = sch.cache_read("S", "K", "local.vtcm")
V_in = sch.cache_read("raw", "V", "local.vtcm")
Q_in = sch.cache_read("S", "Q", "local.vtcm")
i, j = sch.get_loops(O)
io, ii = sch.split(i, factors=[None, 32], names=["io", "ii"])
sch.compute_at("raw", io)
sch.set_scope("raw", 0, "local.acc")
sch.compute_at("total", io)
sch.set_scope("total", 0, "local.vtcm")
sch.compute_at("P", io)
sch.set_scope("P", 0, "local.vtcm")
sch.compute_at("largest", io)
sch.set_scope("largest", 0, "local.vtcm")
sch.compute_at("M", io)
sch.set_scope("M", 0, "local.vtcm")
sch.compute_at("S", io)
sch.set_scope("S", 0, "local.vtcm")
sch.compute_at(Q_in, io)
sch.double_buffer(Q_in)
sch.reverse_compute_at(O_out, io)
sch.double_buffer(O)
sch.pipeline(io, stages=[0, 0, 1, 1, 1, 2, 1, 2, 2])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
