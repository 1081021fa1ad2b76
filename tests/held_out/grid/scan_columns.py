# %% [markdown]
# # Running sums of columns in place of an order

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def scan_columns(X: T.Buffer((256, 256), "float32"), Y: T.Buffer((256, 256), "float32")):
    for i, j in T.grid(256, 256):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(X[vi, vj], Y[T.max(vi - 1, 0), vj])
            T.writes(Y[vi, vj])
            Y[vi, vj] = T.if_then_else(vi >= 1, Y[vi - 1, vj] + X[vi, vj], X[vi, vj])


# %% schedule
sch = tilewright.Schedule(scan_columns)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
