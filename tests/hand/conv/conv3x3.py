# %% [markdown]
# # A 3 x 3 convolution with padding, bias and ReLU

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv3x3(
    X: T.Buffer((28, 28, 64), "float16"),
    W: T.Buffer((3, 3, 64, 64), "float16"),
    bias: T.Buffer((64,), "float32"),
    Y: T.Buffer((28, 28, 64), "float32"),
):
    P = T.sblock_alloc_buffer((30, 30, 64), "float16")
    C = T.sblock_alloc_buffer((28, 28, 64))
    for h, w, c in T.grid(30, 30, 64):
        with T.sblock("P"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            P[vh, vw, vc] = T.if_then_else(
                vh >= 1 and vh < 29 and vw >= 1 and vw < 29, X[vh - 1, vw - 1, vc], T.float16(0)
            )
    for h, w, f, rh, rw, rc in T.grid(28, 28, 64, 3, 3, 64):
        with T.sblock("C"):
            vh, vw, vf, vrh, vrw, vrc = T.axis.remap("SSSRRR", [h, w, f, rh, rw, rc])
            with T.init():
                C[vh, vw, vf] = T.float32(0)
            C[vh, vw, vf] = C[vh, vw, vf] + T.Cast("float32", P[vh + vrh, vw + vrw, vrc]) * T.Cast(
                "float32", W[vrh, vrw, vrc, vf]
            )
    for h, w, f in T.grid(28, 28, 64):
        with T.sblock("Y"):
            vh, vw, vf = T.axis.remap("SSS", [h, w, f])
            Y[vh, vw, vf] = T.max(C[vh, vw, vf] + bias[vf], T.float32(0))


# %% schedule
sch = tilewright.Schedule(conv3x3)
P = sch.get_block("P")
C = sch.get_block("C")
Y = sch.get_block("Y")
W_in = sch.cache_read(C, 1, "local.vtcm")
bias_in = sch.cache_read(Y, 1, "local.vtcm")
Y_out = sch.cache_write(Y, 0, "local.vtcm")
sch.set_scope(P, 0, "local.vtcm")
sch.set_scope(C, 0, "local.acc")
h, w, f = sch.get_loops(Y)
ho, hi = sch.split(h, factors=[None, 4], names=["ho", "hi"])
sch.compute_at(C, ho)
sch.compute_at(P, ho)
p_o, ph, pw, pc = sch.get_loops(P)
fill = sch.decompose_padding(P, ph)
sch.reverse_compute_at(Y_out, ho)
sch.double_buffer(Y)
sch.pipeline(ho, stages=[0, 0, 1, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
