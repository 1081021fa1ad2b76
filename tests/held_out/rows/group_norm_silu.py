# %% [markdown]
# # Group norm then SiLU

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def group_norm_silu(
    X: T.Buffer((196, 16, 16), "float16"),
    gain: T.Buffer((16, 16), "float16"),
    shift: T.Buffer((16, 16), "float16"),
    Y: T.Buffer((196, 16, 16), "float16"),
):
    S = T.sblock_alloc_buffer((16,), "float32")
    Q = T.sblock_alloc_buffer((16,), "float32")
    Z = T.sblock_alloc_buffer((196, 16, 16), "float32")
    for g, p, c in T.grid(16, 196, 16):
        with T.sblock("S"):
            vg, vp, vc = T.axis.remap("SRR", [g, p, c])
            with T.init():
                S[vg] = T.float32(0)
            S[vg] = S[vg] + T.Cast("float32", X[vp, vg, vc])
    for g, p, c in T.grid(16, 196, 16):
        with T.sblock("Q"):
            vg, vp, vc = T.axis.remap("SRR", [g, p, c])
            with T.init():
                Q[vg] = T.float32(0)
            Q[vg] = Q[vg] + T.Cast("float32", X[vp, vg, vc]) * T.Cast("float32", X[vp, vg, vc])
    for p, g, c in T.grid(196, 16, 16):
        with T.sblock("Z"):
            vp, vg, vc = T.axis.remap("SSS", [p, g, c])
            Z[vp, vg, vc] = (T.Cast("float32", X[vp, vg, vc]) - S[vg] * T.float32(0.00031887755)) * T.rsqrt(
                Q[vg] * T.float32(0.00031887755) - S[vg] * S[vg] * T.float32(1.0168288e-07) + T.float32(1e-5)
            ) * T.Cast("float32", gain[vg, vc]) + T.Cast("float32", shift[vg, vc])
    for p, g, c in T.grid(196, 16, 16):
        with T.sblock("Y"):
            vp, vg, vc = T.axis.remap("SSS", [p, g, c])
            Y[vp, vg, vc] = T.Cast("float16", Z[vp, vg, vc] * T.sigmoid(Z[vp, vg, vc]))


# %% schedule
sch = tilewright.Schedule(group_norm_silu)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
