# %% [markdown]
# # Fused matmul, bias and relu: one shared buffer
#
# The same program as `fused_matmul_relu_roundtrip.py`, and the answer to its question:
#
# > The vector unit immediately consumes that same tile from the same local buffer, without going through global memory.
#
# The intermediate is allocated inside the function, so it needs no copy to be on chip: **`set_scope` says that it lives there**, and no
# byte of it leaves. `cache_write` is for the result, which has to be in global memory in the end.

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
# ## The addition goes into the relu, the matmul into tiles of 16, the relu to each tile

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
# ## The intermediate is local
# One call instead of two copies. At `i1_outer` only one tile of it is live, so it compacts to 1 x 16.

# %% schedule: buffers
sch.set_scope(matmul, 0, "local")
x_local = sch.cache_read(matmul, 0, "local")
w_local = sch.cache_read(matmul, 1, "local")
bias_local = sch.cache_read(compute, 1, "local")
result_local = sch.cache_write(compute, 0, "local")
sch.compute_at(x_local, i1_outer)
sch.compute_at(w_local, i1_outer)
sch.compute_at(bias_local, i1_outer)

# %% [markdown]
# ## The next tile is loaded while this one is computed
# Two slots for each operand, so that the DMA need not wait until the matrix unit is done with the tile before.

# %% schedule: two slots
sch.double_buffer(x_local)
sch.double_buffer(w_local)
sch.double_buffer(bias_local)

# %% [markdown]
# ## What to look at
# `mm` is not in the traffic table any more: no byte of it crosses to global memory. The vector unit starts on a tile as soon as the
# matrix unit is done with it, and the loads do not wait for either.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
