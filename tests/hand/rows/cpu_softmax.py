# %% [markdown]
# # Softmax of 96 rows on a CPU, row by row in vectors

# %% machine
import tilewright

machine = tilewright.machine("cpu-core")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def cpu_softmax(
    X: T.Buffer((96, 512), "float32"),
    Y: T.Buffer((96, 512), "float32"),
):
    mx = T.sblock_alloc_buffer((96,), "float32")
    E = T.sblock_alloc_buffer((96, 512), "float32")
    s = T.sblock_alloc_buffer((96,), "float32")
    for i, j in T.grid(96, 512):
        with T.sblock("mx"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                mx[vi] = T.min_value("float32")
            mx[vi] = T.max(mx[vi], X[vi, vj])
    for i, j in T.grid(96, 512):
        with T.sblock("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(X[vi, vj] - mx[vi])
    for i, j in T.grid(96, 512):
        with T.sblock("s"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                s[vi] = T.float32(0)
            s[vi] = s[vi] + E[vi, vj]
    for i, j in T.grid(96, 512):
        with T.sblock("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = E[vi, vj] / s[vi]


# %% schedule
sch = tilewright.Schedule(cpu_softmax)
Y = sch.get_block("Y")
i, j = sch.get_loops(Y)
sch.compute_at("s", i)
sch.compute_at("E", i)
sch.compute_at("mx", i)
jo, ji = sch.split(j, factors=[None, 16])
sch.vectorize(ji)
loop = sch.get_loops("E")[-1]
eo, ei = sch.split(loop, factors=[None, 16])
sch.vectorize(ei)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
