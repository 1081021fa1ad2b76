# %% [markdown]
# # A product with weights of four bits, two in a byte, and a scale for each 64

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def int4_matmul(
    A: T.Buffer((128, 512), "float16"),
    B: T.Buffer((256, 512), "uint8"),
    scale: T.Buffer((8, 512), "float16"),
    C: T.Buffer((128, 512), "float16"),
):
    W = T.sblock_alloc_buffer((512, 512), "float16")
    for k, j in T.grid(512, 512):
        with T.sblock("W"):
            vk, vj = T.axis.remap("SS", [k, j])
            W[vk, vj] = (
                T.Cast(
                    "float16", T.bitwise_and(T.shift_right(B[vk // 2, vj], T.Cast("uint8", vk % 2 * 4)), T.uint8(15))
                )
                - T.float16(8)
            ) * scale[vk // 64, vj]
    for i, j, k in T.grid(128, 512, 512):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * W[vk, vj]


# %% schedule
sch = tilewright.Schedule(int4_matmul)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
