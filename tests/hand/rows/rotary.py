# %% [markdown]
# # Rotary embedding of the queries of eight heads

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def rotary(
    X: T.Buffer((512, 8, 64), "float16"),
    cosine: T.Buffer((512, 32), "float16"),
    sine: T.Buffer((512, 32), "float16"),
    Y: T.Buffer((512, 8, 64), "float16"),
):
    for s, h, d in T.grid(512, 8, 64):
        with T.sblock("Y"):
            vs, vh, vd = T.axis.remap("SSS", [s, h, d])
            Y[vs, vh, vd] = (
                X[vs, vh, vd] * cosine[vs, vd % 32]
                + T.if_then_else(vd < 32, T.float16(0) - X[vs, vh, (vd + 32) % 64], X[vs, vh, (vd + 32) % 64])
                * sine[vs, vd % 32]
            )


# %% schedule
sch = tilewright.Schedule(rotary)
Y = sch.get_block("Y")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
X_in = sch.cache_read(Y, "X", "local.vtcm")
cosine_in = sch.cache_read(Y, "cosine", "local.vtcm")
sine_in = sch.cache_read(Y, "sine", "local.vtcm")
s, h, d = sch.get_loops(Y)
so, si = sch.split(s, factors=[None, 16], names=["so", "si"])
sch.compute_at(X_in, so)
sch.double_buffer(X_in)
sch.compute_at(cosine_in, so)
sch.double_buffer(cosine_in)
sch.compute_at(sine_in, so)
sch.double_buffer(sine_in)
sch.reverse_compute_at(Y_out, so)
sch.double_buffer(Y)
sch.pipeline(so, stages=[0, 0, 0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
