# %% [markdown]
# # Layer norm then a product

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def norm_matmul(
    X: T.Buffer((256, 256), "float16"), W: T.Buffer((256, 512), "float16"), Y: T.Buffer((256, 512), "float16")
):
    S = T.sblock_alloc_buffer((256,), "float32")
    V = T.sblock_alloc_buffer((256,), "float32")
    N = T.sblock_alloc_buffer((256, 256), "float16")
    A = T.sblock_alloc_buffer((256, 512), "float32")
    for i, k in T.grid(256, 256):
        with T.sblock("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.Cast("float32", X[vi, vk])
    for i, k in T.grid(256, 256):
        with T.sblock("V"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = T.float32(0)
            V[vi] = V[vi] + (T.Cast("float32", X[vi, vk]) - S[vi] * T.float32(0.00390625)) * (
                T.Cast("float32", X[vi, vk]) - S[vi] * T.float32(0.00390625)
            )
    for i, k in T.grid(256, 256):
        with T.sblock("N"):
            vi, vk = T.axis.remap("SS", [i, k])
            N[vi, vk] = T.Cast(
                "float16",
                (T.Cast("float32", X[vi, vk]) - S[vi] * T.float32(0.00390625))
                * T.rsqrt(V[vi] * T.float32(0.00390625) + T.float32(1e-5)),
            )
    for i, j, k in T.grid(256, 512, 256):
        with T.sblock("A"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                A[vi, vj] = T.float32(0)
            A[vi, vj] = A[vi, vj] + T.Cast("float32", N[vi, vk]) * T.Cast("float32", W[vk, vj])
    for i, j in T.grid(256, 512):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.Cast("float16", A[vi, vj])


# %% schedule
sch = tilewright.Schedule(norm_matmul)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
