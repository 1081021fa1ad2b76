"""Tensor intrinsics for tests: small ones as text, and ones extracted from a program."""

from __future__ import annotations

from functools import cache

from tilewright.engine.arith import simplify
from tilewright.engine.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    Expr,
    PrimFunc,
    Range,
    Var,
    build,
    free_vars,
    replace_nodes,
    substitute,
)
from tilewright.engine.schedule import Schedule, ScheduleError, TensorIntrin
from tilewright.engine.schedule.intrin import make_intrin

HEAD = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"

_OPERAND = '{}: T.Buffer((16, 16), "float32", offset_factor=1)'
PARAMETERS = f"({', '.join(_OPERAND.format(name) for name in 'ABC')}):\n"

REGIONS = (
    '    with T.sblock("root"):\n'
    "        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])\n"
    "        T.writes(C[0:16, 0:16])\n"
)

MMA_DESC = (
    f"{HEAD}def mma_desc{PARAMETERS}{REGIONS}"
    "        for i, j, k in T.grid(16, 16, 16):\n"
    '            with T.sblock("update"):\n'
    '                vi, vj, vk = T.axis.remap("SSR", [i, j, k])\n'
    "                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"
)

MMA_CALL = (
    f"{HEAD}def mma_call{PARAMETERS}{REGIONS}"
    '        T.evaluate(T.call_extern("mma", C.data, C.elem_offset, A.data, A.elem_offset, B.data, B.elem_offset, dtype="int32"))\n'
)

MMA_LOOPS = MMA_DESC.replace("mma_desc", "mma_loops").replace("i, j, k in T.grid", "k, j, i in T.grid")
"""The same sums with k outermost: an executable implementation."""


def mma() -> TensorIntrin:
    """A multiply-accumulate of 16x16 tiles by a call."""
    return make_intrin("mma", MMA_DESC, MMA_CALL)


@cache
def copy4() -> TensorIntrin:
    """Four elements copied, in loops."""
    text = (
        f'{HEAD}def copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):\n'
        "    for i in range(4):\n"
        '        with T.sblock("copy"):\n'
        "            vi = T.axis.spatial(4, i)\n"
        "            B[vi] = A[vi]\n"
    )
    return make_intrin("copy4", text, text)


def cut_out(sch: Schedule, loop: Var) -> TensorIntrin:
    """An intrinsic equivalent to the nest of `loop`, if that is a block on boxes that start at zero; else some other one."""
    other = sch.copy()
    try:
        name = other.blockize(loop)
    except ScheduleError:
        return copy4()
    block = other.index.block(name)
    found = _function(block)
    if found is None:
        return copy4()
    try:
        return make_intrin("cut_out", found, found)
    except ScheduleError:
        return copy4()


def _function(block: Block) -> PrimFunc | None:
    first: dict[Var, Expr] = {iv.var: iv.dom.min for iv in block.iter_vars}
    boxes: dict[Buffer, tuple[Range, ...]] = {}
    for region in (*block.writes, *block.reads):
        box = tuple(
            Range(simplify(substitute(r.min, first)), simplify(substitute(r.extent, first))) for r in region.region
        )
        if (
            any(not build.is_const(r.min, 0) or build.int_value(r.extent) is None for r in box)
            or region.buffer in boxes
        ):
            return None
        boxes[region.buffer] = box
    if any(b.strides or b.axis_separators for b in boxes) or free_vars(block.body) - first.keys():
        return None  # it names variables from around it
    params = {b: Buffer(b.name, tuple(r.extent for r in box), b.dtype, b.scope) for b, box in boxes.items()}
    body = replace_nodes(substitute(block.body, first), {**params})
    reads = tuple(BufferRegion(params[r.buffer], boxes[r.buffer]) for r in block.reads)
    writes = tuple(BufferRegion(params[w.buffer], boxes[w.buffer]) for w in block.writes)
    root = Block("root", (), reads, writes, body)
    handles = tuple(Var(f"var_{b.name}", "handle") for b in params.values())
    pairs = tuple(zip(handles, params.values(), strict=True))
    return PrimFunc("tile", handles, pairs, BlockRealize((), build.const(True, "bool"), root))
