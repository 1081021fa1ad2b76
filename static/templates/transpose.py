# %% [markdown]
# # A transpose
# Nothing is computed: all of it is how the memory is walked through.

# %% machine
import tilewright

machine = tilewright.machine("cpu-core")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def transpose(A: T.Buffer((512, 512), "float32"), B: T.Buffer((512, 512), "float32")):
    for i, j in T.grid(512, 512):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]


# %% schedule
sch = tilewright.Schedule(transpose)
B = sch.get_block("B")
i, j = sch.get_loops(B)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
