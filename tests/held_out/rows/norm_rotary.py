# %% [markdown]
# # RMS norm of rows, then the rotary embedding of their heads

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def norm_rotary(
    X: T.Buffer((512, 512), "float16"),
    gamma: T.Buffer((512,), "float16"),
    cosine: T.Buffer((512, 32), "float16"),
    sine: T.Buffer((512, 32), "float16"),
    Y: T.Buffer((512, 8, 64), "float16"),
):
    second = T.sblock_alloc_buffer((512,))
    scale = T.sblock_alloc_buffer((512,))
    N = T.sblock_alloc_buffer((512, 512), "float16")
    for s, k in T.grid(512, 512):
        with T.sblock("second"):
            vs, vk = T.axis.remap("SR", [s, k])
            with T.init():
                second[vs] = T.float32(0)
            second[vs] = second[vs] + T.Cast("float32", X[vs, vk]) * T.Cast("float32", X[vs, vk])
    for s in T.serial(512):
        with T.sblock("scale"):
            vs = T.axis.spatial(512, s)
            scale[vs] = T.rsqrt(second[vs] / T.float32(512) + T.float32(1e-5))
    for s, k in T.grid(512, 512):
        with T.sblock("N"):
            vs, vk = T.axis.remap("SS", [s, k])
            N[vs, vk] = T.Cast("float16", T.Cast("float32", X[vs, vk]) * scale[vs]) * gamma[vk]
    for s, h, d in T.grid(512, 8, 64):
        with T.sblock("Y"):
            vs, vh, vd = T.axis.remap("SSS", [s, h, d])
            Y[vs, vh, vd] = (
                N[vs, vh * 64 + vd] * cosine[vs, vd % 32]
                + T.if_then_else(
                    vd < 32, T.float16(0) - N[vs, vh * 64 + (vd + 32) % 64], N[vs, vh * 64 + (vd + 32) % 64]
                )
                * sine[vs, vd % 32]
            )


# %% schedule
sch = tilewright.Schedule(norm_rotary)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
