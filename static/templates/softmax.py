# %% [markdown]
# # A softmax of each row
# Two reductions and two passes over the elements: what can be computed while a row is on chip?

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def softmax(X: T.Buffer((64, 256), "float32"), Y: T.Buffer((64, 256), "float32")):
    most = T.sblock_alloc_buffer((64,), "float32")
    powers = T.sblock_alloc_buffer((64, 256), "float32")
    total = T.sblock_alloc_buffer((64,), "float32")
    for i, k in T.grid(64, 256):
        with T.sblock("most"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                most[vi] = T.min_value("float32")
            most[vi] = T.max(most[vi], X[vi, vk])
    for i, j in T.grid(64, 256):
        with T.sblock("powers"):
            vi, vj = T.axis.remap("SS", [i, j])
            powers[vi, vj] = T.exp(X[vi, vj] - most[vi])
    for i, k in T.grid(64, 256):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + powers[vi, vk]
    for i, j in T.grid(64, 256):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = powers[vi, vj] / total[vi]


# %% schedule
sch = tilewright.Schedule(softmax)
Y = sch.get_block("Y")
i, j = sch.get_loops(Y)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
