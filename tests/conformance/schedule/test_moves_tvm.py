"""compute_at, reverse_compute_at, inlining, set_scope and transform_layout give what TVM gives, but for docs/differences.md."""

from __future__ import annotations

from typing import Any

import pytest
from support.programs.sources import (
    BOX_BLUR,
    CONV2D,
    ELEMENTWISE_CHAIN,
    FUSED_MATMUL_ADD_RELU,
    MATMUL,
    MATMUL_RELU,
    matmul,
)
from support.tvm.oracle import Calls, assert_agrees, tvm_schedule

from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse

pytestmark = pytest.mark.tvm


def loops(sch: Any, block: str) -> Any:
    return sch.get_loops(sch.get_sblock(block))


def tile(sch: Any, block: str, factor: int) -> tuple[Any, Any]:
    """The two outer loops of a tiling of the first two loops."""
    i, j, *_ = loops(sch, block)
    i0, i1 = sch.split(i, [None, factor])
    j0, j1 = sch.split(j, [None, factor])
    sch.reorder(i0, j0, i1, j1)
    return i0, j0


def at(block: str, target: str, depth: int, **options: Any) -> Calls:
    return lambda s: s.compute_at(s.get_sblock(block), loops(s, target)[depth], **options)


def after(block: str, target: str, depth: int, **options: Any) -> Calls:
    return lambda s: s.reverse_compute_at(s.get_sblock(block), loops(s, target)[depth], **options)


def staged(factor: int, depth: int) -> Calls:
    """A and B of a matmul staged to local.vtcm under a loop of the tiling, C written through a cache."""

    def calls(sch: Any) -> None:
        c = sch.get_sblock("C")
        a, b, out = (
            sch.cache_read(c, 0, "local.vtcm"),
            sch.cache_read(c, 1, "local.vtcm"),
            sch.cache_write(c, 0, "local"),
        )
        i0, j0 = tile(sch, "C", factor)
        k0, _ = sch.split(loops(sch, "C")[-1], [None, 50])
        for copy in (a, b):
            sch.compute_at(copy, (i0, j0, k0)[depth])
        sch.reverse_compute_at(out, j0)

    return calls


CASES: dict[str, tuple[str, Calls]] = {
    **{f"chain B at C {n}": (ELEMENTWISE_CHAIN, at("B", "C", n)) for n in (0, 1)},
    **{f"chain C after B {n}": (ELEMENTWISE_CHAIN, after("C", "B", n)) for n in (0, 1)},
    **{f"chain B at D {n}": (ELEMENTWISE_CHAIN, at("B", "D", n)) for n in (0, 1)},
    "chain twice": (ELEMENTWISE_CHAIN, lambda s: (at("C", "D", 0)(s), at("B", "D", 0)(s))),
    "chain there and back": (
        ELEMENTWISE_CHAIN,
        lambda s: (after("C", "B", 0)(s), after("D", "B", 0)(s), at("C", "D", 0)(s)),
    ),
    "chain units kept": (ELEMENTWISE_CHAIN, at("B", "C", 1, preserve_unit_loops=True)),
    "chain first": (ELEMENTWISE_CHAIN, lambda s: (after("C", "B", 0)(s), after("D", "B", 0, index=-2)(s))),
    "chain bad index": (ELEMENTWISE_CHAIN, after("C", "B", 0, index=0)),
    **{f"relu after matmul {n}": (MATMUL_RELU, after("relu", "matmul", n)) for n in (0, 1)},
    **{f"matmul at relu {n}": (MATMUL_RELU, at("matmul", "relu", n)) for n in (0, 1)},
    **{
        f"matmul at relu by {f}, {n}": (
            MATMUL_RELU,
            lambda s, f=f, n=n: s.compute_at(s.get_sblock("matmul"), tile(s, "relu", f)[n]),
        )
        for f in (32, 60)
        for n in (0, 1)
    },
    **{
        f"relu after matmul by {f}, {n}": (
            MATMUL_RELU,
            lambda s, f=f, n=n: s.reverse_compute_at(s.get_sblock("relu"), tile(s, "matmul", f)[n]),
        )
        for f in (32, 60)
        for n in (0, 1)
    },
    **{f"staged by {f} at {n}": (matmul(256, 256, 512), staged(f, n)) for f in (64, 60) for n in (0, 1, 2)},
    **{f"x_blur at y_blur {n}": (BOX_BLUR, at("x_blur", "y_blur", n)) for n in (0, 1, 2)},
    **{f"padded at x_blur {n}": (BOX_BLUR, at("padded", "x_blur", n)) for n in (0, 1, 2)},
    **{f"y_blur after x_blur {n}": (BOX_BLUR, after("y_blur", "x_blur", n)) for n in (0, 1, 2)},
    "x_blur at tiles of y_blur": (BOX_BLUR, lambda s: s.compute_at(s.get_sblock("x_blur"), tile(s, "y_blur", 30)[1])),
    "box blur all the way": (
        BOX_BLUR,
        lambda s: (
            s.compute_inline(s.get_sblock("padded")),
            at("y_blur", "box_blur", 1)(s),
            at("x_blur", "box_blur", 1)(s),
            s.set_scope(s.get_sblock("x_blur"), 0, "local"),
            s.transform_layout(s.get_sblock("x_blur"), ("write", 0), lambda y, x, c: [x, c, y]),
        ),
    ),
    **{f"pad at conv {n}": (CONV2D, at("pad", "conv", n)) for n in range(7)},
    "T_add after matmul": (FUSED_MATMUL_ADD_RELU, after("T_add", "matmul", 1)),
    "T_add at compute": (FUSED_MATMUL_ADD_RELU, at("T_add", "compute", 1)),
    "compute, without its producer": (FUSED_MATMUL_ADD_RELU, after("compute", "matmul", 1)),
    "own loop": (MATMUL, at("C", "C", 0)),
    "inline B": (ELEMENTWISE_CHAIN, lambda s: s.compute_inline(s.get_sblock("B"))),
    "inline B and C": (
        ELEMENTWISE_CHAIN,
        lambda s: (s.compute_inline(s.get_sblock("B")), s.compute_inline(s.get_sblock("C"))),
    ),
    "inline an output": (ELEMENTWISE_CHAIN, lambda s: s.compute_inline(s.get_sblock("D"))),
    "inline a reduction": (MATMUL_RELU, lambda s: s.compute_inline(s.get_sblock("matmul"))),
    **{
        f"inline {name}": (BOX_BLUR, lambda s, name=name: s.compute_inline(s.get_sblock(name)))
        for name in ("padded", "x_blur", "y_blur")
    },
    "inline pad": (CONV2D, lambda s: s.compute_inline(s.get_sblock("pad"))),
    "inline T_add": (FUSED_MATMUL_ADD_RELU, lambda s: s.compute_inline(s.get_sblock("T_add"))),
    **{
        f"inline {name} backwards": (
            ELEMENTWISE_CHAIN,
            lambda s, name=name: s.reverse_compute_inline(s.get_sblock(name)),
        )
        for name in ("B", "C", "D")
    },
    "inline relu backwards": (MATMUL_RELU, lambda s: s.reverse_compute_inline(s.get_sblock("relu"))),
    "inline compute backwards": (FUSED_MATMUL_ADD_RELU, lambda s: s.reverse_compute_inline(s.get_sblock("compute"))),
    "inline box_blur backwards": (BOX_BLUR, lambda s: s.reverse_compute_inline(s.get_sblock("box_blur"))),
    "inline y_blur backwards": (BOX_BLUR, lambda s: s.reverse_compute_inline(s.get_sblock("y_blur"))),
    "inline a split consumer": (
        ELEMENTWISE_CHAIN,
        lambda s: (s.split(loops(s, "D")[0], [None, 60]), s.reverse_compute_inline(s.get_sblock("D"))),
    ),
    "scope": (BOX_BLUR, lambda s: s.set_scope(s.get_sblock("x_blur"), 0, "local")),
    "scope by name": (BOX_BLUR, lambda s: s.set_scope(s.get_sblock("x_blur"), "x_blur", "shared")),
    "scope of an output": (BOX_BLUR, lambda s: s.set_scope(s.get_sblock("box_blur"), 0, "local")),
    **{
        f"layout {n}": (BOX_BLUR, lambda s, m=m: s.transform_layout(s.get_sblock("x_blur"), ("write", 0), m))
        for n, m in enumerate(
            (
                lambda y, x, c: [x, c, y],
                lambda y, x, c: [x // 16, c, y, x % 16],
                lambda y, x, c: [y * 192 + x * 3 + c],
                lambda y, x, c: [y // 16, x, c, y % 16],
            )
        )
    },
    "layout by the reader": (
        CONV2D,
        lambda s: s.transform_layout(s.get_sblock("conv"), ("read", 0), lambda n, c, y, x: [n, c // 4, y, x, c % 4]),
    ),
    "layout by name": (
        CONV2D,
        lambda s: s.transform_layout(s.get_sblock("conv"), "pad", lambda n, c, y, x: [y, x, n, c]),
    ),
    "layout in 64 bits": (
        FUSED_MATMUL_ADD_RELU,
        lambda s: s.transform_layout(s.get_sblock("matmul"), ("write", 0), lambda n, c: [n, c // 4, c % 4]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_given_a_program_when_called_then_as_tvm(name):
    text, calls = CASES[name]
    assert_agrees(text, lambda s: (_work_on_the_only_function(s), calls(s)))


def _work_on_the_only_function(sch: Any) -> None:
    if not isinstance(sch, Schedule):
        (name,) = (v.name_hint for v in sch.mod.get_global_vars())
        sch.work_on(name)


PARTIAL_SUMS: dict[str, tuple[str, Calls]] = {
    "relu under k": (MATMUL_RELU, after("relu", "matmul", 2)),
    "T_add under k": (FUSED_MATMUL_ADD_RELU, after("T_add", "matmul", 2)),
    "relu under i under k": (
        MATMUL_RELU,
        lambda s: (s.reorder(*reversed(loops(s, "matmul"))), after("relu", "matmul", 2)(s)),
    ),
}


@pytest.mark.parametrize("name", PARTIAL_SUMS)
def test_given_a_reduction_loop_when_the_consumer_moves_there_then_tvm_accepts_and_tilewright_refuses(name):
    text, calls = PARTIAL_SUMS[name]
    theirs = tvm_schedule(text)
    _work_on_the_only_function(theirs)
    calls(theirs)
    with pytest.raises(ScheduleError) as refused:
        calls(Schedule(parse(text).program))
    assert refused.value.code == "partial-sum"
