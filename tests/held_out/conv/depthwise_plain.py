# %% [markdown]
# # A depthwise 3 x 3 convolution without padding

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def depthwise_plain(
    X: T.Buffer((58, 58, 96), "float16"), W: T.Buffer((3, 3, 96), "float16"), Y: T.Buffer((56, 56, 96), "float16")
):
    for h, w, c, rh, rw in T.grid(56, 56, 96, 3, 3):
        with T.sblock("Y"):
            vh, vw, vc, vrh, vrw = T.axis.remap("SSSRR", [h, w, c, rh, rw])
            with T.init():
                Y[vh, vw, vc] = T.float16(0)
            Y[vh, vw, vc] = Y[vh, vw, vc] + X[vh + vrh, vw + vrw, vc] * W[vrh, vrw, vc]


# %% schedule
sch = tilewright.Schedule(depthwise_plain)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
