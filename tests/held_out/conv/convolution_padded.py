# %% [markdown]
# # A padded 3 x 3 convolution with bias and ReLU

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def convolution_padded(
    X: T.Buffer((28, 28, 64), "float16"),
    W: T.Buffer((3, 3, 64, 128), "float16"),
    bias: T.Buffer((128,), "float16"),
    Y: T.Buffer((28, 28, 128), "float16"),
):
    P = T.sblock_alloc_buffer((30, 30, 64), "float16")
    C = T.sblock_alloc_buffer((28, 28, 128), "float16")
    for h, w, c in T.grid(30, 30, 64):
        with T.sblock("P"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            P[vh, vw, vc] = T.if_then_else(
                vh >= 1 and vh < 29 and vw >= 1 and vw < 29, X[vh - 1, vw - 1, vc], T.float16(0)
            )
    for h, w, c, rh, rw, rc in T.grid(28, 28, 128, 3, 3, 64):
        with T.sblock("C"):
            vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSRRR", [h, w, c, rh, rw, rc])
            with T.init():
                C[vh, vw, vc] = T.float16(0)
            C[vh, vw, vc] = C[vh, vw, vc] + P[vh + vrh, vw + vrw, vrc] * W[vrh, vrw, vrc, vc]
    for h, w, c in T.grid(28, 28, 128):
        with T.sblock("Y"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            Y[vh, vw, vc] = T.max(C[vh, vw, vc] + bias[vc], T.float16(0))


# %% schedule
sch = tilewright.Schedule(convolution_padded)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
