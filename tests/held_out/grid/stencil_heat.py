# %% [markdown]
# # One step of a heat equation in three dimensions

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def stencil_heat(A: T.Buffer((66, 66, 66), "float32"), B: T.Buffer((64, 64, 64), "float32")):
    for x, y, z in T.grid(64, 64, 64):
        with T.sblock("B"):
            vx, vy, vz = T.axis.remap("SSS", [x, y, z])
            B[vx, vy, vz] = A[vx + 1, vy + 1, vz + 1] * T.float32(0.4) + T.float32(0.1) * (
                A[vx, vy + 1, vz + 1]
                + A[vx + 2, vy + 1, vz + 1]
                + A[vx + 1, vy, vz + 1]
                + A[vx + 1, vy + 2, vz + 1]
                + A[vx + 1, vy + 1, vz]
                + A[vx + 1, vy + 1, vz + 2]
            )


# %% schedule
sch = tilewright.Schedule(stencil_heat)

# %% report
print(tilewright.report_text(tilewright.simulate(sch, machine)))
