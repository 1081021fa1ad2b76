# %% [markdown]
# # Wormhole: multicast, or each core reads for itself?
#
# Each of 64 cores computes one tile of C. The cores of a row need the same tiles of A, those of a column the same tiles of B. With multicast one
# read from DRAM serves all of them: the link *noc0* carries 2 MiB, of which the cores receive 16. Set `multicast` of *noc0* to false in the
# machine's figures: each core then reads all of its operands, and the product takes 126,027 cycles instead of 38,183.
#
# Addresses rotate over six DRAM controllers, so every copy comes over six paths at once. Point at *noc0* in the timeline: its tip names the
# busiest segment of the torus, and the core that waits longest for it.

# %% machine
import tilewright

machine = tilewright.machine("wormhole")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(
    A: T.Buffer((512, 1024), "bfloat16"),
    B: T.Buffer((1024, 512), "bfloat16"),
    C: T.Buffer((512, 512), "float32"),
):
    for m, n, k in T.grid(512, 512, 1024):
        with T.sblock("C"):
            vm, vn, vk = T.axis.remap("SSR", [m, n, k])
            T.reads(A[vm, vk], B[vk, vn])
            T.writes(C[vm, vn])
            with T.init():
                C[vm, vn] = T.float32(0)
            C[vm, vn] = C[vm, vn] + T.Cast("float32", A[vm, vk]) * T.Cast("float32", B[vk, vn])


# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
mo, mi = sch.split(m, factors=[None, 64], names=["mo", "mi"])
no, ni = sch.split(n, factors=[None, 64], names=["no", "ni"])
ko, ki = sch.split(k, factors=[None, 128], names=["ko", "ki"])
sch.reorder(mo, no, ko, mi, ni, ki)
sch.bind(mo, "blockIdx.y")
sch.bind(no, "blockIdx.x")

# %% schedule: staging
A_l1 = sch.cache_read(C, 0, "shared")
sch.compute_at(A_l1, ko)
B_l1 = sch.cache_read(C, 1, "shared")
sch.compute_at(B_l1, ko)
C_l1 = sch.cache_write(C, 0, "shared")
sch.reverse_compute_at(C_l1, no)

# %% schedule: overlap
sch.double_buffer(A_l1)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
