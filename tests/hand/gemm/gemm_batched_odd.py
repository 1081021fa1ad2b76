# %% [markdown]
# # Six products of 77 x 65 by 65 x 93

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm_batched_odd(
    A: T.Buffer((6, 77, 65), "float16"),
    B: T.Buffer((6, 65, 93), "float16"),
    C: T.Buffer((6, 77, 93), "float32"),
):
    for b, i, j, k in T.grid(6, 77, 93, 65):
        with T.sblock("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("float32", A[vb, vi, vk]) * T.Cast("float32", B[vb, vk, vj])


# %% schedule
sch = tilewright.Schedule(gemm_batched_odd)
C = sch.get_block("C")
A_in = sch.cache_read(C, "A", "local.vtcm")
B_in = sch.cache_read(C, "B", "local.vtcm")
C_out = sch.cache_write(C, 0, "local.acc")
b, i, j, k = sch.get_loops(C)
sch.compute_at(A_in, b)
sch.compute_at(B_in, b)
sch.reverse_compute_at(C_out, b)
sch.double_buffer(C)
sch.pipeline(b, stages=[0, 0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
