# %% [markdown]
# # What a cache keeps
#
# A transpose reads down the columns: a line of 64 bytes comes for each element, and is gone before the next column asks for it again. In
# tiles of 16 x 16 a line that has come is used sixteen times while it is there.
#
# The caches are simulated access by access, with the counts that cachegrind has for the same loops in C.

# %% machine
import tilewright

machine = tilewright.machine("cpu-core")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def transpose(A: T.Buffer((256, 256), "float64"), B: T.Buffer((256, 256), "float64")):
    for i, j in T.grid(256, 256):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vj, vi])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vj, vi]


# %% schedule
sch = tilewright.Schedule(transpose)
B = sch.get_block("B")
i, j = sch.get_loops(B)
sch.annotate(B, "engine", "core")

# %% schedule: in tiles
io, jo, ii, ji = sch.tile(i, j, factors=[16, 16])

# %% [markdown]
# ## What to look at
# Step back over the last line: more than every second access then misses the first cache.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
