"""Programs of two loops whose extents do not suit the factors that tests split them by: constant, symbolic, and a product of sizes."""

from __future__ import annotations

import re

HEAD = """from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(a: T.handle, b: T.handle):
{sizes}    A = T.match_buffer(a, ({rows}, {columns}), "int32")
    B = T.match_buffer(b, {shape}, "int32")
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("B"):
            vi, vj = T.axis.remap("{kinds}", [i, j])
"""

ELEMENTWISE = "            B[vi, vj] = A[vi, vj] * 2 + 1\n"
UPDATE = "            B[vi, vj] = B[vi, vj] * 2 + A[vi, vj]\n"
ROW_SUMS = """            with T.init():
                B[vi] = 0
            B[vi] = B[vi] + A[vi, vj]
"""

BODIES = {"elementwise": ELEMENTWISE, "update": UPDATE, "row sums": ROW_SUMS}


def uneven_program(body: str, rows: str, columns: str) -> str:
    """The text of a program of BODIES; names in sizes are symbolic."""
    reduces = body == "row sums"
    return (HEAD + BODIES[body]).format(
        sizes="".join(f"    {n} = T.int32()\n" for n in dict.fromkeys(re.findall("[a-z]+", f"{rows} {columns}"))),
        rows=rows,
        columns=columns,
        shape=f"({rows},)" if reduces else f"({rows}, {columns})",
        kinds="SR" if reduces else "SS",
    )
