# %% [markdown]
# # A depthwise 3 x 3 convolution on the vector unit

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def depthwise(
    X: T.Buffer((56, 56, 128), "float16"),
    W: T.Buffer((3, 3, 128), "float16"),
    Y: T.Buffer((56, 56, 128), "float16"),
):
    P = T.sblock_alloc_buffer((58, 58, 128), "float16")
    D = T.sblock_alloc_buffer((56, 56, 128), "float16")
    for h, w, c in T.grid(58, 58, 128):
        with T.sblock("P"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            P[vh, vw, vc] = T.if_then_else(
                vh >= 1 and vh < 57 and vw >= 1 and vw < 57, X[vh - 1, vw - 1, vc], T.float16(0)
            )
    for h, w, c, rh, rw in T.grid(56, 56, 128, 3, 3):
        with T.sblock("D"):
            vh, vw, vc, vrh, vrw = T.axis.remap("SSSRR", [h, w, c, rh, rw])
            with T.init():
                D[vh, vw, vc] = T.float16(0)
            D[vh, vw, vc] = D[vh, vw, vc] + P[vh + vrh, vw + vrw, vc] * W[vrh, vrw, vc]
    for h, w, c in T.grid(56, 56, 128):
        with T.sblock("Y"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            Y[vh, vw, vc] = T.min(T.max(D[vh, vw, vc], T.float16(0)), T.float16(6))


# %% schedule
sch = tilewright.Schedule(depthwise)
P = sch.get_block("P")
D = sch.get_block("D")
Y = sch.get_block("Y")
W_in = sch.cache_read(D, 1, "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
sch.set_scope(P, 0, "local.vtcm")
sch.set_scope(D, 0, "local.vtcm")
sch.annotate(D, "engine", "vector")
h, w, c = sch.get_loops(Y)
ho, hi = sch.split(h, factors=[None, 4], names=["ho", "hi"])
co, ci = sch.split(c, factors=[None, 64], names=["co", "ci"])
sch.reorder(ho, co, hi, w, ci)
sch.compute_at(D, co)
sch.compute_at(P, co)
p_o, p_c, ph, pw, pc = sch.get_loops(P)
fill = sch.decompose_padding(P, ph)
sch.reverse_compute_at(Y_out, co)
sch.double_buffer(Y)
sch.pipeline(co, stages=[0, 0, 1, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
