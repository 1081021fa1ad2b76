"""Sample notebook files."""

import re

from tilewright.app.views.shell.gallery import load_examples

MATMUL_NOTEBOOK = """\
# %% [markdown]
# # A matmul

# %% machine
import tilewright

machine = tilewright.machine("dual-bank-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    for i, j, k in T.grid(128, 128, 128):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


# %% schedule
sch = tilewright.Schedule(matmul)
C = sch.get_block("C")
i, j, k = sch.get_loops(C)
ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"])
sch.reorder(i, ko, j, ki)  # ki stays inside

# %% report
print(sch.mod)
"""


def with_lines(*lines: str) -> str:
    """MATMUL_NOTEBOOK with more schedule lines."""
    return MATMUL_NOTEBOOK.replace("\n# %% report", "".join(f"{line}\n" for line in lines) + "\n# %% report")


SYMBOLIC = """# %% workload
@T.prim_func(s_tir=True)
def f(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in range(n):
        with T.sblock("B"):
            v = T.axis.spatial(n, i)
            B[v] = A[v] + T.float32(1)
# %% schedule
sch = tilewright.Schedule(f)
"""

SMALL = """\
# %% [markdown]
# # Killed often

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def one(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]


# %% schedule
sch = tilewright.Schedule(one)
"""


def small_blur() -> str:
    """The example box_blur with an image of 4 x 6 pixels. Lints find the same fix in it, in a twentieth of the time."""
    sizes = {"63": "3", "64": "4", "66": "6", "95": "5", "96": "6", "98": "8"}
    text = next(example.text for example in load_examples() if example.name == "box_blur")
    return re.sub(r"\b(?:63|64|66|95|96|98)\b", lambda size: sizes[size[0]], text)
