# %% [markdown]
# # A chain of three 2-D stencils: blur, gradient, threshold of the neighbourhood

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def edges(A: T.Buffer((262, 262), "float32"), Z: T.Buffer((256, 256), "float32")):
    blur = T.sblock_alloc_buffer((260, 260))
    slope = T.sblock_alloc_buffer((258, 258))
    for y, x in T.grid(260, 260):
        with T.sblock("blur"):
            vy, vx = T.axis.remap("SS", [y, x])
            blur[vy, vx] = (
                A[vy, vx + 1] + A[vy + 1, vx] + A[vy + 1, vx + 1] * T.float32(4) + A[vy + 1, vx + 2] + A[vy + 2, vx + 1]
            ) * T.float32(0.125)
    for y, x in T.grid(258, 258):
        with T.sblock("slope"):
            vy, vx = T.axis.remap("SS", [y, x])
            slope[vy, vx] = T.abs(blur[vy, vx + 1] - blur[vy + 2, vx + 1]) + T.abs(
                blur[vy + 1, vx] - blur[vy + 1, vx + 2]
            )
    for y, x in T.grid(256, 256):
        with T.sblock("Z"):
            vy, vx = T.axis.remap("SS", [y, x])
            Z[vy, vx] = T.max(
                slope[vy + 1, vx + 1] * T.float32(2) - slope[vy, vx + 1] - slope[vy + 2, vx + 1], T.float32(0)
            )


# %% schedule
sch = tilewright.Schedule(edges)
Z = sch.get_block("Z")
Z_out = sch.cache_write(Z, 0, "local.vtcm")
A_in = sch.cache_read("blur", 0, "local.vtcm")
y, x = sch.get_loops(Z)
yo, yi = sch.split(y, factors=[None, 16], names=["yo", "yi"])
sch.compute_at("slope", yo)
sch.set_scope("slope", 0, "local.vtcm")
sch.compute_at("blur", yo)
sch.set_scope("blur", 0, "local.vtcm")
sch.compute_at(A_in, yo)
sch.double_buffer(A_in)
sch.reverse_compute_at(Z_out, yo)
sch.double_buffer(Z)
sch.pipeline(yo, stages=[0, 1, 1, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
