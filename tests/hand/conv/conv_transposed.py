# %% [markdown]
# # A transposed 4 x 4 convolution with stride 2, on an input with zeros between its pixels

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv_transposed(
    X: T.Buffer((14, 14, 64), "float16"),
    W: T.Buffer((4, 4, 64, 64), "float16"),
    Y: T.Buffer((28, 28, 64), "float32"),
):
    P = T.sblock_alloc_buffer((31, 31, 64), "float16")
    for h, w, c in T.grid(31, 31, 64):
        with T.sblock("P"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            P[vh, vw, vc] = T.if_then_else(
                vh >= 2 and vh < 29 and vh % 2 == 0 and vw >= 2 and vw < 29 and vw % 2 == 0,
                X[(vh - 2) // 2, (vw - 2) // 2, vc],
                T.float16(0),
            )
    for h, w, f, rh, rw, rc in T.grid(28, 28, 64, 4, 4, 64):
        with T.sblock("Y"):
            vh, vw, vf, vrh, vrw, vrc = T.axis.remap("SSSRRR", [h, w, f, rh, rw, rc])
            with T.init():
                Y[vh, vw, vf] = T.float32(0)
            Y[vh, vw, vf] = Y[vh, vw, vf] + T.Cast("float32", P[vh + vrh, vw + vrw, vrc]) * T.Cast(
                "float32", W[vrh, vrw, vrc, vf]
            )


# %% schedule
sch = tilewright.Schedule(conv_transposed)
P = sch.get_block("P")
Y = sch.get_block("Y")
sch.annotate(P, "engine", "vector")
X_in = sch.cache_read(P, "X", "local.vtcm")
W_in = sch.cache_read(Y, "W", "local.vtcm_Block_2")
Y_out = sch.cache_write(Y, 0, "local.acc")
sch.set_scope(P, 0, "local.vtcm")
h, w, f, rh, rw, rc = sch.get_loops(Y)
ho, hi = sch.split(h, factors=[None, 4], names=["ho", "hi"])
sch.compute_at(P, ho)
sch.reverse_compute_at(Y_out, ho)
sch.pipeline(ho, stages=[0, 1, 2])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
