# %% [markdown]
# # Load, compute, store
#
# VTA has a module each for loading, computing and storing, with queues in front of them and buffers between: inputs, weights and sums have
# one each. While the core multiplies one pair of tiles, the next pair is loaded and the last result is stored.
# %% machine
import tilewright

machine = tilewright.machine("vta")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm(A: T.Buffer((256, 256), "int8"), B: T.Buffer((256, 256), "int8"), C: T.Buffer((256, 256), "int32")):
    for i, j, k in T.grid(256, 256, 256):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


# %% schedule
sch = tilewright.Schedule(gemm)
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
io, ii = sch.split(i, [None, 32], names=["io", "ii"])
jo, ji = sch.split(j, [None, 64], names=["jo", "ji"])
ko, ki = sch.split(k, [None, 64], names=["ko", "ki"])
sch.reorder(io, jo, ko, ii, ji, ki)
A_in = sch.cache_read(C, 0, "local.inp_buffer")
B_in = sch.cache_read(C, 1, "local.wgt_buffer")
C_acc = sch.cache_write(C, 0, "local.acc_buffer")
sch.compute_at(A_in, ko)
sch.compute_at(B_in, ko)
sch.reverse_compute_at(C_acc, jo)
sch.double_buffer(A_in)
sch.double_buffer(B_in)

# %% [markdown]
# ## What to look at
# Memory has one port, and loads and stores take turns on it, burst by burst: where both move, both are slower. It is the port that limits
# this schedule, as the bounds in the report say; larger tiles move less.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
