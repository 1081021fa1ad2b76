# %% [markdown]
# # A batched product, as of scores of attention

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def bmm(
    A: T.Buffer((12, 384, 64), "float16"), B: T.Buffer((12, 64, 384), "float16"), C: T.Buffer((12, 384, 384), "float16")
):
    for b, i, j, k in T.grid(12, 384, 384, 64):
        with T.sblock("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float16(0)
            C[vb, vi, vj] = C[vb, vi, vj] + A[vb, vi, vk] * B[vb, vk, vj]


# %% schedule
sch = tilewright.Schedule(bmm)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
