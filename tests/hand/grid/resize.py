# %% [markdown]
# # A resize to twice the height and width, each pixel the nearest one

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def resize(X: T.Buffer((56, 56, 64), "float16"), Y: T.Buffer((112, 112, 64), "float16")):
    for h, w, c in T.grid(112, 112, 64):
        with T.sblock("Y"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            Y[vh, vw, vc] = X[vh // 2, vw // 2, vc]


# %% schedule
sch = tilewright.Schedule(resize)
Y = sch.get_block("Y")
sch.annotate(Y, "engine", "vector")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
X_in = sch.cache_read(Y, "X", "local.vtcm")
h, w, c = sch.get_loops(Y)
ho, hi = sch.split(h, factors=[None, 4], names=["ho", "hi"])
sch.compute_at(X_in, ho)
sch.double_buffer(X_in)
sch.reverse_compute_at(Y_out, ho)
sch.double_buffer(Y)
sch.pipeline(ho, stages=[0, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
