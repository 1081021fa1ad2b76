# %% [markdown]
# # A 3x3 convolution of NCHWc with stride two

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def conv_nchwc_s2(
    X: T.Buffer((4, 57, 57, 32), "float16"),
    W: T.Buffer((4, 4, 3, 3, 32, 32), "float16"),
    Y: T.Buffer((4, 28, 28, 32), "float16"),
):
    A = T.sblock_alloc_buffer((4, 28, 28, 32), "float32")
    for fo, h, w, fi, co, rh, rw, ci in T.grid(4, 28, 28, 32, 4, 3, 3, 32):
        with T.sblock("A"):
            vfo, vh, vw, vfi, vco, vrh, vrw, vci = T.axis.remap("SSSSRRRR", [fo, h, w, fi, co, rh, rw, ci])
            with T.init():
                A[vfo, vh, vw, vfi] = T.float32(0)
            A[vfo, vh, vw, vfi] = A[vfo, vh, vw, vfi] + T.Cast(
                "float32", X[vco, vh * 2 + vrh, vw * 2 + vrw, vci]
            ) * T.Cast("float32", W[vfo, vco, vrh, vrw, vci, vfi])
    for fo, h, w, fi in T.grid(4, 28, 28, 32):
        with T.sblock("Y"):
            vfo, vh, vw, vfi = T.axis.remap("SSSS", [fo, h, w, fi])
            Y[vfo, vh, vw, vfi] = T.Cast("float16", T.max(A[vfo, vh, vw, vfi], T.float32(0)))


# %% schedule
sch = tilewright.Schedule(conv_nchwc_s2)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
