# %% [markdown]
# # A matrix times a vector, as a decoder multiplies

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemv_decode(
    A: T.Buffer((4096, 1024), "float16"),
    x: T.Buffer((1024,), "float16"),
    y: T.Buffer((4096,), "float32"),
):
    for i, k in T.grid(4096, 1024):
        with T.sblock("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = T.float32(0)
            y[vi] = y[vi] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", x[vk])


# %% schedule
sch = tilewright.Schedule(gemv_decode)
y = sch.get_block("y")
A_in = sch.cache_read(y, "A", "local.vtcm")
x_in = sch.cache_read(y, "x", "local.vtcm")
y_out = sch.cache_write(y, 0, "local.acc")
i, k = sch.get_loops(y)
io, ii = sch.split(i, factors=[None, 32], names=["io", "ii"])
sch.compute_at(A_in, io)
sch.reverse_compute_at(y_out, io)
sch.pipeline(io, stages=[0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
