# %% [markdown]
# # An int8 GEMM on a systolic array

# %% machine
import tilewright

machine = tilewright.machine("gemmini")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemmini_int8(
    A: T.Buffer((256, 512), "int8"),
    B: T.Buffer((512, 256), "int8"),
    C: T.Buffer((256, 256), "int32"),
):
    for i, j, k in T.grid(256, 256, 512):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


# %% schedule
sch = tilewright.Schedule(gemmini_int8)
C = sch.get_block("C")
A_in = sch.cache_read(C, 0, "local.scratchpad")
B_in = sch.cache_read(C, 1, "local.scratchpad")
C_out = sch.cache_write(C, 0, "local.accumulator")
i, j, k = sch.get_loops(C)
jo, ji = sch.split(j, factors=[None, 64], names=["jo", "ji"])
io, ii = sch.split(i, factors=[None, 64], names=["io", "ii"])
sch.reorder(jo, io, ii, ji, k)
sch.compute_at(B_in, jo)
sch.double_buffer(B_in, banks=[2, 3])
sch.compute_at(A_in, io)
sch.double_buffer(A_in, banks=[0, 1])
sch.reverse_compute_at(C_out, io)
sch.double_buffer(C, banks=[0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
