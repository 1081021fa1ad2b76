# %% [markdown]
# # A padded 3 x 3 convolution, channels first

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv_nchw(
    X: T.Buffer((1, 64, 28, 28), "float16"),
    W: T.Buffer((64, 64, 3, 3), "float16"),
    Y: T.Buffer((1, 64, 28, 28), "float32"),
):
    Xp = T.sblock_alloc_buffer((1, 64, 30, 30), "float16")
    for n, c, y, x in T.grid(1, 64, 30, 30):
        with T.sblock("pad"):
            vn, vc, vy, vx = T.axis.remap("SSSS", [n, c, y, x])
            Xp[vn, vc, vy, vx] = T.if_then_else(
                1 <= vy and vy < 29 and 1 <= vx and vx < 29, X[vn, vc, vy - 1, vx - 1], T.float16(0)
            )
    for n, f, y, x, r, p, q in T.grid(1, 64, 28, 28, 64, 3, 3):
        with T.sblock("conv"):
            vn, vf, vy, vx, vr, vp, vq = T.axis.remap("SSSSRRR", [n, f, y, x, r, p, q])
            with T.init():
                Y[vn, vf, vy, vx] = T.float32(0)
            Y[vn, vf, vy, vx] = Y[vn, vf, vy, vx] + T.Cast("float32", Xp[vn, vr, vy * 1 + vp, vx * 1 + vq]) * T.Cast(
                "float32", W[vf, vr, vp, vq]
            )


# %% schedule
sch = tilewright.Schedule(conv_nchw)
conv = sch.get_block("conv")
W_in = sch.cache_read(conv, "W", "local.vtcm")
conv_out = sch.cache_write(conv, 0, "local.acc")
n, f, y, x, r, p, q = sch.get_loops(conv)
yo, yi = sch.split(y, factors=[None, 7], names=["yo", "yi"])
fo, fi = sch.split(f, factors=[None, 32], names=["fo", "fi"])
sch.reorder(yo, fo, n, fi, yi, x, r, p, q)
sch.compute_at("pad", yo)
sch.set_scope("pad", 0, "local.vtcm")
rows = sch.get_loops("pad")[1]
filled = sch.decompose_padding("pad", rows)
sch.reverse_compute_at(conv_out, fo)
sch.pipeline(yo, stages=[0, 0, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
