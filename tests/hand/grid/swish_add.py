# %% [markdown]
# # A chain of elementwise operations: bias, sigmoid gate, residual

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def swish_add(
    X: T.Buffer((512, 512), "float32"),
    bias: T.Buffer((512,), "float32"),
    R: T.Buffer((512, 512), "float32"),
    Y: T.Buffer((512, 512), "float32"),
):
    B = T.sblock_alloc_buffer((512, 512))
    G = T.sblock_alloc_buffer((512, 512))
    for i, j in T.grid(512, 512):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = X[vi, vj] + bias[vj]
    for i, j in T.grid(512, 512):
        with T.sblock("G"):
            vi, vj = T.axis.remap("SS", [i, j])
            G[vi, vj] = B[vi, vj] * T.sigmoid(B[vi, vj])
    for i, j in T.grid(512, 512):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = G[vi, vj] + R[vi, vj]


# %% schedule
sch = tilewright.Schedule(swish_add)
Y = sch.get_block("Y")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
bias_in = sch.cache_read("B", "bias", "local.vtcm")
X_in = sch.cache_read("B", "X", "local.vtcm")
R_in = sch.cache_read(Y, "R", "local.vtcm")
i, j = sch.get_loops(Y)
io, ii = sch.split(i, factors=[None, 8], names=["io", "ii"])
sch.compute_at("G", io)
sch.set_scope("G", 0, "local.vtcm")
sch.compute_at("B", io)
sch.set_scope("B", 0, "local.vtcm")
sch.compute_at(X_in, io)
sch.double_buffer(X_in)
sch.compute_at(R_in, io)
sch.double_buffer(R_in)
sch.reverse_compute_at(Y_out, io)
sch.double_buffer(Y)
sch.pipeline(io, stages=[0, 0, 1, 1, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
