# %% [markdown]
# # A sum of each row
# One accumulator for each row: partial sums (rfactor) give a vector unit independent work.

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def reduction(X: T.Buffer((64, 1024), "float32"), total: T.Buffer((64,), "float32")):
    for i, k in T.grid(64, 1024):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + X[vi, vk]


# %% schedule
sch = tilewright.Schedule(reduction)
total = sch.get_block("total")
i, k = sch.get_loops(total)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
