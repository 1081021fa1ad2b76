# %% [markdown]
# # Four vertical blurs in a row

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def stencil(A: T.Buffer((520, 512), "float32"), Z: T.Buffer((512, 512), "float32")):
    B1 = T.sblock_alloc_buffer((518, 512))
    B2 = T.sblock_alloc_buffer((516, 512))
    B3 = T.sblock_alloc_buffer((514, 512))
    for y, x in T.grid(518, 512):
        with T.sblock("B1"):
            vy, vx = T.axis.remap("SS", [y, x])
            B1[vy, vx] = (A[vy, vx] + A[vy + 1, vx] * T.float32(2) + A[vy + 2, vx]) * T.float32(0.25)
    for y, x in T.grid(516, 512):
        with T.sblock("B2"):
            vy, vx = T.axis.remap("SS", [y, x])
            B2[vy, vx] = (B1[vy, vx] + B1[vy + 1, vx] * T.float32(2) + B1[vy + 2, vx]) * T.float32(0.25)
    for y, x in T.grid(514, 512):
        with T.sblock("B3"):
            vy, vx = T.axis.remap("SS", [y, x])
            B3[vy, vx] = (B2[vy, vx] + B2[vy + 1, vx] * T.float32(2) + B2[vy + 2, vx]) * T.float32(0.25)
    for y, x in T.grid(512, 512):
        with T.sblock("Z"):
            vy, vx = T.axis.remap("SS", [y, x])
            Z[vy, vx] = (B3[vy, vx] + B3[vy + 1, vx] * T.float32(2) + B3[vy + 2, vx]) * T.float32(0.25)


# %% schedule
sch = tilewright.Schedule(stencil)
Z = sch.get_block("Z")
Z_out = sch.cache_write(Z, 0, "local.vtcm")
A_in = sch.cache_read("B1", 0, "local.vtcm")
y, x = sch.get_loops(Z)
yo, yi = sch.split(y, factors=[None, 8], names=["yo", "yi"])
sch.compute_at("B3", yo)
sch.set_scope("B3", 0, "local.vtcm")
sch.compute_at("B2", yo)
sch.set_scope("B2", 0, "local.vtcm")
sch.compute_at("B1", yo)
sch.set_scope("B1", 0, "local.vtcm")
sch.compute_at(A_in, yo)
sch.double_buffer(A_in)
sch.reverse_compute_at(Z_out, yo)
sch.double_buffer(Z)
sch.pipeline(yo, stages=[0, 1, 1, 1, 1, 1])

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
