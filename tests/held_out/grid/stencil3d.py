# %% [markdown]
# # Two steps of a stencil of three dimensions

# %% machine
import tilewright

machine = tilewright.machine("hexagon-hvx")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def stencil3d(X: T.Buffer((36, 36, 64), "float16"), Y: T.Buffer((32, 32, 60), "float16")):
    M = T.sblock_alloc_buffer((34, 34, 62), "float16")
    for i, j, k in T.grid(34, 34, 62):
        with T.sblock("M"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            M[vi, vj, vk] = (
                X[vi, vj + 1, vk + 1]
                + X[vi + 2, vj + 1, vk + 1]
                + X[vi + 1, vj, vk + 1]
                + X[vi + 1, vj + 2, vk + 1]
                + X[vi + 1, vj + 1, vk]
                + X[vi + 1, vj + 1, vk + 2]
            ) * T.float16(0.125) + X[vi + 1, vj + 1, vk + 1] * T.float16(0.25)
    for i, j, k in T.grid(32, 32, 60):
        with T.sblock("Y"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            Y[vi, vj, vk] = (
                M[vi, vj + 1, vk + 1]
                + M[vi + 2, vj + 1, vk + 1]
                + M[vi + 1, vj, vk + 1]
                + M[vi + 1, vj + 2, vk + 1]
                + M[vi + 1, vj + 1, vk]
                + M[vi + 1, vj + 1, vk + 2]
            ) * T.float16(0.125) + M[vi + 1, vj + 1, vk + 1] * T.float16(0.25)


# %% schedule
sch = tilewright.Schedule(stencil3d)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
