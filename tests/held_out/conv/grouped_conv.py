# %% [markdown]
# # A 3x3 convolution in four groups

# %% machine
import tilewright

machine = tilewright.machine("hexagon-hvx")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def grouped_conv(
    X: T.Buffer((30, 30, 64), "float16"),
    W: T.Buffer((4, 3, 3, 16, 16), "float16"),
    Y: T.Buffer((28, 28, 64), "float16"),
):
    for h, w, g, f, rh, rw, c in T.grid(28, 28, 4, 16, 3, 3, 16):
        with T.sblock("Y"):
            vh, vw, vg, vf, vrh, vrw, vc = T.axis.remap("SSSSRRR", [h, w, g, f, rh, rw, c])
            with T.init():
                Y[vh, vw, vg * 16 + vf] = T.float16(0)
            Y[vh, vw, vg * 16 + vf] = (
                Y[vh, vw, vg * 16 + vf] + X[vh + vrh, vw + vrw, vg * 16 + vc] * W[vg, vrh, vrw, vc, vf]
            )


# %% schedule
sch = tilewright.Schedule(grouped_conv)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
