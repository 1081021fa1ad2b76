# %% [markdown]
# # Two steps of a stencil
# Each step reads five points of the one before: rows of the first step can be computed where the second needs them.

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def stencil(X: T.Buffer((68, 132), "float32"), Y: T.Buffer((64, 128), "float32")):
    step = T.sblock_alloc_buffer((66, 130), "float32")
    for y, x in T.grid(66, 130):
        with T.sblock("step"):
            vy, vx = T.axis.remap("SS", [y, x])
            step[vy, vx] = (
                X[vy, vx + 1] + X[vy + 1, vx] + X[vy + 1, vx + 1] + X[vy + 1, vx + 2] + X[vy + 2, vx + 1]
            ) * T.float32(0.2)
    for y, x in T.grid(64, 128):
        with T.sblock("Y"):
            vy, vx = T.axis.remap("SS", [y, x])
            Y[vy, vx] = (
                step[vy, vx + 1] + step[vy + 1, vx] + step[vy + 1, vx + 1] + step[vy + 1, vx + 2] + step[vy + 2, vx + 1]
            ) * T.float32(0.2)


# %% schedule
sch = tilewright.Schedule(stencil)
Y = sch.get_block("Y")
y, x = sch.get_loops(Y)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
