# %% [markdown]
# # Attention of four heads

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def attention_heads(
    Q: T.Buffer((4, 384, 64), "float16"),
    K: T.Buffer((4, 384, 64), "float16"),
    V: T.Buffer((4, 384, 64), "float16"),
    O: T.Buffer((4, 384, 64), "float16"),
):
    S = T.sblock_alloc_buffer((4, 384, 384), "float32")
    largest = T.sblock_alloc_buffer((4, 384), "float32")
    E = T.sblock_alloc_buffer((4, 384, 384), "float16")
    total = T.sblock_alloc_buffer((4, 384), "float32")
    U = T.sblock_alloc_buffer((4, 384, 64), "float32")
    for h, i, j, k in T.grid(4, 384, 384, 64):
        with T.sblock("S"):
            vh, vi, vj, vk = T.axis.remap("SSSR", [h, i, j, k])
            with T.init():
                S[vh, vi, vj] = T.float32(0)
            S[vh, vi, vj] = S[vh, vi, vj] + T.Cast("float32", Q[vh, vi, vk]) * T.Cast("float32", K[vh, vj, vk])
    for h, i, j in T.grid(4, 384, 384):
        with T.sblock("largest"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                largest[vh, vi] = T.float32(-1e30)
            largest[vh, vi] = T.max(largest[vh, vi], S[vh, vi, vj])
    for h, i, j in T.grid(4, 384, 384):
        with T.sblock("E"):
            vh, vi, vj = T.axis.remap("SSS", [h, i, j])
            E[vh, vi, vj] = T.Cast("float16", T.exp((S[vh, vi, vj] - largest[vh, vi]) * T.float32(0.125)))
    for h, i, j in T.grid(4, 384, 384):
        with T.sblock("total"):
            vh, vi, vj = T.axis.remap("SSR", [h, i, j])
            with T.init():
                total[vh, vi] = T.float32(0)
            total[vh, vi] = total[vh, vi] + T.Cast("float32", E[vh, vi, vj])
    for h, i, d, j in T.grid(4, 384, 64, 384):
        with T.sblock("U"):
            vh, vi, vd, vj = T.axis.remap("SSSR", [h, i, d, j])
            with T.init():
                U[vh, vi, vd] = T.float32(0)
            U[vh, vi, vd] = U[vh, vi, vd] + T.Cast("float32", E[vh, vi, vj]) * T.Cast("float32", V[vh, vj, vd])
    for h, i, d in T.grid(4, 384, 64):
        with T.sblock("O"):
            vh, vi, vd = T.axis.remap("SSS", [h, i, d])
            O[vh, vi, vd] = T.Cast("float16", U[vh, vi, vd] / total[vh, vi])


# %% schedule
sch = tilewright.Schedule(attention_heads)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
