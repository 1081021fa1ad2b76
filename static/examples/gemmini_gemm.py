# %% [markdown]
# # A product on a systolic array
#
# Gemmini's array is 16 x 16 cells; weights stay in them while rows of the other operand pass through. `mvin` fills the scratchpad, `mvout`
# empties the accumulator, and both go through the one port of memory: what one of them moves, the other waits for, burst by burst.
#
# Operands come in tiles of 64 x 64 bytes, two slots each, so that the next tile is on its way while the array works on this one. Each slot
# is in a bank of its own: a bank has one port, which serves either `mvin` or the array.

# %% machine
import tilewright

machine = tilewright.machine("gemmini")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemm(A: T.Buffer((512, 512), "int8"), B: T.Buffer((512, 512), "int8"), C: T.Buffer((512, 512), "int32")):
    for i, j, k in T.grid(512, 512, 512):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])


# %% schedule: tiles
sch = tilewright.Schedule(gemm)
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
io, ii = sch.split(i, [None, 64], names=["io", "ii"])
jo, ji = sch.split(j, [None, 64], names=["jo", "ji"])
ko, ki = sch.split(k, [None, 64], names=["ko", "ki"])
sch.reorder(io, jo, ko, ii, ji, ki)

# %% schedule: operands in the scratchpad, sums in the accumulator
A_pad = sch.cache_read(C, 0, "local.scratchpad")
B_pad = sch.cache_read(C, 1, "local.scratchpad")
C_acc = sch.cache_write(C, 0, "local.accumulator")
sch.compute_at(A_pad, ko)
sch.compute_at(B_pad, ko)
sch.reverse_compute_at(C_acc, jo)

# %% schedule: two slots each
sch.double_buffer(A_pad, banks=[0, 1])
sch.double_buffer(B_pad, banks=[2, 3])

# %% [markdown]
# ## What to look at
# The array waits once for each tile of the result: its sums leave the accumulator before the next tile may overwrite them. In the
# inspector, *Stalls* lists the resources that each engine waits for, and the steps that introduced them.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
