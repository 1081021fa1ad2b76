# %% [markdown]
# # A gate that picks the best of sixteen experts, and the products of each row with all, weighted

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def moe_top1(
    X: T.Buffer((128, 128), "float16"),
    G: T.Buffer((128, 16), "float16"),
    W: T.Buffer((16, 128, 128), "float16"),
    Y: T.Buffer((128, 128), "float16"),
):
    L = T.sblock_alloc_buffer((128, 16), "float32")
    M = T.sblock_alloc_buffer((128,), "float32")
    P = T.sblock_alloc_buffer((128, 16), "float16")
    E = T.sblock_alloc_buffer((16, 128, 128), "float32")
    for i, e, k in T.grid(128, 16, 128):
        with T.sblock("L"):
            vi, ve, vk = T.axis.remap("SSR", [i, e, k])
            with T.init():
                L[vi, ve] = T.float32(0)
            L[vi, ve] = L[vi, ve] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", G[vk, ve])
    for i, e in T.grid(128, 16):
        with T.sblock("M"):
            vi, ve = T.axis.remap("SR", [i, e])
            with T.init():
                M[vi] = T.float32(-1e30)
            M[vi] = T.max(M[vi], L[vi, ve])
    for i, e in T.grid(128, 16):
        with T.sblock("P"):
            vi, ve = T.axis.remap("SS", [i, e])
            P[vi, ve] = T.if_then_else(L[vi, ve] >= M[vi], T.float16(1), T.float16(0))
    for e, i, j, k in T.grid(16, 128, 128, 128):
        with T.sblock("E"):
            ve, vi, vj, vk = T.axis.remap("SSSR", [e, i, j, k])
            with T.init():
                E[ve, vi, vj] = T.float32(0)
            E[ve, vi, vj] = E[ve, vi, vj] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", W[ve, vk, vj])
    for i, j, e in T.grid(128, 128, 16):
        with T.sblock("Y"):
            vi, vj, ve = T.axis.remap("SSR", [i, j, e])
            with T.init():
                Y[vi, vj] = T.float16(0)
            Y[vi, vj] = Y[vi, vj] + T.Cast("float16", E[ve, vi, vj]) * P[vi, ve]


# %% schedule
sch = tilewright.Schedule(moe_top1)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
