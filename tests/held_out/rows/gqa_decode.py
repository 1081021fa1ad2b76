# %% [markdown]
# # One step of decoding with grouped queries: eight groups of four heads

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gqa_decode(
    Q: T.Buffer((8, 4, 128), "float16"),
    K: T.Buffer((8, 1024, 128), "float16"),
    V: T.Buffer((8, 1024, 128), "float16"),
    O: T.Buffer((8, 4, 128), "float16"),
):
    S = T.sblock_alloc_buffer((8, 4, 1024), "float32")
    largest = T.sblock_alloc_buffer((8, 4), "float32")
    E = T.sblock_alloc_buffer((8, 4, 1024), "float16")
    total = T.sblock_alloc_buffer((8, 4), "float32")
    U = T.sblock_alloc_buffer((8, 4, 128), "float32")
    for g, h, j, k in T.grid(8, 4, 1024, 128):
        with T.sblock("S"):
            vg, vh, vj, vk = T.axis.remap("SSSR", [g, h, j, k])
            with T.init():
                S[vg, vh, vj] = T.float32(0)
            S[vg, vh, vj] = S[vg, vh, vj] + T.Cast("float32", Q[vg, vh, vk]) * T.Cast("float32", K[vg, vj, vk])
    for g, h, j in T.grid(8, 4, 1024):
        with T.sblock("largest"):
            vg, vh, vj = T.axis.remap("SSR", [g, h, j])
            with T.init():
                largest[vg, vh] = T.float32(-1e30)
            largest[vg, vh] = T.max(largest[vg, vh], S[vg, vh, vj])
    for g, h, j in T.grid(8, 4, 1024):
        with T.sblock("E"):
            vg, vh, vj = T.axis.remap("SSS", [g, h, j])
            E[vg, vh, vj] = T.Cast("float16", T.exp((S[vg, vh, vj] - largest[vg, vh]) * T.float32(0.08838834764)))
    for g, h, j in T.grid(8, 4, 1024):
        with T.sblock("total"):
            vg, vh, vj = T.axis.remap("SSR", [g, h, j])
            with T.init():
                total[vg, vh] = T.float32(0)
            total[vg, vh] = total[vg, vh] + T.Cast("float32", E[vg, vh, vj])
    for g, h, d, j in T.grid(8, 4, 128, 1024):
        with T.sblock("U"):
            vg, vh, vd, vj = T.axis.remap("SSSR", [g, h, d, j])
            with T.init():
                U[vg, vh, vd] = T.float32(0)
            U[vg, vh, vd] = U[vg, vh, vd] + T.Cast("float32", E[vg, vh, vj]) * T.Cast("float32", V[vg, vj, vd])
    for g, h, d in T.grid(8, 4, 128):
        with T.sblock("O"):
            vg, vh, vd = T.axis.remap("SSS", [g, h, d])
            O[vg, vh, vd] = T.Cast("float16", U[vg, vh, vd] / total[vg, vh])


# %% schedule
sch = tilewright.Schedule(gqa_decode)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
