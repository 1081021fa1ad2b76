# %% [markdown]
# # Two convolutions fused on four cores
#
# Stream's first example (KULeuven-MICAS/stream): two 3 x 3 convolutions, 8 to 16 to 32 channels on 32 x 32 pixels of bf16, on four TPU-like
# cores. Stream schedules it in 14,344 cycles, one transfer or layer after the other.
#
# Here each core computes eight rows of the result, two at a time, and the rows of the first layer that these need. The tensor between
# both layers stays in its SRAM, so loads, both layers and stores overlap: 12,994 cycles, although DRAM delivers 8 bytes a cycle here, and the
# 16 of the bus in Stream's figure (with them: 9,650). The row of DRAM in the timeline is busy from the first load to the last store.
#
# Set `multicast` of *bus_in* to false in the machine's figures: each core then loads the weights for itself, and DRAM needs 16,831 cycles.

# %% machine
import tilewright

machine = tilewright.machine("tpu-like-quad")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def two_convolutions(
    X: T.Buffer((8, 32, 32), "bfloat16"),
    W1: T.Buffer((16, 8, 3, 3), "bfloat16"),
    W2: T.Buffer((32, 16, 3, 3), "bfloat16"),
    Y: T.Buffer((32, 32, 32), "bfloat16"),
):
    padded = T.sblock_alloc_buffer((8, 34, 34), "bfloat16")
    middle = T.sblock_alloc_buffer((16, 32, 32), "bfloat16")
    around = T.sblock_alloc_buffer((16, 34, 34), "bfloat16")
    for y, c, x in T.grid(34, 8, 34):
        with T.sblock("padded"):
            vy, vc, vx = T.axis.remap("SSS", [y, c, x])
            T.reads(X[vc, vy - 1, vx - 1])
            T.writes(padded[vc, vy, vx])
            padded[vc, vy, vx] = T.if_then_else(
                1 <= vy and vy < 33 and 1 <= vx and vx < 33, X[vc, vy - 1, vx - 1], T.bfloat16(0)
            )
    for y, x, k, c, ry, rx in T.grid(32, 32, 16, 8, 3, 3):
        with T.sblock("middle"):
            vy, vx, vk, vc, vry, vrx = T.axis.remap("SSSRRR", [y, x, k, c, ry, rx])
            T.reads(padded[vc, vy + vry, vx + vrx], W1[vk, vc, vry, vrx])
            T.writes(middle[vk, vy, vx])
            with T.init():
                middle[vk, vy, vx] = T.bfloat16(0)
            middle[vk, vy, vx] = middle[vk, vy, vx] + padded[vc, vy + vry, vx + vrx] * W1[vk, vc, vry, vrx]
    for y, c, x in T.grid(34, 16, 34):
        with T.sblock("around"):
            vy, vc, vx = T.axis.remap("SSS", [y, c, x])
            T.reads(middle[vc, vy - 1, vx - 1])
            T.writes(around[vc, vy, vx])
            around[vc, vy, vx] = T.if_then_else(
                1 <= vy and vy < 33 and 1 <= vx and vx < 33, middle[vc, vy - 1, vx - 1], T.bfloat16(0)
            )
    for y, x, k, c, ry, rx in T.grid(32, 32, 32, 16, 3, 3):
        with T.sblock("Y"):
            vy, vx, vk, vc, vry, vrx = T.axis.remap("SSSRRR", [y, x, k, c, ry, rx])
            T.reads(around[vc, vy + vry, vx + vrx], W2[vk, vc, vry, vrx])
            T.writes(Y[vk, vy, vx])
            with T.init():
                Y[vk, vy, vx] = T.bfloat16(0)
            Y[vk, vy, vx] = Y[vk, vy, vx] + around[vc, vy + vry, vx + vrx] * W2[vk, vc, vry, vrx]


# %% schedule
sch = tilewright.Schedule(two_convolutions)
Y = sch.get_block("Y")
y, x, k, c, ry, rx = sch.get_loops(Y)
core, step, row = sch.split(y, factors=[4, None, 2], names=["core", "step", "row"])
sch.bind(core, "blockIdx.x")

# %% schedule: the tensor between both stays in SRAM
Y_sram = sch.cache_write(Y, 0, "shared")
sch.reverse_compute_at(Y_sram, step)
around = sch.get_block("around")
middle = sch.get_block("middle")
padded = sch.get_block("padded")
sch.set_scope(around, 0, "shared")
sch.compute_at(around, step)
sch.set_scope(middle, 0, "shared")
sch.compute_at(middle, step)
sch.set_scope(padded, 0, "shared")
sch.compute_at(padded, core)

# %% schedule: weights are loaded once
W1_sram = sch.cache_read(middle, 1, "shared")
sch.compute_at(W1_sram, core)
W2_sram = sch.cache_read(Y, 1, "shared")
sch.compute_at(W2_sram, core)

# %% schedule: overlap
sch.double_buffer(Y)

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
