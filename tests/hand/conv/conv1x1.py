# %% [markdown]
# # A 1 x 1 convolution with bias and ReLU

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv1x1(
    X: T.Buffer((28, 28, 128), "float16"),
    W: T.Buffer((128, 128), "float16"),
    bias: T.Buffer((128,), "float32"),
    Y: T.Buffer((28, 28, 128), "float16"),
):
    C = T.sblock_alloc_buffer((28, 28, 128))
    for h, w, f, c in T.grid(28, 28, 128, 128):
        with T.sblock("C"):
            vh, vw, vf, vc = T.axis.remap("SSSR", [h, w, f, c])
            with T.init():
                C[vh, vw, vf] = T.float32(0)
            C[vh, vw, vf] = C[vh, vw, vf] + T.Cast("float32", X[vh, vw, vc]) * T.Cast("float32", W[vc, vf])
    for h, w, f in T.grid(28, 28, 128):
        with T.sblock("Y"):
            vh, vw, vf = T.axis.remap("SSS", [h, w, f])
            Y[vh, vw, vf] = T.Cast("float16", T.max(C[vh, vw, vf] + bias[vf], T.float32(0)))


# %% schedule
sch = tilewright.Schedule(conv1x1)
C = sch.get_block("C")
Y = sch.get_block("Y")
W_in = sch.cache_read(C, "W", "local.vtcm")
X_in = sch.cache_read(C, "X", "local.vtcm")
bias_in = sch.cache_read(Y, "bias", "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
sch.set_scope(C, 0, "local.acc")
h, w, f = sch.get_loops(Y)
ho, hi = sch.split(h, factors=[None, 2], names=["ho", "hi"])
sch.compute_at(C, ho)
sch.compute_at(X_in, ho)
sch.double_buffer(X_in)
sch.double_buffer(C)
sch.reverse_compute_at(Y_out, ho)
sch.double_buffer(Y)
sch.pipeline(ho, stages=[0, 1, 2, 2])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
