# %% [markdown]
# # A transpose without bank conflicts
#
# Shared memory of a GPU has 32 banks of four bytes. A warp that goes down a column of a tile of 32 x 32 floats finds all its 32 words in
# one bank, and is served one lane after the other. One float more in each row puts them into 32 banks.
#
# The schedule says so with `storage_align`: it changes where the tile lies, and nothing that is computed.

# %% machine
import tilewright

machine = tilewright.machine("gpu-sm")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def transpose(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32")):
    for i, j in T.grid(256, 256):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vj, vi])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vj, vi]


# %% schedule: tiles and threads
sch = tilewright.Schedule(transpose)
B = sch.get_block("B")
i, j = sch.get_loops(B)
by, ty = sch.split(i, [None, 32])
bx, tx = sch.split(j, [None, 32])
sch.reorder(by, bx, ty, tx)
sch.bind(by, "blockIdx.y")
sch.bind(bx, "blockIdx.x")
sch.bind(ty, "threadIdx.y")
sch.bind(tx, "threadIdx.x")

# %% schedule: through shared memory
A_shared = sch.cache_read(B, 0, "shared")
sch.compute_at(A_shared, bx)
_, _, row, column = sch.get_loops(A_shared)
sch.bind(row, "threadIdx.y")
sch.bind(column, "threadIdx.x")

# %% schedule: where it lies
sch.storage_align(A_shared, 0, 0, 32, 1)

# %% [markdown]
# ## What to look at
# The rows of the tile are 33 floats apart. Step back over the last line in the history: every warp then waits 31 cycles for its column, a
# tile takes 1,024 cycles instead of 316, and the whole 1.7 times as long.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
