# %% [markdown]
# # A padded depthwise 3 x 3 convolution, then a pointwise one

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def depthwise_pointwise(
    X: T.Buffer((56, 56, 64), "float16"),
    W: T.Buffer((3, 3, 64), "float16"),
    V: T.Buffer((64, 128), "float16"),
    Y: T.Buffer((56, 56, 128), "float16"),
):
    P = T.sblock_alloc_buffer((58, 58, 64), "float16")
    D = T.sblock_alloc_buffer((56, 56, 64), "float16")
    R = T.sblock_alloc_buffer((56, 56, 64), "float16")
    for h, w, c in T.grid(58, 58, 64):
        with T.sblock("P"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            P[vh, vw, vc] = T.if_then_else(
                vh >= 1 and vh < 57 and vw >= 1 and vw < 57, X[vh - 1, vw - 1, vc], T.float16(0)
            )
    for h, w, c, rh, rw in T.grid(56, 56, 64, 3, 3):
        with T.sblock("D"):
            vh, vw, vc, vrh, vrw = T.axis.remap("SSSRR", [h, w, c, rh, rw])
            with T.init():
                D[vh, vw, vc] = T.float16(0)
            D[vh, vw, vc] = D[vh, vw, vc] + P[vh + vrh, vw + vrw, vc] * W[vrh, vrw, vc]
    for h, w, c in T.grid(56, 56, 64):
        with T.sblock("R"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            R[vh, vw, vc] = T.max(D[vh, vw, vc], T.float16(0))
    for h, w, f, rc in T.grid(56, 56, 128, 64):
        with T.sblock("Y"):
            vh, vw, vf, vrc = T.axis.remap("SSSR", [h, w, f, rc])
            with T.init():
                Y[vh, vw, vf] = T.float16(0)
            Y[vh, vw, vf] = Y[vh, vw, vf] + R[vh, vw, vrc] * V[vrc, vf]


# %% schedule
sch = tilewright.Schedule(depthwise_pointwise)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
