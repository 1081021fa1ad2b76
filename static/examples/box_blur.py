# %% [markdown]
# # Box blur: computed in one order, stored in another
#
# From the discussion *How to control data layout of intermediate values*:
#
# > It has four stages, padding, x-blur, y-blur, and a final cast back to uint8. The y-blur accesses the x-blur result at 3 different
# > y increments, so I would like to layout x_blur such that Y is the most rapidly changing dimension. I have been successful at this
# > by changing the actual algorithm definition but I would like to do this during scheduling. […]
# > I would like X to be computed in [y, x, c] order but stored in [x, c, y] order.
#
# The way out that was found then, `cache_write` and `reorder`, tied the order of storage to an order of computing.
#
# x_blur is computed in the order [y, x, c] and stored as [x, c, y]: **transform_layout** rewrites the buffer and every access to it, and
# leaves the loops alone.

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def blur(image: T.Buffer((64, 96, 3), "uint8"), blurred: T.Buffer((64, 96, 3), "uint8")):
    padded = T.sblock_alloc_buffer((66, 98, 3), "uint16")
    x_blur = T.sblock_alloc_buffer((66, 96, 3), "uint16")
    y_blur = T.sblock_alloc_buffer((64, 96, 3), "uint16")
    for y, x, c in T.grid(66, 98, 3):
        with T.sblock("padded"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            T.reads(image[T.max(T.min(vy - 1, 63), 0), T.max(T.min(vx - 1, 95), 0), vc])
            T.writes(padded[vy, vx, vc])
            padded[vy, vx, vc] = T.Cast("uint16", image[T.max(T.min(vy - 1, 63), 0), T.max(T.min(vx - 1, 95), 0), vc])
    for y, x, c in T.grid(66, 96, 3):
        with T.sblock("x_blur"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            T.reads(padded[vy, vx : vx + 3, vc])
            T.writes(x_blur[vy, vx, vc])
            x_blur[vy, vx, vc] = (padded[vy, vx, vc] + padded[vy, vx + 1, vc] + padded[vy, vx + 2, vc]) // T.uint16(3)
    for y, x, c in T.grid(64, 96, 3):
        with T.sblock("y_blur"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            T.reads(x_blur[vy : vy + 3, vx, vc])
            T.writes(y_blur[vy, vx, vc])
            y_blur[vy, vx, vc] = (x_blur[vy, vx, vc] + x_blur[vy + 1, vx, vc] + x_blur[vy + 2, vx, vc]) // T.uint16(3)
    for y, x, c in T.grid(64, 96, 3):
        with T.sblock("box_blur"):
            vy, vx, vc = T.axis.remap("SSS", [y, x, c])
            T.reads(y_blur[vy, vx, vc])
            T.writes(blurred[vy, vx, vc])
            blurred[vy, vx, vc] = T.Cast("uint8", y_blur[vy, vx, vc])


# %% [markdown]
# ## Where each stage is computed
# As in the post: the padding and the y-blur disappear into their consumers, and the x-blur is computed where `box_blur` needs it, three
# rows for each pixel.

# %% schedule
sch = tilewright.Schedule(blur)
padded = sch.get_block("padded")
x_blur = sch.get_block("x_blur")
y_blur = sch.get_block("y_blur")
box_blur = sch.get_block("box_blur")
sch.compute_inline(padded)
sch.compute_inline(y_blur)
y, x, c = sch.get_loops(box_blur)
sch.compute_at(x_blur, x)

# %% [markdown]
# ## Where it is stored, and in which order
# The loops of `x_blur` still run over y, x, c; its buffer is [x][c][y], so the three rows that the y-blur adds up lie side by side.

# %% schedule: storage
sch.set_scope(x_blur, 0, "local")
sch.transform_layout(x_blur, ("write", 0), lambda y, x, c: [x, c, y])

# %% [markdown]
# ## Where the work is done
# Up to here it is the schedule of the post. On this machine it runs on the scalar engine, one operation after the other: the vector unit
# does not reach global memory. With the image copied in first and the result copied out at the end, it does the work.

# %% schedule: on chip
image_local = sch.cache_read(x_blur, 0, "local")
blurred_local = sch.cache_write(box_blur, 0, "local")

# %% [markdown]
# ## What to look at
# The tile of `x_blur` in memory: [1][3][3] elements, y innermost. Step back over the last two lines in the history: 29 times the cycles.

# %% report
report = tilewright.simulate(sch, machine)
print(tilewright.report_text(report, tilewright.verify(sch)))
