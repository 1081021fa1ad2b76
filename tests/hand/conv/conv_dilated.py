# %% [markdown]
# # A 3 x 3 convolution with dilation 2 and padding

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv_dilated(
    X: T.Buffer((28, 28, 64), "float16"),
    W: T.Buffer((3, 3, 64, 64), "float16"),
    Y: T.Buffer((28, 28, 64), "float32"),
):
    P = T.sblock_alloc_buffer((32, 32, 64), "float16")
    for h, w, c in T.grid(32, 32, 64):
        with T.sblock("P"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            P[vh, vw, vc] = T.if_then_else(
                vh >= 2 and vh < 30 and vw >= 2 and vw < 30, X[vh - 2, vw - 2, vc], T.float16(0)
            )
    for h, w, f, rh, rw, rc in T.grid(28, 28, 64, 3, 3, 64):
        with T.sblock("Y"):
            vh, vw, vf, vrh, vrw, vrc = T.axis.remap("SSSRRR", [h, w, f, rh, rw, rc])
            with T.init():
                Y[vh, vw, vf] = T.float32(0)
            Y[vh, vw, vf] = Y[vh, vw, vf] + T.Cast("float32", P[vh + vrh * 2, vw + vrw * 2, vrc]) * T.Cast(
                "float32", W[vrh, vrw, vrc, vf]
            )


# %% schedule
sch = tilewright.Schedule(conv_dilated)
P = sch.get_block("P")
Y = sch.get_block("Y")
W_in = sch.cache_read(Y, "W", "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.acc")
sch.set_scope(P, 0, "local.vtcm")
h, w, f, rh, rw, rc = sch.get_loops(Y)
p_h, p_w, p_c = sch.get_loops(P)
fill = sch.decompose_padding(P, p_h)
ho, hi = sch.split(h, factors=[None, 4], names=["ho", "hi"])
sch.reverse_compute_at(Y_out, ho)
sch.pipeline(ho, stages=[0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
