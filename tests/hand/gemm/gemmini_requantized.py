# %% [markdown]
# # An int8 GEMM whose result leaves as int8

# %% machine
import tilewright

machine = tilewright.machine("gemmini")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemmini_requantized(
    A: T.Buffer((384, 512), "int8"),
    B: T.Buffer((512, 256), "int8"),
    D: T.Buffer((384, 256), "int8"),
):
    C = T.sblock_alloc_buffer((384, 256), "int32")
    for i, j, k in T.grid(384, 256, 512):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
    for i, j in T.grid(384, 256):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.Cast("int8", T.max(T.min(C[vi, vj], 127), -128))


# %% schedule
sch = tilewright.Schedule(gemmini_requantized)
C = sch.get_block("C")
D = sch.get_block("D")
A_in = sch.cache_read(C, 0, "local.scratchpad")
B_in = sch.cache_read(C, 1, "local.scratchpad")
sch.set_scope(C, 0, "local.accumulator")
i, j = sch.get_loops(D)
jo, ji = sch.split(j, factors=[None, 64], names=["jo", "ji"])
io, ii = sch.split(i, factors=[None, 128], names=["io", "ii"])
sch.reorder(jo, io, ii, ji)
sch.compute_at(C, io)
sch.compute_at(B_in, jo)
sch.double_buffer(B_in, banks=[0, 1])
sch.compute_at(A_in, io)
sch.double_buffer(A_in, banks=[2, 3])
sch.double_buffer(C, banks=[0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
