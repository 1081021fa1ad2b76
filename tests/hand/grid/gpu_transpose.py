# %% [markdown]
# # A transpose through shared memory without bank conflicts

# %% machine
import tilewright

machine = tilewright.machine("gpu-sm")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gpu_transpose(
    A: T.Buffer((512, 384), "float32"),
    B: T.Buffer((384, 512), "float32"),
):
    for i, j in T.grid(384, 512):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


# %% schedule
sch = tilewright.Schedule(gpu_transpose)
B = sch.get_block("B")
i, j = sch.get_loops(B)
io, ii = sch.split(i, factors=[None, 32], names=["io", "ii"])
jo, ji = sch.split(j, factors=[None, 32], names=["jo", "ji"])
sch.reorder(io, jo, ii, ji)
A_in = sch.cache_read(B, "A", "shared")
sch.compute_at(A_in, jo)
sch.storage_align(A_in, 0, 0, 32, 1)
sch.pipeline(jo, stages=[0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
