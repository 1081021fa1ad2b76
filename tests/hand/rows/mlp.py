# %% [markdown]
# # Two layers with a ReLU between them

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def mlp(
    X: T.Buffer((128, 128), "float16"),
    W1: T.Buffer((128, 512), "float16"),
    W2: T.Buffer((512, 128), "float16"),
    Y: T.Buffer((128, 128), "float32"),
):
    H = T.sblock_alloc_buffer((128, 512), "float32")
    R = T.sblock_alloc_buffer((128, 512), "float16")
    for i, j, k in T.grid(128, 512, 128):
        with T.sblock("H"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                H[vi, vj] = T.float32(0)
            H[vi, vj] = H[vi, vj] + T.Cast("float32", X[vi, vk]) * T.Cast("float32", W1[vk, vj])
    for i, j in T.grid(128, 512):
        with T.sblock("R"):
            vi, vj = T.axis.remap("SS", [i, j])
            R[vi, vj] = T.Cast("float16", T.max(H[vi, vj], T.float32(0)))
    for i, j, k in T.grid(128, 128, 512):
        with T.sblock("Y"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float32(0)
            Y[vi, vj] = Y[vi, vj] + T.Cast("float32", R[vi, vk]) * T.Cast("float32", W2[vk, vj])


# %% schedule
sch = tilewright.Schedule(mlp)
Y = sch.get_block("Y")
X_in = sch.cache_read("H", "X", "local.vtcm")
W1_in = sch.cache_read("H", "W1", "local.vtcm")
W2_in = sch.cache_read(Y, "W2", "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.acc")
i, j, k = sch.get_loops(Y)
ko, ki = sch.split(k, factors=[None, 128], names=["ko", "ki"])
sch.reorder(ko, i, j, ki)
sch.compute_at("R", ko)
sch.set_scope("R", 0, "local.vtcm")
sch.compute_at("H", ko)
sch.set_scope("H", 0, "local.vtcm")
sch.compute_at(W1_in, ko)
sch.compute_at(W2_in, ko)
sch.pipeline(ko, stages=[0, 1, 1, 0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
