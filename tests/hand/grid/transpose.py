# %% [markdown]
# # A transpose through tiles on chip

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def transpose(A: T.Buffer((512, 768), "float16"), B: T.Buffer((768, 512), "float16")):
    for i, j in T.grid(768, 512):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


# %% schedule
sch = tilewright.Schedule(transpose)
B = sch.get_block("B")
i, j = sch.get_loops(B)
B_out = sch.cache_write(B, 0, "local.vtcm")
A_in = sch.cache_read(B, 0, "local.vtcm")
io, ii = sch.split(i, factors=[None, 32], names=["io", "ii"])
sch.annotate(B, "engine", "vector")
sch.compute_at(A_in, io)
sch.double_buffer(A_in)
sch.reverse_compute_at(B_out, io)
sch.double_buffer(B)
sch.pipeline(io, stages=[0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
