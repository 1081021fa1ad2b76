"""A sketch chosen for one kernel and used for another of equal structure."""

from __future__ import annotations

import re
from functools import cache

import pytest
from support.programs.sources import ROWS

from tilewright.engine.explore import DerivedSpace, SketchChoice, derive_space, workload_of
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

NPU = "dual-bank-npu"

PRODUCT = """
@T.prim_func(s_tir=True)
def dense3_relu(lv7: T.Buffer((ROWS, 256), "float16"), w: T.Buffer((256, 512), "float16"), y: T.Buffer((ROWS, 512), "float16")):
    C = T.sblock_alloc_buffer((ROWS, 512), "float16")
    for i, j, k in T.grid(ROWS, 512, 256):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float16(0)
            C[vi, vj] = C[vi, vj] + lv7[vi, vk] * w[vk, vj]
    for i, j in T.grid(ROWS, 512):
        with T.sblock("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.max(C[vi, vj], T.float16(0))
"""


def product(rows: int, text: str = PRODUCT) -> PrimFunc:
    found = parse(text.replace("ROWS", str(rows))).program
    assert isinstance(found, PrimFunc)
    return found


def rows(count: int) -> PrimFunc:
    return product(count, ROWS.replace("(8,", "(ROWS,"))


@cache
def derived() -> DerivedSpace:
    return derive_space(rows(8), load_machine(NPU))


def test_kernels_of_other_sizes_share_a_structure() -> None:
    other = PRODUCT.replace("dense3_relu", "dense12_relu").replace("lv7", "lv140")
    assert workload_of(product(64)).structure == workload_of(product(512, other)).structure


@pytest.mark.parametrize(
    ("part", "other"),
    [("T.max", "T.min"), ('w: T.Buffer((256, 512), "float16")', 'w: T.Buffer((256, 512), "float32")')],
)
def test_kernels_of_other_operations_differ_in_structure(part: str, other: str) -> None:
    text = PRODUCT.replace(part, other)
    text = text.replace("* w[vk, vj]", '* T.Cast("float16", w[vk, vj])') if "float32" in other else text
    assert workload_of(product(64)).structure != workload_of(product(64, text)).structure


def test_sketch_is_transferred_to_another_kernel() -> None:
    first = derived()
    assert first.choice is not None and first.choice.partition == 0
    second = derive_space(rows(12), load_machine(NPU), choice=first.choice)
    assert second.choice == first.choice
    assert _splits(second.text) == _splits(first.text)
    assert not any("tiles of" in one for one in second.left_out), "no other sketch was written"
    assert second.space.schedule_at(second.space.default).schedule.check().status == "proved"


@pytest.mark.parametrize(
    "choice",
    [
        SketchChoice(0, ((9,),)),
        *(pytest.param(SketchChoice(*one), marks=pytest.mark.slow) for one in ((7, ((0,),)), (0, ((0,), (0,))))),
    ],
)
def test_unknown_choice_gives_a_complete_derivation(choice: SketchChoice) -> None:
    assert derive_space(rows(8), load_machine(NPU), choice=choice).text == derived().text


def _splits(text: str) -> list[str]:
    return re.findall(r"sch\.split\((\w+)", text)
