# %% [markdown]
# # Batched products of triangular matrices

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def triangular(
    A: T.Buffer((8, 128, 128), "float16"), B: T.Buffer((8, 128, 128), "float16"), C: T.Buffer((8, 128, 128), "float32")
):
    L = T.sblock_alloc_buffer((8, 128, 128), "float16")
    for b, i, k in T.grid(8, 128, 128):
        with T.sblock("L"):
            vb, vi, vk = T.axis.remap("SSS", [b, i, k])
            L[vb, vi, vk] = T.if_then_else(vk <= vi, A[vb, vi, vk], T.float16(0))
    for b, i, j, k in T.grid(8, 128, 128, 128):
        with T.sblock("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("float32", L[vb, vi, vk]) * T.Cast("float32", B[vb, vk, vj])


# %% schedule
sch = tilewright.Schedule(triangular)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
