# %% [markdown]
# # compute_at, set_scope, cache_read: what moves what
#
# From the discussion *Compute_at vs set_scope*:
#
# > What is the difference between the compute_at and set_scope functions? Both are at least related, in that they both specify some
# > memory block, but I don't see the differences. […] There is a third operation that seems to play into this, which is cache_read.
#
# Three small lines on one small program, each with what it changed. In the app, click the steps one after the other and watch the tree
# and the memory rows.
#
# | call | computation | memory |
# |---|---|---|
# | `compute_at(B, io)` | moves B below a loop of its consumer | its buffer shrinks to what is live there |
# | `set_scope(B, 0, "local")` | stays | the buffer B writes is allocated on chip |
# | `cache_read(C, 1, "local")` | a new block that copies W | a new buffer on chip, W stays where it is |

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def scale_and_add(A: T.Buffer((64, 64), "float32"), W: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    B = T.sblock_alloc_buffer((64, 64), "float32")
    for i, j in T.grid(64, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(64, 64):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj], W[vi, vj])
            T.writes(C[vi, vj])
            C[vi, vj] = B[vi, vj] + W[vi, vj]


# %% [markdown]
# ## compute_at moves the computation
# B was computed whole before C began. Now 16 rows of it are computed when C needs them, and the buffer (still in global memory!) shrinks
# to those 16 rows.

# %% schedule
sch = tilewright.Schedule(scale_and_add)
B = sch.get_block("B")
C = sch.get_block("C")
i, j = sch.get_loops(C)
io, ii = sch.split(i, factors=[None, 16], names=["io", "ii"])
sch.compute_at(B, io)

# %% [markdown]
# ## set_scope moves the memory
# Not one loop changes. The buffer between B and C is allocated on chip, and its bytes no longer cross to global memory. This is for
# intermediates: buffers that the function itself allocates.

# %% schedule: set_scope
sch.set_scope(B, 0, "local")

# %% [markdown]
# ## cache_read adds a copy
# A and W are the caller's, they have to stay in global memory. `cache_read` makes a second buffer on chip and a block that copies into it;
# the block is one like any other, so `compute_at` moves the copy to where 16 rows are needed. `cache_write` is the same for a result.

# %% schedule: cache_read
AL = sch.cache_read(B, 0, "local")
WL = sch.cache_read(C, 1, "local")
CL = sch.cache_write(C, 0, "local")
sch.compute_at(AL, io)
sch.compute_at(WL, io)
sch.reverse_compute_at(CL, io)

# %% [markdown]
# ## What to look at
# Before the last cell the scalar engine does everything: the vector unit does not reach global memory, and a line of the report says so.
# With the copies the vector unit works on 16 rows at a time, and neither A nor B nor W is on chip whole.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
