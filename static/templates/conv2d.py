# %% [markdown]
# # A convolution
# Channels last, three by three, no padding: six loops and a reduction over three of them.

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv2d(
    X: T.Buffer((34, 34, 16), "float32"), W: T.Buffer((3, 3, 16, 32), "float32"), Y: T.Buffer((32, 32, 32), "float32")
):
    for y, x, co, ry, rx, ci in T.grid(32, 32, 32, 3, 3, 16):
        with T.sblock("Y"):
            vy, vx, vco, vry, vrx, vci = T.axis.remap("SSSRRR", [y, x, co, ry, rx, ci])
            with T.init():
                Y[vy, vx, vco] = T.float32(0)
            Y[vy, vx, vco] = Y[vy, vx, vco] + X[vy + vry, vx + vrx, vci] * W[vry, vrx, vci, vco]


# %% schedule
sch = tilewright.Schedule(conv2d)
Y = sch.get_block("Y")
y, x, co, ry, rx, ci = sch.get_loops(Y)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
