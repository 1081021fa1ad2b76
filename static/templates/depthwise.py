# %% [markdown]
# # A depthwise convolution
# Three by three taps of each channel alone: few operations for each byte.

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def depthwise(
    X: T.Buffer((34, 34, 32), "float32"), W: T.Buffer((3, 3, 32), "float32"), Y: T.Buffer((32, 32, 32), "float32")
):
    for y, x, c, ry, rx in T.grid(32, 32, 32, 3, 3):
        with T.sblock("Y"):
            vy, vx, vc, vry, vrx = T.axis.remap("SSSRR", [y, x, c, ry, rx])
            with T.init():
                Y[vy, vx, vc] = T.float32(0)
            Y[vy, vx, vc] = Y[vy, vx, vc] + X[vy + vry, vx + vrx, vc] * W[vry, vrx, vc]


# %% schedule
sch = tilewright.Schedule(depthwise)
Y = sch.get_block("Y")
y, x, c, ry, rx = sch.get_loops(Y)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
