"""The programs for cache counts: box blur, transpose, matmul, as written and under changes of layout and order."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tilewright.engine.ir import PrimFunc
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

HEADER = "from tvm.script import tirx as T\n\n"
BLUR = (
    HEADER
    + """
@T.prim_func
def blur(image: T.Buffer((34, 66), "float32"), out: T.Buffer((32, 64), "float32")):
    across = T.alloc_buffer((34, 64), "float32")
    for y, x in T.grid(34, 64):
        with T.block("across"):
            vy, vx = T.axis.remap("SS", [y, x])
            across[vy, vx] = image[vy, vx] + image[vy, vx + 1] + image[vy, vx + 2]
    for y, x in T.grid(32, 64):
        with T.block("down"):
            vy, vx = T.axis.remap("SS", [y, x])
            out[vy, vx] = across[vy, vx] + across[vy + 1, vx] + across[vy + 2, vx]
"""
)
TRANSPOSE = (
    HEADER
    + """
@T.prim_func
def transpose(A: T.Buffer((64, 64), "float32"), out: T.Buffer((64, 64), "float32")):
    staged = T.alloc_buffer((64, 64), "float32")
    for i, j in T.grid(64, 64):
        with T.block("stage"):
            vi, vj = T.axis.remap("SS", [i, j])
            staged[vi, vj] = A[vi, vj]
    for i, j in T.grid(64, 64):
        with T.block("turn"):
            vi, vj = T.axis.remap("SS", [i, j])
            out[vj, vi] = staged[vi, vj]
"""
)
MATMUL = (
    HEADER
    + """
@T.prim_func
def matmul(A: T.Buffer((48, 40), "float32"), B: T.Buffer((40, 32), "float32"), C: T.Buffer((48, 32), "float32")):
    for i, j, k in T.grid(48, 32, 40):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
)


def _scheduled(text: str, change: Callable[[Schedule], None]) -> PrimFunc:
    sch = Schedule(parse(text).program)
    change(sch)
    return sch.func


def _fused(sch: Schedule) -> None:
    sch.compute_at("across", sch.get_loops("down")[0])


def _columns_first(sch: Schedule) -> None:
    sch.set_layout("across", ("write", 0), [1, 0])


def _tiled_blur(sch: Schedule) -> None:
    y, x = sch.get_loops("down")
    sch.reorder(*_tiles(sch, y, x, 8, 16))


def _tiles(sch: Schedule, y, x, rows: int, columns: int):
    yo, yi = sch.split(y, [None, rows])
    xo, xi = sch.split(x, [None, columns])
    return yo, xo, yi, xi


def _inlined(sch: Schedule) -> None:
    sch.compute_inline("across")


def _padded(sch: Schedule) -> None:
    sch.storage_align("stage", 0, 0, 32, 5)


def _swapped(sch: Schedule) -> None:
    sch.transform_layout("stage", ("write", 0), lambda i, j: [j, i])


def _blocks_of_eight(sch: Schedule) -> None:
    sch.transform_layout("stage", ("write", 0), lambda i, j: [i // 8, j // 8, i % 8, j % 8])


def _tiled_turn(sch: Schedule) -> None:
    sch.reorder(*_tiles(sch, *sch.get_loops("turn"), 8, 8))


def _row_times_rows(sch: Schedule) -> None:
    i, j, k = sch.get_loops("C")
    sch.reorder(i, k, j)


def _tiled_matmul(sch: Schedule) -> None:
    # One more loop, not three: compilers spill the counters of that many to memory, and spills are accesses, too.
    i, j, k = sch.get_loops("C")
    jo, ji = sch.split(j, [None, 8])
    sch.reorder(jo, i, k, ji)


def _tiled_depth(sch: Schedule) -> None:
    i, j, k = sch.get_loops("C")
    ko, ki = sch.split(k, [None, 8])
    sch.reorder(ko, i, j, ki)


def _in_a_register(sch: Schedule) -> None:
    local = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(local, sch.get_loops("C")[1])


def _columns_of_b(sch: Schedule) -> None:
    copied = sch.cache_read("C", 1, "global")
    sch.transform_layout(copied, ("write", 0), lambda k, j: [j, k])


def _padded_c(sch: Schedule) -> None:
    sch.cache_write("C", 0, "global")
    sch.storage_align("C", 0, 0, 32, 1)


def _nothing(sch: Schedule) -> None:
    pass


CASES: dict[str, tuple[str, Callable[[Schedule], None]]] = {
    "blur": (BLUR, _nothing),
    "blur_fused": (BLUR, _fused),
    "blur_columns_first": (BLUR, _columns_first),
    "blur_tiled": (BLUR, _tiled_blur),
    "blur_inlined": (BLUR, _inlined),
    "transpose": (TRANSPOSE, _nothing),
    "transpose_padded": (TRANSPOSE, _padded),
    "transpose_swapped": (TRANSPOSE, _swapped),
    "transpose_blocks": (TRANSPOSE, _blocks_of_eight),
    "transpose_tiled": (TRANSPOSE, _tiled_turn),
    "matmul": (MATMUL, _nothing),
    "matmul_rows": (MATMUL, _row_times_rows),
    "matmul_tiled": (MATMUL, _tiled_matmul),
    "matmul_tiled_depth": (MATMUL, _tiled_depth),
    "matmul_register": (MATMUL, _in_a_register),
    "matmul_b_columns": (MATMUL, _columns_of_b),
    "matmul_c_padded": (MATMUL, _padded_c),
}
"""By name: the program and its schedule."""


def program(name: str) -> PrimFunc:
    """The program of a case, named like it."""
    return replace(_scheduled(*CASES[name]), name=name)
