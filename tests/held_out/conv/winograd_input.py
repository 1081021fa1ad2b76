# %% [markdown]
# # Winograd transform of input tiles F(2,3)

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def winograd_input(
    X: T.Buffer((34, 34, 64), "float16"), B: T.Buffer((4, 4), "float16"), V: T.Buffer((4, 4, 16, 16, 64), "float16")
):
    U = T.sblock_alloc_buffer((4, 4, 16, 16, 64), "float16")
    for a, b, p, q, c, r in T.grid(4, 4, 16, 16, 64, 4):
        with T.sblock("U"):
            va, vb, vp, vq, vc, vr = T.axis.remap("SSSSSR", [a, b, p, q, c, r])
            with T.init():
                U[va, vb, vp, vq, vc] = T.float16(0)
            U[va, vb, vp, vq, vc] = U[va, vb, vp, vq, vc] + B[vr, va] * X[vp * 2 + vr, vq * 2 + vb, vc]
    for a, b, p, q, c, r in T.grid(4, 4, 16, 16, 64, 4):
        with T.sblock("V"):
            va, vb, vp, vq, vc, vr = T.axis.remap("SSSSSR", [a, b, p, q, c, r])
            with T.init():
                V[va, vb, vp, vq, vc] = T.float16(0)
            V[va, vb, vp, vq, vc] = V[va, vb, vp, vq, vc] + U[va, vr, vp, vq, vc] * B[vr, vb]


# %% schedule
sch = tilewright.Schedule(winograd_input)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
