# %% [markdown]
# # Softmax of rows

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def softmax(X: T.Buffer((512, 384), "float32"), Y: T.Buffer((512, 384), "float32")):
    largest = T.sblock_alloc_buffer((512,))
    power = T.sblock_alloc_buffer((512, 384))
    total = T.sblock_alloc_buffer((512,))
    for i, k in T.grid(512, 384):
        with T.sblock("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.min_value("float32")
            largest[vi] = T.max(largest[vi], X[vi, vk])
    for i, j in T.grid(512, 384):
        with T.sblock("power"):
            vi, vj = T.axis.remap("SS", [i, j])
            power[vi, vj] = T.exp(X[vi, vj] - largest[vi])
    for i, k in T.grid(512, 384):
        with T.sblock("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + power[vi, vk]
    for i, j in T.grid(512, 384):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = power[vi, vj] / total[vi]


# %% schedule
sch = tilewright.Schedule(softmax)
Y = sch.get_block("Y")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
i, j = sch.get_loops(Y)
io, ii = sch.split(i, factors=[None, 16], names=["io", "ii"])
sch.compute_at("total", io)
sch.set_scope("total", 0, "local.vtcm")
sch.compute_at("power", io)
sch.set_scope("power", 0, "local.vtcm")
sch.compute_at("largest", io)
sch.set_scope("largest", 0, "local.vtcm")
X_in = sch.cache_read("largest", 0, "local.vtcm", consumer_blocks=["largest", "power"])
sch.compute_at(X_in, io)
sch.double_buffer(X_in)
sch.reverse_compute_at(Y_out, io)
sch.double_buffer(Y)
sch.pipeline(io, stages=[0, 1, 1, 1, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
