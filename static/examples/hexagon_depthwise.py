# %% [markdown]
# # Hexagon: how many HVX contexts does a depthwise convolution need?
#
# Four contexts share one DMA to DDR. Each takes a quarter of the rows, and stages strips of four rows in its part of the VTCM. One context takes
# 1,206,952 cycles, two 615,075, four 319,138: set `count` of the level `context` in the machine's figures. The row of DDR says why more
# contexts would not help for long: with four it is busy for 58 % of the cycles.
#
# Take `sch.pipeline` out: the DMA then loads the next strip only after it has stored the last one, and four contexts take 482,728 cycles.

# %% machine
import tilewright

machine = tilewright.machine("hexagon-hvx")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def depthwise(
    X: T.Buffer((130, 130, 128), "uint8"),
    W: T.Buffer((3, 3, 128), "int8"),
    Y: T.Buffer((128, 128, 128), "int16"),
):
    for y, x, c, ry, rx in T.grid(128, 128, 128, 3, 3):
        with T.sblock("Y"):
            vy, vx, vc, vry, vrx = T.axis.remap("SSSRR", [y, x, c, ry, rx])
            T.reads(X[vy + vry, vx + vrx, vc], W[vry, vrx, vc])
            T.writes(Y[vy, vx, vc])
            with T.init():
                Y[vy, vx, vc] = T.int16(0)
            Y[vy, vx, vc] = Y[vy, vx, vc] + T.Cast("int16", X[vy + vry, vx + vrx, vc]) * T.Cast(
                "int16", W[vry, vrx, vc]
            )


# %% schedule
sch = tilewright.Schedule(depthwise)
Y = sch.get_block("Y")
y, x, c, ry, rx = sch.get_loops(Y)
yo, ym, yi = sch.split(y, factors=[4, None, 4], names=["yo", "ym", "yi"])
sch.reorder(yo, ym, yi, x, ry, rx, c)
sch.bind(yo, "blockIdx.x")

# %% schedule: staging
W_vtcm = sch.cache_read(Y, 1, "local.vtcm")
sch.compute_at(W_vtcm, yo)
X_vtcm = sch.cache_read(Y, 0, "local.vtcm")
sch.compute_at(X_vtcm, ym)
Y_vtcm = sch.cache_write(Y, 0, "local.vtcm")
sch.reverse_compute_at(Y_vtcm, ym)

# %% schedule: overlap
sch.pipeline(ym, stages=[0, 1, 1])
sch.double_buffer(Y)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
