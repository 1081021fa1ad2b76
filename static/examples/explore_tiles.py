# %% [markdown]
# # Which tiles, which order, where the copies stand?
#
# A schedule whose author does not decide everything: a line of `choose` is a **hole**, with the values that it may have; run as it is, the
# first one holds. In the app open **Explore** (below, on the right) and press *Start*: every combination that is legal and fits is simulated
# on the machine below, and the picture shows what each costs.

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
# ## Tiles and their order
# Larger tiles are loaded less often, and two of each operand have to fit beside each other.

# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
m, n, k = sch.get_loops(C)
tile_m = tilewright.choose("tile m", [32, 64, 128])
tile_n = tilewright.choose("tile n", [32, 64, 128])
tile_k = tilewright.choose("tile k", [32, 64, 128])
mo, mi = sch.split(m, factors=[None, tile_m], names=["mo", "mi"])
no, ni = sch.split(n, factors=[None, tile_n], names=["no", "ni"])
ko, ki = sch.split(k, factors=[None, tile_k], names=["ko", "ki"])
order = tilewright.choose("order", [["mo", "no", "ko"], ["no", "mo", "ko"]])
sch.reorder(*order, mi, ni, ki)

# %% [markdown]
# ## Copies
# Below which loop is an operand loaded? Further out it stays for longer, and takes more of the memory. With two slots the next tile is
# loaded while the matrix unit works on this one.

# %% schedule: staging
AL = sch.cache_read(C, 0, "local.vtcm")
BL = sch.cache_read(C, 1, "local.vtcm")
CL = sch.cache_write(C, 0, "local.acc")
A_at = tilewright.choose("A at", ["ko", "no"])
B_at = tilewright.choose("B at", ["ko", "no"])
sch.compute_at(AL, A_at)
sch.compute_at(BL, B_at)
sch.reverse_compute_at(CL, order[1])
slots = tilewright.choose("slots", [1, 2])
sch.double_buffer(AL, slots=slots)
sch.double_buffer(BL, slots=slots)

# %% [markdown]
# ## What to look at
# The schedules of the front are those worth having: none is both faster and smaller. Click one to have it as a branch, compared with what
# is here.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
