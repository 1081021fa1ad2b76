# %% [markdown]
# # Two blocks of VTCM, a half of the tile in each
#
# The other reading of *TIR - Non contiguous memory*:
#
# > However, I need it in this shape: [2][4096].
#
# (The first reading is `vtcm_double_buffer.py`.) Here the 64 x 128 tile of the post is **one** tile of 8192 elements: k of 0 to 63 in the
# first physical block, 64 to 127 in the second, and no second slot.
#
# Nothing is buffered twice, yet loading and computing still overlap: each half is its own copy, so it waits only for its own block, and
# the matrix unit starts on the first half while the DMA is still busy with the second.

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
# C in tiles of 64 x 64; k in steps of 128, and each step in two halves `kh` of 64.

# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
mo, mi = sch.split(m, factors=[None, 64], names=["mo", "mi"])
no, ni = sch.split(n, factors=[None, 64], names=["no", "ni"])
ko, kh, ki = sch.split(k, factors=[None, 2, 64], names=["ko", "kh", "ki"])
sch.reorder(mo, no, ko, kh, mi, ni, ki)

# %% [markdown]
# ## Stage the operands at ko, and copy them half by half
# `compute_at` makes the copy of a whole 64 x 128 tile; splitting its k axis in two and moving the half outwards gives one copy a block.

# %% schedule: staging
AL = sch.cache_read(C, 0, "local.vtcm")
BL = sch.cache_read(C, 1, "local.vtcm")
CL = sch.cache_write(C, 0, "local.acc")
sch.compute_at(AL, ko)
sch.compute_at(BL, ko)
sch.reverse_compute_at(CL, no)
mo, no, ko, am, ak = sch.get_loops(AL)
ah, ai = sch.split(ak, factors=[2, None], names=["ah", "ai"])
sch.reorder(ah, am, ai)
mo, no, ko, bk, bn = sch.get_loops(BL)
bh, bi = sch.split(bk, factors=[2, None], names=["bh", "bi"])

# %% [markdown]
# ## Lay each half out in its block
# The same maps as with two slots. At `ko` both values of the first axis are live now, so the tile compacts to **[2][4096]** by itself.

# %% schedule: layout
sch.transform_layout(AL, ("write", 0), lambda m, k: [k // 64 % 2, tilewright.AXIS_SEPARATOR, m, k // 128, k % 64])
sch.transform_layout(BL, ("write", 0), lambda k, n: [k // 64 % 2, tilewright.AXIS_SEPARATOR, k // 128, k % 64, n])

# %% [markdown]
# ## What to look at
# The bank rows: the same bytes in the same blocks as with two slots in `vtcm_double_buffer.py`, and less overlap. Both halves of A are
# copied before the first one of B, and none of the next step's tile can come before its half of this one is used up: two slots of one
# step each do better than one tile of two steps.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
