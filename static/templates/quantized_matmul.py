# %% [markdown]
# # A quantised matmul
# Products of 8-bit integers, summed in 32 bits and scaled back to 8 bits.

# %% machine
import tilewright

machine = tilewright.machine("gemmini")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def quantized_matmul(A: T.Buffer((128, 128), "int8"), B: T.Buffer((128, 128), "int8"), C: T.Buffer((128, 128), "int8")):
    total = T.sblock_alloc_buffer((128, 128), "int32")
    for i, j, k in T.grid(128, 128, 128):
        with T.sblock("total"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                total[vi, vj] = 0
            total[vi, vj] = total[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vk, vj])
    for i, j in T.grid(128, 128):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.Cast("int8", T.max(T.min(T.shift_right(total[vi, vj], 8), 127), -128))


# %% schedule
sch = tilewright.Schedule(quantized_matmul)
C = sch.get_block("C")
i, j = sch.get_loops(C)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
