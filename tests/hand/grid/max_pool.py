# %% [markdown]
# # A 2 x 2 max pooling

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def max_pool(X: T.Buffer((112, 112, 64), "float16"), Y: T.Buffer((56, 56, 64), "float16")):
    for h, w, c, rh, rw in T.grid(56, 56, 64, 2, 2):
        with T.sblock("Y"):
            vh, vw, vc, vrh, vrw = T.axis.remap("SSSRR", [h, w, c, rh, rw])
            with T.init():
                Y[vh, vw, vc] = T.min_value("float16")
            Y[vh, vw, vc] = T.max(Y[vh, vw, vc], X[vh * 2 + vrh, vw * 2 + vrw, vc])


# %% schedule
sch = tilewright.Schedule(max_pool)
Y = sch.get_block("Y")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
X_in = sch.cache_read(Y, "X", "local.vtcm")
h, w, c, rh, rw = sch.get_loops(Y)
ho, hi = sch.split(h, factors=[None, 2], names=["ho", "hi"])
sch.compute_at(X_in, ho)
sch.double_buffer(X_in)
sch.reverse_compute_at(Y_out, ho)
sch.double_buffer(Y)
sch.pipeline(ho, stages=[0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
