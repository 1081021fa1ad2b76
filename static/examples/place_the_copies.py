# %% [markdown]
# # Start here: two copies to place
#
# A matmul in tiles, its operands copied on chip all at once: they do not fit. Drag **A_local.vtcm** and **B_local.vtcm** onto **ko**
# and watch memory and cycles; then ask the menu of each for a double buffer.

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(
    A: T.Buffer((256, 512), "float32"),
    B: T.Buffer((512, 256), "float32"),
    C: T.Buffer((256, 256), "float32"),
):
    for m, n, k in T.grid(256, 256, 512):
        with T.sblock("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            T.reads(A[vm, vk], B[vk, vn])
            T.writes(C[vm, vn])
            with T.init():
                C[vm, vn] = T.float32(0)
            C[vm, vn] = C[vm, vn] + A[vm, vk] * B[vk, vn]


# %% [markdown]
# ## Tiles and copies
# Tiles of 64 x 64, steps of 64 along k; C is summed up in the accumulator and written back once a tile. Where the copies of A and B
# are made is left to you: a copy at `mo` or `no` is made less often and holds more, a copy at `ko` holds one step.

# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
mo, mi = sch.split(m, factors=[None, 64], names=["mo", "mi"])
no, ni = sch.split(n, factors=[None, 64], names=["no", "ni"])
ko, ki = sch.split(k, factors=[None, 64], names=["ko", "ki"])
sch.reorder(mo, no, ko, mi, ni, ki)
AL = sch.cache_read(C, 0, "local.vtcm")
BL = sch.cache_read(C, 1, "local.vtcm")
CL = sch.cache_write(C, 0, "local.acc")
sch.reverse_compute_at(CL, no)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
