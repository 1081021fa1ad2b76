# %% [markdown]
# # Two blocks of VTCM, double buffered
#
# From the discussion *TIR - Non contiguous memory*:
#
# > My internal hardware memory (vtcm) is divided into 2 physical blocks. TVM's TIR buffers are allocated contiguously. […]
# > I want to implement these buffers in a non-contiguous memory […] in order to be able to utilize the double buffer mechanism
# > effectively (loading into block 0 while computing in block 1).
#
# The post got as far as `T.allocate([8192], "float32", "local.vtcm")` and needed `[2][4096]`. A transform_layout with
# AXIS_SEPARATOR gave that, and then `double_buffer` failed: *InjectDoubleBuffer expects flat 1-d buffers*. Here both work together.
# (`vtcm_two_halves.py` is the other reading of the question: one tile, a half in each block.)
#
# A 64 x 128 tile of A travels as **two slots** of 64 x 64 elements, one in each physical block of VTCM: the DMA loads into one block
# while the matrix unit computes on the other.

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
# ## Tiles
# C is computed in tiles of 64 x 64, and each tile in steps of 64 along k: what one step needs of A and of B is one slot each.

# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
mo, mi = sch.split(m, factors=[None, 64], names=["mo", "mi"])
no, ni = sch.split(n, factors=[None, 64], names=["no", "ni"])
ko, ki = sch.split(k, factors=[None, 64], names=["ko", "ki"])
sch.reorder(mo, no, ko, mi, ni, ki)

# %% [markdown]
# ## Stage the operands
# `cache_read` adds the copies, `compute_at` moves them to where one step begins. C is summed up in the accumulator and written
# back once a tile.

# %% schedule: staging
AL = sch.cache_read(C, 0, "local.vtcm")
BL = sch.cache_read(C, 1, "local.vtcm")
CL = sch.cache_write(C, 0, "local.acc")
sch.compute_at(AL, ko)
sch.compute_at(BL, ko)
sch.reverse_compute_at(CL, no)

# %% [markdown]
# ## Lay them out over the two blocks
# The axis in front of AXIS_SEPARATOR picks the physical block: even steps of k go to block 0, odd ones to block 1. At `ko` one step
# is live, so the tile compacts to [1][4096]; the second slot that `double_buffer` asks for makes it **[2][4096]**.

# %% schedule: layout
sch.transform_layout(AL, ("write", 0), lambda m, k: [k // 64 % 2, tilewright.AXIS_SEPARATOR, m, k // 128, k % 64])
sch.transform_layout(BL, ("write", 0), lambda k, n: [k // 64 % 2, tilewright.AXIS_SEPARATOR, k // 128, k % 64, n])
sch.double_buffer(AL)
sch.double_buffer(BL)

# %% [markdown]
# ## What to look at
# In the timeline the DMA loads step *ko + 1* into one block while the matrix unit works on step *ko* in the other: `A#0` and `A#1`
# take turns. Remove the two `double_buffer` lines and every load waits for the computation before it.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
