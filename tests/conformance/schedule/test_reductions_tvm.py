"""Reductions and paddings taken apart as TVM does: rfactor, epilogues, decompose_padding, pad_einsum, rolling_buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.tvm.oracle import REFUSALS, assert_agrees, outcome, tvm_parse, tvm_schedule

from tilewright.engine.execute import verify
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

pytestmark = pytest.mark.tvm

HEAD = "from tvm.script import tirx as T\n\n@T.prim_func(s_tir=True)\n"


def rows(
    value: str = "B[vi] + A[vi, vk]", init: str = "T.float32(0)", size: str = "24, 30", dtype: str = "float32"
) -> str:
    n = size.split(", ")[0]
    return f"""{HEAD}def main(A: T.Buffer(({size}), "{dtype}"), B: T.Buffer(({n},), "{dtype}")):
    for i, k in T.grid({size}):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {init}
            B[vi] = {value}
"""


SYMBOLIC = f"""{HEAD}def main(a: T.handle, b: T.handle):
    n, m = T.int64(), T.int64()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i, k in T.grid(n, m):
        with T.sblock("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + A[vi, vk]
"""

ARGMAX = f"""{HEAD}def main(A: T.Buffer((5, 24), "float32"), P: T.Buffer((5,), "int32"), V: T.Buffer((5,), "float32")):
    for i, k in T.grid(5, 24):
        with T.sblock("P"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(A[vi, vk])
            T.writes(P[vi], V[vi])
            with T.init():
                P[vi] = -1
                V[vi] = T.min_value("float32")
            v_p: T.let[T.int32] = T.Select(V[vi] WINS, P[vi], vk)
            v_v: T.let[T.float32] = T.Select(V[vi] BETTER A[vi, vk], V[vi], A[vi, vk])
            P[vi] = v_p
            V[vi] = v_v
"""
FIRST = ARGMAX.replace("WINS", ">= A[vi, vk]").replace("BETTER", ">=")
TIES = ARGMAX.replace("WINS", "> A[vi, vk] or (V[vi] == A[vi, vk] and P[vi] < vk)").replace("BETTER", ">")

PADDED = f"""{HEAD}def main(A: T.Buffer((16, 9), "int8"), C: T.Buffer((16, 9), "int8")):
    P = T.sblock_alloc_buffer((20, 9), "int8")
    for i, j in T.grid(20, 9):
        with T.sblock("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(2 <= vi and vi < 18, A[vi - 2, vj], T.int8(0))
    for i, j, k in T.grid(16, 9, 5):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.int8(0)
            C[vi, vj] = C[vi, vj] + P[vi + vk, vj]
"""

WINDOWS = f"""{HEAD}def main(A: T.Buffer((4, 14), "int32"), C: T.Buffer((4, 10), "int32")):
    B = T.sblock_alloc_buffer((4, 12), "int32")
    for c, i, k in T.grid(4, 12, 3):
        with T.sblock("B"):
            vc, vi, vk = T.axis.remap("SSR", [c, i, k])
            with T.init():
                B[vc, vi] = 0
            B[vc, vi] = B[vc, vi] + A[vc, vi + vk]
    for c, i, k in T.grid(4, 10, 3):
        with T.sblock("C"):
            vc, vi, vk = T.axis.remap("SSR", [c, i, k])
            with T.init():
                C[vc, vi] = 0
            C[vc, vi] = C[vc, vi] + B[vc, vi + vk]
"""

MATMUL = f"""{HEAD}def main(A: T.Buffer((20, 33), "float32"), B: T.Buffer((17, 33), "float32"), C: T.Buffer((17,), "float32"), D: T.Buffer((20, 17), "float32")):
    S = T.sblock_alloc_buffer((20, 17))
    for i, j, k in T.grid(20, 17, 33):
        with T.sblock("S"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                S[vi, vj] = T.float32(0)
            S[vi, vj] = S[vi, vj] + A[vi, vk] * B[vj, vk]
    for i, j in T.grid(20, 17):
        with T.sblock("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = EPILOGUE
"""  # noqa: E501
BIAS = MATMUL.replace("EPILOGUE", "S[vi, vj] + C[vj]")
RELU = MATMUL.replace("EPILOGUE", "T.max(S[vi, vj] + C[vj], T.float32(0))")

Calls = Callable[[Any], object]


POOLED = f"""{HEAD}def main(X: T.Buffer((12, 9), "float32"), Y: T.Buffer((12,), "float32")):
    S = T.sblock_alloc_buffer((12,))
    for i in range(12):
        with T.sblock("window"):
            v = T.axis.spatial(12, i)
            T.reads(X[v, 0:9])
            T.writes(S[v])
            for k in range(v % 3 + 1):
                with T.sblock("sum"):
                    w = T.axis.spatial((v, v + 1), v)
                    r = T.axis.reduce(v % 3 + 1, k)
                    T.reads(X[w, r])
                    T.writes(S[w])
                    with T.init():
                        S[w] = T.float32(0)
                    S[w] = S[w] + X[w, r]
    for i in range(12):
        with T.sblock("mean"):
            v = T.axis.spatial(12, i)
            T.reads(S[v])
            T.writes(Y[v])
            Y[v] = S[v] * T.float32(0.5)
"""


def window(s: Any) -> Any:
    return s.get_loops(s.get_sblock("window"))[0]


def factor(loop: int, axis: int, splits: tuple[tuple[int, list[int | None]], ...] = (), block: str = "B") -> Calls:
    """Splits of the loops of a block, from the inside, then rfactor of one of those it has then."""

    def calls(s: Any) -> None:
        for n, factors in splits:
            s.split(s.get_loops(s.get_sblock(block))[n], factors)
        s.rfactor(s.get_loops(s.get_sblock(block))[loop], axis)

    return calls


def tile(s: Any, block: str, axis: int, factors: list[int | None], producer: str) -> None:
    outer, _ = s.split(s.get_loops(s.get_sblock(block))[axis], factors)
    s.compute_at(s.get_sblock(producer), outer)


def decompose(depth: int, factors: list[int | None] | None = None) -> Calls:
    def calls(s: Any) -> None:
        if factors is not None:
            tile(s, "C", 0, factors, "P")
        s.decompose_padding(s.get_sblock("P"), s.get_loops(s.get_sblock("P"))[depth])

    return calls


def roll(axis: int, factors: list[int | None], times: int = 1) -> Calls:
    def calls(s: Any) -> None:
        tile(s, "C", axis, factors, "B")
        for _ in range(times):
            s.rolling_buffer(s.get_sblock("B"), 0)

    return calls


CASES: dict[str, tuple[str, Calls]] = {
    "the whole reduction": (rows(), factor(1, 0)),
    "at the last axis": (rows(), factor(1, -1)),
    "beyond the last axis": (rows(), factor(1, 2)),
    "the inner loop": (rows(), factor(2, 0, ((1, [None, 6]),))),
    "the outer loop": (rows(), factor(1, 1, ((1, [None, 6]),))),
    "the middle loop": (rows(), factor(2, 1, ((1, [5, 3, 2]),))),
    "a spatial loop": (rows(), factor(0, 0)),
    "a product": (rows("B[vi] * A[vi, vk]", "T.float32(1)"), factor(1, 0)),
    "a maximum": (rows("T.max(B[vi], A[vi, vk])", 'T.min_value("float32")'), factor(1, 0)),
    "a minimum": (rows("T.min(B[vi], A[vi, vk])", 'T.max_value("float32")'), factor(1, 0)),
    "a difference": (rows("B[vi] - A[vi, vk]"), factor(1, 0)),
    "a start that counts": (rows(init="T.float32(1)"), factor(1, 0)),
    "int8": (rows(init="T.int8(0)", dtype="int8"), factor(2, 0, ((1, [None, 6]),))),
    "a fused loop": (rows(), lambda s: s.rfactor(s.fuse(*s.get_loops(s.get_sblock("B"))), 0)),
    "a parallel loop": (rows(), lambda s: (s.parallel(s.get_loops(s.get_sblock("B"))[0]), factor(1, 0)(s))),
    "an unrolled loop": (rows(), lambda s: (s.unroll(s.get_loops(s.get_sblock("B"))[1]), factor(1, 0)(s))),
    "twice": (rows(), lambda s: (factor(2, 0, ((1, [None, 6]),))(s), factor(2, 0, block="B_rf")(s))),
    "reduction outside": (rows(), lambda s: (s.reorder(*reversed(s.get_loops(s.get_sblock("B")))), factor(0, 0)(s))),
    "symbolic extents": (SYMBOLIC, factor(1, 0)),
    "argmax by the outermost loop": (FIRST, factor(1, 0, ((1, [4, 6]),), "P")),
    "argmax with a rule for ties": (TIES, factor(2, 1, ((1, [4, 6]),), "P")),
    "argmax decomposed": (TIES, lambda s: s.decompose_reduction(s.get_sblock("P"), s.get_loops(s.get_sblock("P"))[1])),
    "argmax moved": (TIES, lambda s: s.reorder(*reversed(s.get_loops(s.get_sblock("P"))))),
    "padding, outside": (PADDED, decompose(0)),
    "padding, inside": (PADDED, decompose(1)),
    "padding of a tile": (PADDED, decompose(1, [4, 4])),
    "padding of uneven tiles": (PADDED, decompose(1, [None, 5])),
    "no padding": (WINDOWS, lambda s: s.decompose_padding(s.get_sblock("B"), s.get_loops(s.get_sblock("B"))[0])),
    "rolling": (WINDOWS, roll(1, [None, 5])),
    "rolling unevenly": (WINDOWS, roll(1, [None, 4])),
    "rolling by channels": (WINDOWS, roll(0, [None, 2])),
    "rolling twice": (WINDOWS, roll(1, [None, 5], 2)),
    "rolling an output": (WINDOWS, lambda s: s.rolling_buffer(s.get_sblock("C"), 0)),
    "rolling without tiles": (WINDOWS, lambda s: s.rolling_buffer(s.get_sblock("B"), 0)),
    "padded all over": (BIAS, lambda s: s.pad_einsum(s.get_sblock("S"), [16, 16, 16])),
    "padded reduction": (BIAS, lambda s: s.pad_einsum(s.get_sblock("S"), [1, 1, 8])),
    "padded output": (BIAS, lambda s: s.pad_einsum(s.get_sblock("S"), [1, 4, 1])),
    "padded epilogue": (BIAS, lambda s: s.pad_einsum(s.get_sblock("D"), [16, 16])),
    "padded by nothing": (BIAS, lambda s: s.pad_einsum(s.get_sblock("S"), [1, 1, 1])),
    "padding for two of three": (BIAS, lambda s: s.pad_einsum(s.get_sblock("S"), [16, 16])),
    "negative padding": (BIAS, lambda s: s.pad_einsum(s.get_sblock("S"), [16, -1, 1])),
    "windows padded": (WINDOWS, lambda s: s.pad_einsum(s.get_sblock("B"), [1, 4, 1])),
    "a bias": (BIAS, lambda s: s.fuse_reduction_epilogue(s.get_sblock("S"), s.get_sblock("D"))),
    "a sum in a block, bound": (POOLED, lambda s: s.bind(window(s), "blockIdx.x")),
    "a sum in a block, split unevenly": (POOLED, lambda s: s.vectorize(s.split(window(s), [None, 5])[1])),
    "a sum in a block, moved": (
        POOLED,
        lambda s: s.compute_at(s.get_sblock("window"), s.get_loops(s.get_sblock("mean"))[0]),
    ),
    "an epilogue of itself": (BIAS, lambda s: s.fuse_reduction_epilogue(s.get_sblock("D"), s.get_sblock("S"))),
}


@pytest.mark.parametrize("name", CASES)
def test_given_calls_then_both_agree(name: str) -> None:
    assert_agrees(*CASES[name])


WRONG: dict[str, tuple[str, Calls]] = {
    "max(sum + c, 0) term by term": (RELU, lambda s: s.fuse_reduction_epilogue(s.get_sblock("S"), s.get_sblock("D"))),
    "another of equal maxima": (FIRST, factor(2, 1, ((1, [4, 6]),), "P")),
    "zeros in a minimum": (
        rows("T.min(B[vi], A[vi, vk] * A[vi, vk])", "T.float32(100)"),
        lambda s: s.pad_einsum(s.get_sblock("B"), [1, 16]),
    ),
    "the consumer of a padding is lost": (PADDED, decompose(0, [4, 4])),
    "the predicate of a spatial split is lost": (rows(), factor(3, 0, ((1, [5, 6]), (0, [None, 7])))),
}
"""What TVM accepts and computes wrongly (docs/differences.md)."""


@pytest.mark.parametrize("name", WRONG)
def test_given_what_tvm_computes_wrongly_then_refused_or_right(name: str) -> None:
    text, calls = WRONG[name]
    theirs = tvm_schedule(text)
    assert outcome(theirs, calls, REFUSALS)
    made = parse(theirs.mod.script()).program
    original = parse(tvm_parse(text).script()).program
    assert verify(made["main"], original["main"]).status == "failed"
    ours = Schedule(parse(text).program)
    if outcome(ours, calls, (ScheduleError,)):
        assert ours.verify().status == "tested"
