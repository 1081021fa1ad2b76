# %% [markdown]
# # An image twice as large, bilinear

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def resize_bilinear(
    X: T.Buffer((33, 33, 32), "float32"),
    Y: T.Buffer((64, 64, 32), "float32"),
):
    for y, x, c in T.grid(64, 64, 32):
        with T.sblock("Y"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            Y[vy, vx, vc] = (
                X[vy // 2, vx // 2, vc]
                + X[vy // 2 + 1, vx // 2, vc]
                + X[vy // 2, vx // 2 + 1, vc]
                + X[vy // 2 + 1, vx // 2 + 1, vc]
            ) * T.float32(0.25)


# %% schedule
sch = tilewright.Schedule(resize_bilinear)
Y = sch.get_block("Y")
X_in = sch.cache_read(Y, "X", "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
y, x, c = sch.get_loops(Y)
yo, yi = sch.split(y, factors=[None, 4], names=["yo", "yi"])
sch.compute_at(X_in, yo)
sch.reverse_compute_at(Y_out, yo)
sch.double_buffer(Y)
sch.pipeline(yo, stages=[0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
