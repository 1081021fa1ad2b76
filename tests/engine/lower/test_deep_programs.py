"""Long programs work; nests deeper than Python's stack are refused by every function that accepts programs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tilewright.engine.execute import random_inputs, run, verify
from tilewright.engine.export import to_tvm_python
from tilewright.engine.hwsim import load_machine, simulate
from tilewright.engine.ir import (
    Add,
    Allocate,
    BufferStore,
    FloatImm,
    For,
    Node,
    PrimFunc,
    TilewrightError,
    Var,
    build,
    first_difference,
    structural_equal,
)
from tilewright.engine.ir.visitor import rewrite
from tilewright.engine.lower import allocations, lower, plan
from tilewright.engine.prove import prove
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse, to_script

PAIR = "".join(f" for i in range(8):\n  with T.block('b{n}'):\n   v = T.axis.spatial(8, i)\n   {b}[v] = {a}[v] + 1.0\n"
               for n, (a, b) in enumerate((("A", "B"), ("B", "C"))))  # fmt: skip
HEADER = "@T.prim_func\ndef main(A: T.Buffer((8,), 'float32'), C: T.Buffer((8,), 'float32')):\n"


def function(text: str) -> PrimFunc:
    program = parse(text).program
    assert isinstance(program, PrimFunc)
    return program


def chain(blocks: int) -> PrimFunc:
    """Blocks in a row, an intermediate buffer between two."""
    names = ["A", *(f"B{n}" for n in range(blocks - 1)), "C"]
    lines = [f" {name}=T.alloc_buffer(8)\n" for name in names[1:-1]]
    for n in range(blocks):
        lines.append(f" for i in range(8):\n  with T.block('b{n}'):\n   v = T.axis.spatial(8, i)\n")
        lines.append(f"   {names[n + 1]}[v] = {names[n]}[v] + 1.0\n")
    return function(HEADER + "".join(lines))


@pytest.mark.slow
def test_a_thousand_blocks_in_a_row_are_lowered():
    func = chain(1050)
    sch = Schedule(func)
    assert len(sch.legal_targets("b600")) == 1050
    sch.split(sch.get_loops("b7")[0], [None, 4])
    assert len(allocations(sch.func)) == 1049
    flat = lower(sch.func)
    assert isinstance(flat.body, Allocate) and len(flat.body.buffers) == 1049
    values = np.arange(8, dtype="float32")
    assert run(flat, {"A": values})["C"].tolist() == (values + 1050).tolist()
    assert first_difference(function(to_script(flat)), flat) is None


@pytest.mark.slow
def test_500_blocks_are_run_and_simulated():
    func = chain(500)
    sch = Schedule(func)
    sch.parallel(sch.get_loops("b7")[0])
    assert verify(sch.func, func).status == "tested"
    assert prove(sch.func, func).status in ("proved", "unknown")
    assert simulate(func, load_machine("matrix-vector-npu")).cycles > 0


def deep(kind: str, levels: int) -> PrimFunc:
    """Two blocks, with `depth` loops around them or operations in them."""

    def leave(node: Node) -> Node:
        if isinstance(node, For) and kind == "loops":
            for _ in range(levels):
                node = build.serial(Var("k"), 1, node)
        if isinstance(node, BufferStore) and kind == "operations":
            value = node.value
            for _ in range(levels):
                value = Add(value, FloatImm(1.0))
            return BufferStore(node.buffer, value, node.indices)
        return node

    return rewrite(function(HEADER + " B = T.alloc_buffer(8)\n" + PAIR), leave)


DOORS: dict[str, Callable[[PrimFunc], object]] = {
    "print": to_script,
    "schedule": lambda func: Schedule(func).split(Schedule(func).get_loops("b0")[-1], [None, 4]),
    "inline": lambda func: Schedule(func).compute_inline("b0"),
    "targets": lambda func: Schedule(func).legal_targets("b0"),
    "consumers": lambda func: Schedule(func).get_consumers("b0"),
    "export": lambda func: to_tvm_python(Schedule(func)),
    "plan": plan,
    "lower": lower,
    "allocations": allocations,
    "inputs": random_inputs,
    "run": lambda func: run(func, {"A": np.zeros(8, "float32")}),
    "simulate": lambda func: simulate(func, load_machine("matrix-vector-npu")),
}


@pytest.mark.sample(69)
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", ["loops", "operations"])
@pytest.mark.parametrize("levels", [60, 450, 1500])
def test_a_deep_program_works_or_is_refused(door: str, kind: str, levels: int):
    func = deep(kind, levels)
    try:
        DOORS[door](func)
    except TilewrightError as error:
        # The simulator refuses nests that it cannot analyse as a whole before they are too deep for Python.
        assert (error.code, door) == ("too-many-loops", "simulate") or (
            error.code == "too-deep" and "nested too deeply" in str(error)
        )


@pytest.mark.parametrize("kind", ["loops", "operations"])
def test_deep_programs_are_compared(kind: str):
    func = deep(kind, 1500)
    assert structural_equal(func, deep(kind, 1500))
    assert not structural_equal(func, deep(kind, 1501))
    assert verify(func, func).status == "unknown"
    assert prove(func, func).status in ("proved", "unknown")


@pytest.mark.parametrize("kind", ["loops", "operations"])
def test_every_function_accepts_a_nest_of_fifty_loops(kind: str):
    func = deep(kind, 50)
    for door in DOORS.values():
        door(func)
