# %% [markdown]
# # A GEMM of 256 on a CPU, a block of eight rows in vectors

# %% machine
import tilewright

machine = tilewright.machine("cpu-core")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def cpu_gemm(
    A: T.Buffer((256, 256), "float32"),
    B: T.Buffer((256, 256), "float32"),
    C: T.Buffer((256, 256), "float32"),
):
    for i, j, k in T.grid(256, 256, 256):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# %% schedule
sch = tilewright.Schedule(cpu_gemm)
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
io, ii = sch.split(i, factors=[None, 8], names=["io", "ii"])
jo, ji = sch.split(j, factors=[None, 16], names=["jo", "ji"])
ko, ki = sch.split(k, factors=[None, 64], names=["ko", "ki"])
sch.reorder(io, ko, jo, ki, ii, ji)
sch.vectorize(ji)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
