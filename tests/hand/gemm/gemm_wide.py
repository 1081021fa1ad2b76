# %% [markdown]
# # A wide GEMM: A stays on chip

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm_wide(
    A: T.Buffer((64, 512), "float16"),
    B: T.Buffer((512, 2048), "float16"),
    C: T.Buffer((64, 2048), "float32"),
):
    for i, j, k in T.grid(64, 2048, 512):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])


# %% schedule
sch = tilewright.Schedule(gemm_wide)
C = sch.get_block("C")
A_in = sch.cache_read(C, 0, "local.vtcm")
B_in = sch.cache_read(C, 1, "local.vtcm")
C_out = sch.cache_write(C, 0, "local.acc")
i, j, k = sch.get_loops(C)
jo, ji = sch.split(j, factors=[None, 64], names=["jo", "ji"])
sch.reorder(jo, i, ji, k)
sch.reverse_compute_at(C_out, jo)
sch.compute_at(B_in, jo)
sch.double_buffer(B_in)
sch.pipeline(jo, stages=[0, 0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
