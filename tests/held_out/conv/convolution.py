# %% [markdown]
# # A 3 x 3 convolution of 30 x 30 pixels with 128 channels

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def convolution(
    X: T.Buffer((30, 30, 128), "float16"),
    W: T.Buffer((3, 3, 128, 128), "float16"),
    Y: T.Buffer((28, 28, 128), "float16"),
):
    for h, w, c, rh, rw, rc in T.grid(28, 28, 128, 3, 3, 128):
        with T.sblock("Y"):
            vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSRRR", [h, w, c, rh, rw, rc])
            with T.init():
                Y[vh, vw, vc] = T.float16(0)
            Y[vh, vw, vc] = Y[vh, vw, vc] + X[vh + vrh, vw + vrw, vrc] * W[vrh, vrw, vrc, vc]


# %% schedule
sch = tilewright.Schedule(convolution)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
