# %% [markdown]
# # Ethos-U55: does flash limit this layer?
#
# A convolution with 1 x 1 kernels on 28 x 28 pixels, 128 channels to 128. Its weights are in flash, which delivers one byte a cycle; the units
# need 64 of them a cycle. Here half of the weights stay in SHRAM while all pixels pass, so each weight is read once, and the units are busy for
# 83 % of the time.
#
# Drag the copy `W_local.shram` from `co` into `po` (or change `co` in its `compute_at`): the weights are then read for each block of 28 pixels,
# and the layer takes 460,428 cycles instead of 61,012. The critical path says so: all of it is on `weight_reader`.

# %% machine
import tilewright

machine = tilewright.machine("ethos-u55")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv1x1(
    X: T.Buffer((784, 128), "int8"),
    W: T.Buffer((128, 128), "int8", scope="global.flash"),
    Y: T.Buffer((784, 128), "int8"),
):
    sums = T.sblock_alloc_buffer((784, 128), "int32")
    for p, c, k in T.grid(784, 128, 128):
        with T.sblock("sums"):
            vp, vc, vk = T.axis.remap("SSR", [p, c, k])
            T.reads(X[vp, vk], W[vc, vk])
            T.writes(sums[vp, vc])
            with T.init():
                sums[vp, vc] = 0
            sums[vp, vc] = sums[vp, vc] + T.Cast("int32", X[vp, vk]) * T.Cast("int32", W[vc, vk])
    for p, c in T.grid(784, 128):
        with T.sblock("Y"):
            vp, vc = T.axis.remap("SS", [p, c])
            T.reads(sums[vp, vc])
            T.writes(Y[vp, vc])
            Y[vp, vc] = T.Cast("int8", T.max(T.min(T.shift_right(sums[vp, vc], 8), 127), 0))


# %% schedule
sch = tilewright.Schedule(conv1x1)
Y = sch.get_block("Y")
p, c = sch.get_loops(Y)
po, pi = sch.split(p, factors=[None, 28], names=["po", "pi"])
co, ci = sch.split(c, factors=[None, 64], names=["co", "ci"])
sch.reorder(co, po, pi, ci)

# %% schedule: staging
sums = sch.get_block("sums")
sch.set_scope(sums, 0, "local.shram")
sch.compute_at(sums, po)
W_shram = sch.cache_read(sums, 1, "local.shram")
sch.compute_at(W_shram, co)
X_shram = sch.cache_read(sums, 0, "local.shram")
sch.compute_at(X_shram, po)

# %% schedule: overlap
sch.double_buffer(X_shram)
sch.double_buffer(sums)
sch.double_buffer(W_shram)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
