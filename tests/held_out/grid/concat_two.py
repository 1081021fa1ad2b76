# %% [markdown]
# # Two halves of a result written by two blocks

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def concat_two(
    A: T.Buffer((256, 256), "float16"), B: T.Buffer((256, 256), "float16"), C: T.Buffer((256, 512), "float16")
):
    for i, j in T.grid(256, 256):
        with T.sblock("first"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(A[vi, vj], T.float16(0))
    for i, j in T.grid(256, 256):
        with T.sblock("second"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj + 256] = B[vi, vj] * T.float16(2)


# %% schedule
sch = tilewright.Schedule(concat_two)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
