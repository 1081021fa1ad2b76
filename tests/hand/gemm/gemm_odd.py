# %% [markdown]
# # A GEMM with odd sizes, bias and ReLU

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm_odd(
    A: T.Buffer((200, 150), "float16"),
    B: T.Buffer((150, 330), "float16"),
    bias: T.Buffer((330,), "float32"),
    D: T.Buffer((200, 330), "float32"),
):
    C = T.sblock_alloc_buffer((200, 330))
    for i, j, k in T.grid(200, 330, 150):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(200, 330):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj] + bias[vj], T.float32(0))


# %% schedule
sch = tilewright.Schedule(gemm_odd)
C = sch.get_block("C")
D = sch.get_block("D")
A_in = sch.cache_read(C, 0, "local.vtcm")
B_in = sch.cache_read(C, 1, "local.vtcm")
bias_in = sch.cache_read(D, 1, "local.vtcm")
D_out = sch.cache_write(D, 0, "local.vtcm")
sch.set_scope(C, 0, "local.acc")
i, j = sch.get_loops(D)
jo, ji = sch.split(j, factors=[None, 32], names=["jo", "ji"])
sch.reorder(jo, i, ji)
sch.compute_at(C, jo)
sch.compute_at(B_in, jo)
sch.double_buffer(B_in)
sch.reverse_compute_at(D_out, jo)
sch.double_buffer(D)
sch.pipeline(jo, stages=[0, 0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
