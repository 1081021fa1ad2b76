# %% [markdown]
# # Running sums of rows by doubling distances (Hillis and Steele)

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def scan_rows(X: T.Buffer((64, 256), "float32"), Y: T.Buffer((64, 256), "float32")):
    S0 = T.sblock_alloc_buffer((64, 256), "float32")
    S1 = T.sblock_alloc_buffer((64, 256), "float32")
    S2 = T.sblock_alloc_buffer((64, 256), "float32")
    S3 = T.sblock_alloc_buffer((64, 256), "float32")
    S4 = T.sblock_alloc_buffer((64, 256), "float32")
    S5 = T.sblock_alloc_buffer((64, 256), "float32")
    S6 = T.sblock_alloc_buffer((64, 256), "float32")
    for i, j in T.grid(64, 256):
        with T.sblock("S0"):
            vi, vj = T.axis.remap("SS", [i, j])
            S0[vi, vj] = T.if_then_else(vj >= 1, X[vi, vj] + X[vi, vj - 1], X[vi, vj])
    for i, j in T.grid(64, 256):
        with T.sblock("S1"):
            vi, vj = T.axis.remap("SS", [i, j])
            S1[vi, vj] = T.if_then_else(vj >= 2, S0[vi, vj] + S0[vi, vj - 2], S0[vi, vj])
    for i, j in T.grid(64, 256):
        with T.sblock("S2"):
            vi, vj = T.axis.remap("SS", [i, j])
            S2[vi, vj] = T.if_then_else(vj >= 4, S1[vi, vj] + S1[vi, vj - 4], S1[vi, vj])
    for i, j in T.grid(64, 256):
        with T.sblock("S3"):
            vi, vj = T.axis.remap("SS", [i, j])
            S3[vi, vj] = T.if_then_else(vj >= 8, S2[vi, vj] + S2[vi, vj - 8], S2[vi, vj])
    for i, j in T.grid(64, 256):
        with T.sblock("S4"):
            vi, vj = T.axis.remap("SS", [i, j])
            S4[vi, vj] = T.if_then_else(vj >= 16, S3[vi, vj] + S3[vi, vj - 16], S3[vi, vj])
    for i, j in T.grid(64, 256):
        with T.sblock("S5"):
            vi, vj = T.axis.remap("SS", [i, j])
            S5[vi, vj] = T.if_then_else(vj >= 32, S4[vi, vj] + S4[vi, vj - 32], S4[vi, vj])
    for i, j in T.grid(64, 256):
        with T.sblock("S6"):
            vi, vj = T.axis.remap("SS", [i, j])
            S6[vi, vj] = T.if_then_else(vj >= 64, S5[vi, vj] + S5[vi, vj - 64], S5[vi, vj])
    for i, j in T.grid(64, 256):
        with T.sblock("S7"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.if_then_else(vj >= 128, S6[vi, vj] + S6[vi, vj - 128], S6[vi, vj])


# %% schedule
sch = tilewright.Schedule(scan_rows)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
