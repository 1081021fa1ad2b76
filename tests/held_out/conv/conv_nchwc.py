# %% [markdown]
# # A 3 x 3 convolution of channels in blocks of 32

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv_nchwc(
    X: T.Buffer((4, 30, 30, 32), "float16"),
    W: T.Buffer((4, 4, 3, 3, 32, 32), "float16"),
    Y: T.Buffer((4, 28, 28, 32), "float16"),
):
    for co, h, w, ci, ro, rh, rw, ri in T.grid(4, 28, 28, 32, 4, 3, 3, 32):
        with T.sblock("Y"):
            vco, vh, vw, vci, vro, vrh, vrw, vri = T.axis.remap("SSSSRRRR", [co, h, w, ci, ro, rh, rw, ri])
            with T.init():
                Y[vco, vh, vw, vci] = T.float16(0)
            Y[vco, vh, vw, vci] = (
                Y[vco, vh, vw, vci] + X[vro, vh + vrh, vw + vrw, vri] * W[vco, vro, vrh, vrw, vri, vci]
            )


# %% schedule
sch = tilewright.Schedule(conv_nchwc)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
