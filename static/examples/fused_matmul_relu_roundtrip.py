# %% [markdown]
# # Fused matmul, bias and relu: the round trip
#
# From a discussion about a custom accelerator with a matrix unit, a vector unit and one local buffer that both can reach:
#
# > 1. Matrix compute writes the tile to a local buffer.
# > 2. TVM then copies that local buffer back to global memory.
# > 3. Before the vector compute stage, TVM copies the data from global to another local buffer for the vector unit to use.
# >
# > In other words, the intermediate result always gets stored to global memory and then reloaded, even though in our hardware a
# > single shared local buffer is enough.
#
# (The on-chip scope is `local` throughout, as the machine has one buffer; `fused_matmul_relu.py` is the same program without the trip.)
#
# The schedule of the post, call for call: the matmul's result goes from the chip to global memory and comes back for the relu. The
# traffic shows the round trip in bytes, and a finding proposes the call that ends it.

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def fused_matmul_add_relu(
    x: T.Buffer((1, 48), "float32"),
    weight: T.Buffer((48, 64), "float32"),
    bias: T.Buffer((64,), "float32"),
    out: T.Buffer((1, 64), "float32"),
):
    mm = T.sblock_alloc_buffer((1, 64), "float32")
    add = T.sblock_alloc_buffer((1, 64), "float32")
    for i0, i1, k in T.grid(1, 64, 48):
        with T.sblock("matmul"):
            v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
            T.reads(x[v_i0, v_k], weight[v_k, v_i1])
            T.writes(mm[v_i0, v_i1])
            with T.init():
                mm[v_i0, v_i1] = T.float32(0)
            mm[v_i0, v_i1] = mm[v_i0, v_i1] + x[v_i0, v_k] * weight[v_k, v_i1]
    for ax0, ax1 in T.grid(1, 64):
        with T.sblock("T_add"):
            v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
            T.reads(mm[v_ax0, v_ax1], bias[v_ax1])
            T.writes(add[v_ax0, v_ax1])
            add[v_ax0, v_ax1] = mm[v_ax0, v_ax1] + bias[v_ax1]
    for i0, i1 in T.grid(1, 64):
        with T.sblock("compute"):
            v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
            T.reads(add[v_i0, v_i1])
            T.writes(out[v_i0, v_i1])
            out[v_i0, v_i1] = T.max(add[v_i0, v_i1], T.float32(0))


# %% [markdown]
# ## The addition goes into the relu, the matmul into tiles of 16

# %% schedule
sch = tilewright.Schedule(fused_matmul_add_relu)
T_add = sch.get_block("T_add")
sch.compute_inline(T_add)
matmul = sch.get_block("matmul")
compute = sch.get_block("compute")
i0, i1, k = sch.get_loops(matmul)
i1_outer, i1_inner = sch.split(i1, factors=[None, 16], names=["i1_outer", "i1_inner"])
k_outer, k_inner = sch.split(k, factors=[None, 16], names=["k_outer", "k_inner"])
sch.reorder(i0, i1_outer, k_outer, k_inner, i1_inner)
sch.reverse_compute_at(compute, i1_outer)

# %% [markdown]
# ## The buffers, as in the post
# `cache_write` of the matmul is the step that makes the trip: it *adds* a buffer, and the copy from it goes where the intermediate
# has been all along, to global memory.

# %% schedule: buffers
x_local = sch.cache_read(matmul, 0, "local")
w_local = sch.cache_read(matmul, 1, "local")
matmul_local = sch.cache_write(matmul, 0, "local")
bias_local = sch.cache_read(compute, 1, "local")
mm_back = sch.cache_read(compute, 0, "local")
result_local = sch.cache_write(compute, 0, "local")
sch.compute_at(x_local, i1_outer)
sch.compute_at(w_local, i1_outer)
sch.compute_at(bias_local, i1_outer)

# %% [markdown]
# ## What to look at
# The traffic of `mm`: 256 bytes from local to global and 256 bytes back, and the vector unit waiting for them. Nobody outside of this
# function ever reads `mm`.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
