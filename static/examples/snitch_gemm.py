# %% [markdown]
# # Snitch: a product on eight cores with one DMA
#
# Each of eight cores computes tiles of C, with its operands in an eighth of the scratchpad. All copies share one DMA of 64 bytes a cycle, so
# the row *wide* of the cores' report says how much of it the tiles need, and the stall *port* how long a core waits for the others.
#
# The tiles are 16 x 16, in steps of 32. Change both factors of 16 to 8: four times as many blocks read twice as many bytes in all, and the cores
# wait for the DMA. Take the two lines with `double_buffer` out: a core then computes or copies, but not both.

# %% machine
import tilewright

machine = tilewright.machine("snitch-cluster")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(
    A: T.Buffer((256, 256), "float32"),
    B: T.Buffer((256, 256), "float32"),
    C: T.Buffer((256, 256), "float32"),
):
    for m, n, k in T.grid(256, 256, 256):
        with T.sblock("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            T.reads(A[vm, vk], B[vk, vn])
            T.writes(C[vm, vn])
            with T.init():
                C[vm, vn] = T.float32(0)
            C[vm, vn] = C[vm, vn] + A[vm, vk] * B[vk, vn]


# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
mo, mi = sch.split(m, factors=[None, 16], names=["mo", "mi"])
no, ni = sch.split(n, factors=[None, 16], names=["no", "ni"])
ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"])
sch.reorder(mo, no, ko, mi, ni, ki)
sch.bind(mo, "blockIdx.y")
sch.bind(no, "blockIdx.x")

# %% schedule: staging
A_shared = sch.cache_read(C, 0, "shared")
sch.compute_at(A_shared, ko)
B_shared = sch.cache_read(C, 1, "shared")
sch.compute_at(B_shared, ko)
C_shared = sch.cache_write(C, 0, "shared")
sch.reverse_compute_at(C_shared, no)

# %% schedule: overlap
sch.double_buffer(A_shared)
sch.double_buffer(B_shared)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
