# %% [markdown]
# # An MLP with gating

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gated_mlp(
    X: T.Buffer((256, 128), "float16"),
    Wg: T.Buffer((128, 512), "float16"),
    Wu: T.Buffer((128, 512), "float16"),
    Wd: T.Buffer((512, 128), "float16"),
    O: T.Buffer((256, 128), "float32"),
):
    G = T.sblock_alloc_buffer((256, 512))
    U = T.sblock_alloc_buffer((256, 512))
    H = T.sblock_alloc_buffer((256, 512), "float16")
    for i, j, k in T.grid(256, 512, 128):
        with T.sblock("G"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                G[vi, vj] = T.float32(0)
            G[vi, vj] = G[vi, vj] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", Wg[vk, vj])
    for i, j, k in T.grid(256, 512, 128):
        with T.sblock("U"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                U[vi, vj] = T.float32(0)
            U[vi, vj] = U[vi, vj] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", Wu[vk, vj])
    for i, j in T.grid(256, 512):
        with T.sblock("H"):
            vi, vj = T.axis.remap("SS", [i, j])
            H[vi, vj] = T.Cast("float16", G[vi, vj] * T.sigmoid(G[vi, vj]) * U[vi, vj])
    for i, j, k in T.grid(256, 128, 512):
        with T.sblock("O"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                O[vi, vj] = T.float32(0)
            O[vi, vj] = O[vi, vj] + T.Cast("float32", H[vi, vk]) * T.Cast("float32", Wd[vk, vj])


# %% schedule
sch = tilewright.Schedule(gated_mlp)
O = sch.get_block("O")
X_in = sch.cache_read("G", "X", "local.vtcm", consumer_blocks=["G", "U"])
Wg_in = sch.cache_read("G", "Wg", "local.vtcm")
Wu_in = sch.cache_read("U", "Wu", "local.vtcm")
Wd_in = sch.cache_read(O, "Wd", "local.vtcm")
O_out = sch.cache_write(O, 0, "local.acc")
sch.set_scope("G", 0, "local.acc")
sch.set_scope("U", 0, "local.acc")
sch.set_scope("H", 0, "local.vtcm")
i, j, k = sch.get_loops(O)
root, i = sch.split(i, factors=[1, None], names=["root", "i_all"])
io, ii = sch.split(i, factors=[None, 64], names=["io", "ii"])
ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"])
sch.reorder(io, ko, ii, j, ki)
sch.compute_at("H", ko)
sch.compute_at("G", ko)
sch.compute_at("U", ko)
sch.reverse_compute_at(O_out, io)
sch.compute_at(X_in, root)
sch.compute_at(Wg_in, ko)
sch.compute_at(Wu_in, ko)
sch.compute_at(Wd_in, ko)
sch.pipeline(ko, stages=[0, 1, 0, 1, 2, 0, 3])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
