# %% [markdown]
# # A 3 x 3 convolution with stride 2

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv_strided(
    X: T.Buffer((57, 57, 64), "float16"),
    W: T.Buffer((3, 3, 64, 64), "float16"),
    Y: T.Buffer((28, 28, 64), "float32"),
):
    for h, w, f, rh, rw, rc in T.grid(28, 28, 64, 3, 3, 64):
        with T.sblock("Y"):
            vh, vw, vf, vrh, vrw, vrc = T.axis.remap("SSSRRR", [h, w, f, rh, rw, rc])
            with T.init():
                Y[vh, vw, vf] = T.float32(0)
            Y[vh, vw, vf] = Y[vh, vw, vf] + T.Cast("float32", X[vh * 2 + vrh, vw * 2 + vrw, vrc]) * T.Cast(
                "float32", W[vrh, vrw, vrc, vf]
            )


# %% schedule
sch = tilewright.Schedule(conv_strided)
Y = sch.get_block("Y")
W_in = sch.cache_read(Y, "W", "local.vtcm")
X_in = sch.cache_read(Y, "X", "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.acc")
h, w, f, rh, rw, rc = sch.get_loops(Y)
ho, hi = sch.split(h, factors=[None, 2], names=["ho", "hi"])
sch.compute_at(X_in, ho)
sch.double_buffer(X_in)
sch.reverse_compute_at(Y_out, ho)
sch.pipeline(ho, stages=[0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
