# %% [markdown]
# # A 3 x 3 convolution of int8 with a requantized result

# %% machine
import tilewright

machine = tilewright.machine("gemmini")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def gemmini_conv(
    X: T.Buffer((18, 18, 32), "int8"),
    W: T.Buffer((3, 3, 32, 64), "int8"),
    Y: T.Buffer((16, 16, 64), "int8"),
):
    S = T.sblock_alloc_buffer((16, 16, 64), "int32")
    for y, x, f, p, q, r in T.grid(16, 16, 64, 3, 3, 32):
        with T.sblock("conv"):
            vy, vx, vf, vp, vq, vr = T.axis.remap("SSSRRR", [y, x, f, p, q, r])
            with T.init():
                S[vy, vx, vf] = T.int32(0)
            S[vy, vx, vf] = S[vy, vx, vf] + T.Cast("int32", X[vy * 1 + vp * 1, vx * 1 + vq * 1, vr]) * T.Cast(
                "int32", W[vp, vq, vr, vf]
            )
    for y, x, f in T.grid(16, 16, 64):
        with T.sblock("Y"):
            vy, vx, vf = T.axis.remap("SSS", [y, x, f])
            Y[vy, vx, vf] = T.Cast("int8", T.max(T.min(T.shift_right(S[vy, vx, vf] + 128, 8), 127), -128))


# %% schedule
sch = tilewright.Schedule(gemmini_conv)
conv = sch.get_block("conv")
W_in = sch.cache_read(conv, "W", "local.scratchpad")
X_in = sch.cache_read(conv, "X", "local.scratchpad")
sch.set_scope(conv, 0, "local.accumulator")
y, x, f = sch.get_loops("Y")
fo, fi = sch.split(f, factors=[None, 32], names=["fo", "fi"])
yo, yi = sch.split(y, factors=[None, 4], names=["yo", "yi"])
sch.reorder(fo, yo, yi, x, fi)
sch.compute_at(conv, yo)
sch.compute_at(W_in, fo)
sch.compute_at(X_in, yo)
sch.double_buffer(X_in)
sch.double_buffer(conv)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
