# %% [markdown]
# # A grouped 3 x 3 convolution: four groups of 32 channels

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv_grouped(
    X: T.Buffer((4, 30, 30, 32), "float16"),
    W: T.Buffer((4, 3, 3, 32, 32), "float16"),
    Y: T.Buffer((4, 28, 28, 32), "float32"),
):
    for g, h, w, f, rh, rw, rc in T.grid(4, 28, 28, 32, 3, 3, 32):
        with T.sblock("Y"):
            vg, vh, vw, vf, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [g, h, w, f, rh, rw, rc])
            with T.init():
                Y[vg, vh, vw, vf] = T.float32(0)
            Y[vg, vh, vw, vf] = Y[vg, vh, vw, vf] + T.Cast("float32", X[vg, vh + vrh, vw + vrw, vrc]) * T.Cast(
                "float32", W[vg, vrh, vrw, vrc, vf]
            )


# %% schedule
sch = tilewright.Schedule(conv_grouped)
Y = sch.get_block("Y")
W_in = sch.cache_read(Y, "W", "local.vtcm")
X_in = sch.cache_read(Y, "X", "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.acc")
g, h, w, f, rh, rw, rc = sch.get_loops(Y)
ho, hi = sch.split(h, factors=[None, 7], names=["ho", "hi"])
sch.compute_at(W_in, g)
sch.compute_at(X_in, ho)
sch.double_buffer(X_in)
sch.reverse_compute_at(Y_out, ho)
sch.double_buffer(Y)
sch.pipeline(ho, stages=[0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
