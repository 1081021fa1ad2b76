# %% [markdown]
# # A grouped 3 x 3 convolution that computes the first channel of its group

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv_grouped_channels(
    X: T.Buffer((16, 16, 128), "float16"),
    W: T.Buffer((3, 3, 32, 128), "float16"),
    Y: T.Buffer((16, 16, 128), "float32"),
):
    Xp = T.sblock_alloc_buffer((18, 18, 128), "float16")
    for y, x, c in T.grid(18, 18, 128):
        with T.sblock("Xp"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            Xp[vy, vx, vc] = T.if_then_else(
                1 <= vy and vy < 17 and 1 <= vx and vx < 17, X[vy - 1, vx - 1, vc], T.float16(0)
            )
    for y, x, f, p, q, r in T.grid(16, 16, 128, 3, 3, 32):
        with T.sblock("conv"):
            vy, vx, vf, vp, vq, vr = T.axis.remap("SSSRRR", [y, x, f, p, q, r])
            with T.init():
                Y[vy, vx, vf] = T.float32(0)
            Y[vy, vx, vf] = Y[vy, vx, vf] + T.Cast(
                "float32", Xp[vy * 1 + vp * 1, vx * 1 + vq * 1, vf // 32 * 32 + vr]
            ) * T.Cast("float32", W[vp, vq, vr, vf])


# %% schedule
sch = tilewright.Schedule(conv_grouped_channels)
conv = sch.get_block("conv")
W_in = sch.cache_read(conv, "W", "local.vtcm")
conv_out = sch.cache_write(conv, 0, "local.acc")
y, x, f, p, q, r = sch.get_loops(conv)
fo, fi = sch.split(f, factors=[None, 32], names=["fo", "fi"])
sch.reorder(fo, y, x, fi, p, q, r)
sch.compute_at("Xp", fo)
sch.set_scope("Xp", 0, "local.vtcm")
rows = sch.get_loops("Xp")[1]
filled = sch.decompose_padding("Xp", rows)
sch.compute_at(W_in, fo)
sch.reverse_compute_at(conv_out, fo)
sch.double_buffer(conv)
sch.pipeline(fo, stages=[0, 0, 0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
