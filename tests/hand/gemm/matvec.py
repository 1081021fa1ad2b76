# %% [markdown]
# # A vector times a matrix of weights, as a layer of an LLM's decoding

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def matvec(
    x: T.Buffer((1024,), "float16"),
    W: T.Buffer((512, 1024), "float16"),
    y: T.Buffer((512,), "float16"),
):
    for i, k in T.grid(512, 1024):
        with T.sblock("y"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                y[vi] = T.float16(0)
            y[vi] = y[vi] + x[vk] * W[vi, vk]


# %% schedule
sch = tilewright.Schedule(matvec)
y = sch.get_block("y")
sch.annotate(y, "engine", "vector")
x_in = sch.cache_read(y, "x", "local.vtcm")
W_in = sch.cache_read(y, "W", "local.vtcm")
y_out = sch.cache_write(y, 0, "local.vtcm")
i, k = sch.get_loops(y)
io, ii = sch.split(i, factors=[None, 16], names=["io", "ii"])
sch.compute_at(W_in, io)
sch.double_buffer(W_in)
sch.pipeline(io, stages=[0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
