# %% [markdown]
# # RMS norm of rows

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def rms_norm(
    X: T.Buffer((256, 1024), "float16"), gamma: T.Buffer((1024,), "float16"), Y: T.Buffer((256, 1024), "float16")
):
    second = T.sblock_alloc_buffer((256,))
    scale = T.sblock_alloc_buffer((256,))
    for i, k in T.grid(256, 1024):
        with T.sblock("second"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                second[vi] = T.float32(0)
            second[vi] = second[vi] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", X[vi, vk])
    for i in T.serial(256):
        with T.sblock("scale"):
            vi = T.axis.spatial(256, i)
            scale[vi] = T.rsqrt(second[vi] / T.float32(1024) + T.float32(1e-5))
    for i, j in T.grid(256, 1024):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.Cast("float16", T.Cast("float32", X[vi, vj]) * scale[vi]) * gamma[vj]


# %% schedule
sch = tilewright.Schedule(rms_norm)
Y = sch.get_block("Y")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
gamma_in = sch.cache_read(Y, "gamma", "local.vtcm")
i, j = sch.get_loops(Y)
io, ii = sch.split(i, factors=[None, 8], names=["io", "ii"])
sch.annotate("second", "engine", "vector")
sch.compute_at("scale", io)
sch.set_scope("scale", 0, "local.vtcm")
sch.compute_at("second", io)
sch.set_scope("second", 0, "local.vtcm")
X_in = sch.cache_read("second", "X", "local.vtcm", consumer_blocks=["second", "Y"])
sch.compute_at(X_in, io)
sch.double_buffer(X_in)
sch.reverse_compute_at(Y_out, io)
sch.double_buffer(Y)
sch.pipeline(io, stages=[0, 1, 1, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
