# %% [markdown]
# # Attention of one head
# Scores, their softmax and the weighted values: how much of the 64 × 64 scores must exist at once?

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def attention(
    Q: T.Buffer((64, 32), "float32"),
    K: T.Buffer((64, 32), "float32"),
    V: T.Buffer((64, 32), "float32"),
    O: T.Buffer((64, 32), "float32"),
):
    S = T.sblock_alloc_buffer((64, 64), "float32")
    most = T.sblock_alloc_buffer((64,), "float32")
    P = T.sblock_alloc_buffer((64, 64), "float32")
    total = T.sblock_alloc_buffer((64,), "float32")
    W = T.sblock_alloc_buffer((64, 32), "float32")
    for i, j, d in T.grid(64, 64, 32):
        with T.sblock("S"):
            vi, vj, vd = T.axis.remap("SSR", [i, j, d])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + Q[vi, vd] * K[vj, vd]
    for i, j in T.grid(64, 64):
        with T.sblock("most"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                most[vi] = T.min_value("float32")
            most[vi] = T.max(most[vi], S[vi, vj])
    for i, j in T.grid(64, 64):
        with T.sblock("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.exp((S[vi, vj] - most[vi]) * T.float32(0.17677669))
    for i, j in T.grid(64, 64):
        with T.sblock("total"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + P[vi, vj]
    for i, d, j in T.grid(64, 32, 64):
        with T.sblock("W"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            with T.init():
                W[vi, vd] = T.float32(0)
            W[vi, vd] = W[vi, vd] + P[vi, vj] * V[vj, vd]
    for i, d in T.grid(64, 32):
        with T.sblock("O"):
            vi, vd = T.axis.remap("SS", [i, d])
            O[vi, vd] = W[vi, vd] / total[vi]


# %% schedule
sch = tilewright.Schedule(attention)
O = sch.get_block("O")
i, d = sch.get_loops(O)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
