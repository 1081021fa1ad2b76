# %% [markdown]
# # A tall GEMM: B stays on chip

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm_tall(
    A: T.Buffer((2048, 256), "float16"),
    B: T.Buffer((256, 64), "float16"),
    C: T.Buffer((2048, 64), "float32"),
):
    for i, j, k in T.grid(2048, 64, 256):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])


# %% schedule
sch = tilewright.Schedule(gemm_tall)
C = sch.get_block("C")
B_in = sch.cache_read(C, 1, "local.vtcm")
A_in = sch.cache_read(C, 0, "local.vtcm")
C_out = sch.cache_write(C, 0, "local.acc")
i, j, k = sch.get_loops(C)
io, ii = sch.split(i, factors=[None, 128], names=["io", "ii"])
sch.reverse_compute_at(C_out, io)
sch.compute_at(A_in, io)
sch.double_buffer(A_in)
sch.pipeline(io, stages=[0, 0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
