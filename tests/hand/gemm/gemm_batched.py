# %% [markdown]
# # A batch of small GEMMs, as the scores of eight heads

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm_batched(
    A: T.Buffer((8, 128, 64), "float16"),
    B: T.Buffer((8, 64, 128), "float16"),
    C: T.Buffer((8, 128, 128), "float32"),
):
    for b, i, j, k in T.grid(8, 128, 128, 64):
        with T.sblock("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("float32", A[vb, vi, vk]) * T.Cast("float32", B[vb, vk, vj])


# %% schedule
sch = tilewright.Schedule(gemm_batched)
C = sch.get_block("C")
A_in = sch.cache_read(C, 0, "local.vtcm")
B_in = sch.cache_read(C, 1, "local.vtcm")
C_out = sch.cache_write(C, 0, "local.vtcm")
b, i, j, k = sch.get_loops(C)
sch.compute_at(A_in, b)
sch.double_buffer(A_in)
sch.compute_at(B_in, b)
sch.double_buffer(B_in)
sch.reverse_compute_at(C_out, b)
sch.pipeline(b, stages=[0, 0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
