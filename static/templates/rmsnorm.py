# %% [markdown]
# # RMSNorm
# The mean square of each row, then a scale of its elements: two passes over a row, or one row on chip?

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def rmsnorm(X: T.Buffer((64, 256), "float32"), G: T.Buffer((256,), "float32"), Y: T.Buffer((64, 256), "float32")):
    squares = T.sblock_alloc_buffer((64,), "float32")
    for i, k in T.grid(64, 256):
        with T.sblock("squares"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                squares[vi] = T.float32(0)
            squares[vi] = squares[vi] + X[vi, vk] * X[vi, vk]
    for i, j in T.grid(64, 256):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi, vj] * G[vj] / T.sqrt(squares[vi] / T.float32(256) + T.float32(1e-5))


# %% schedule
sch = tilewright.Schedule(rmsnorm)
Y = sch.get_block("Y")
i, j = sch.get_loops(Y)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
