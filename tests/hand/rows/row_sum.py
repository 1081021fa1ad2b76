# %% [markdown]
# # Sums of long rows

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def row_sum(X: T.Buffer((16, 65536), "float32"), Y: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 65536):
        with T.sblock("Y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                Y[vi] = T.float32(0)
            Y[vi] = Y[vi] + X[vi, vk]


# %% schedule
sch = tilewright.Schedule(row_sum)
Y = sch.get_block("Y")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
X_in = sch.cache_read(Y, "X", "local.vtcm")
i, k = sch.get_loops(Y)
ko, ki = sch.split(k, factors=[None, 8192], names=["ko", "ki"])
sch.compute_at(X_in, ko)
sch.double_buffer(X_in)
sch.pipeline(ko, stages=[0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
