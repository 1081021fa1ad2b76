# %% [markdown]
# # A layer of an MLP: a GEMM with bias and GELU

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm_gelu(
    A: T.Buffer((512, 256), "float16"),
    B: T.Buffer((256, 256), "float16"),
    bias: T.Buffer((256,), "float32"),
    Y: T.Buffer((512, 256), "float16"),
):
    C = T.sblock_alloc_buffer((512, 256))
    for i, j, k in T.grid(512, 256, 256):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(512, 256):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.Cast(
                "float16",
                (C[vi, vj] + bias[vj])
                * T.float32(0.5)
                * (T.float32(1) + T.erf((C[vi, vj] + bias[vj]) * T.float32(0.70710678))),
            )


# %% schedule
sch = tilewright.Schedule(gemm_gelu)
C = sch.get_block("C")
Y = sch.get_block("Y")
A_in = sch.cache_read(C, 0, "local.vtcm")
B_in = sch.cache_read(C, 1, "local.vtcm")
bias_in = sch.cache_read(Y, "bias", "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
sch.set_scope(C, 0, "local.acc")
i, j = sch.get_loops(Y)
io, ii = sch.split(i, factors=[None, 32], names=["io", "ii"])
sch.compute_at(C, io)
sch.compute_at(A_in, io)
sch.double_buffer(A_in)
sch.reverse_compute_at(Y_out, io)
sch.double_buffer(Y)
sch.pipeline(io, stages=[0, 1, 2, 2])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
