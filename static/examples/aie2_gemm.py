# %% [markdown]
# # AIE2: what limits a product on an array of 16 cores?
#
# Operands go from DDR to the memory tiles of the columns, and from there to the compute tiles above. The cores of a column need the same tile
# of B, those of a row the same tile of A. The stream switches copy a stream to several tiles, so each tile is sent once.
#
# The timeline has a row for each link. *interface_in* is busy for 59 % of the cycles: every tile of A passes it on the way to all columns, and
# the cores wait for that, not for their column. Set `multicast` of *interface_in* to false in the machine's figures: DDR is then read
# four times as often, and the product takes 23,159 cycles instead of 17,418. Without multicast in the columns (*column_in*) it takes 18,690.

# %% machine
import tilewright

machine = tilewright.machine("aie2")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((256, 512), "int8"), B: T.Buffer((512, 256), "int8"), C: T.Buffer((256, 256), "int32")):
    for m, n, k in T.grid(256, 256, 512):
        with T.sblock("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            T.reads(A[vm, vk], B[vk, vn])
            T.writes(C[vm, vn])
            with T.init():
                C[vm, vn] = 0
            C[vm, vn] = C[vm, vn] + T.Cast("int32", A[vm, vk]) * T.Cast("int32", B[vk, vn])


# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
mo, mi = sch.split(m, factors=[None, 64], names=["mo", "mi"])
no, ni = sch.split(n, factors=[None, 64], names=["no", "ni"])
ko, ki = sch.split(k, factors=[None, 64], names=["ko", "ki"])
sch.reorder(no, mo, ko, mi, ni, ki)
sch.bind(no, "blockIdx.y")
sch.bind(mo, "blockIdx.x")

# %% schedule: through the memory tiles
A_column = sch.cache_read(C, 0, "shared.memory_tile")
sch.compute_at(A_column, ko)
A_tile = sch.cache_read(C, 0, "local")
B_column = sch.cache_read(C, 1, "shared.memory_tile")
sch.compute_at(B_column, ko)
B_tile = sch.cache_read(C, 1, "local")
C_tile = sch.cache_write(C, 0, "local")
sch.reverse_compute_at(C_tile, mo)

# %% schedule: overlap
sch.double_buffer(A_column)
sch.double_buffer(A_tile)
sch.double_buffer(B_tile)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
