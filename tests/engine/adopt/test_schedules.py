"""Texts that make several schedules, and variables of a schedule that a text leaves unknown."""

# ruff: noqa: E501

from __future__ import annotations

import ast

import pytest

from tilewright.engine.adopt import Snippet, programs_in, read_program
from tilewright.engine.adopt.schedule_counts import schedules_in
from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import ParseError

ADD = """\
import tvm
from tvm import te
def add(dtype, parts=0):
    A = te.placeholder((64,), dtype=dtype, name="A")
    B = te.compute(A.shape, lambda i: A[i] + A[i], name="B")
    s = te.create_schedule(B.op)
    if parts:
        s[B].split(B.op.axis[0], parts)
    return tvm.build(s, [A, B])
"""
DOUBLE = """\
import tvm
from tvm import tir
from tvm.script import tir as T
@T.prim_func
def double(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)
"""


def opened(text: str) -> list[Snippet]:
    return [read_program(program) for program in programs_in(text).programs]


def dtypes(text: str) -> list[str]:
    return [found.program.buffers[0].dtype for found in opened(text) if isinstance(found.program, PrimFunc)]


def methods(text: str) -> list[list[str]]:
    return [[step.method for step in found.schedule.trace.steps] for found in opened(text)]


def test_each_run_of_a_loop_is_a_program() -> None:
    text = f"{ADD}for dtype in ['float16', 'int8', 'int32']:\n    add(dtype)\n"
    assert dtypes(text) == ["float16", "int8", "int32"]
    assert [program.label for program in programs_in(text).programs] == [f"add, schedule {n} of 3" for n in (1, 2, 3)]


def test_each_call_in_a_function_is_a_program() -> None:
    text = f"{ADD}def test_add():\n    add('float16', 4)\n    add('int8')\ntest_add()\n"
    assert dtypes(text) == ["float16", "int8"]
    assert [len(calls) > 0 for calls in methods(text)] == [True, False]


def test_schedules_of_a_test_are_programs() -> None:
    text = (
        f"{DOUBLE}def test_split():\n    sch = tir.Schedule(double)\n    i, = sch.get_loops('B')\n    j, k = sch.split(i, factors=[4, 16])\n"
        "    other = tir.Schedule(double)\n    i, = other.get_loops('B')\n    other.vectorize(i)\n    sch.parallel(j)\n"
    )
    assert methods(text) == [["get_loops", "split", "parallel"], ["get_loops", "vectorize"]]


COUNTS = {
    "one": ("s = te.create_schedule(C.op)", 1),
    "two": ("s = te.create_schedule(C.op)\nt = te.create_schedule(C.op)", 2),
    "a branch": ("if x:\n    s = te.create_schedule(C.op)\nelse:\n    s = te.create_schedule(D.op)", 1),
    "an early return": (
        "def f():\n    if x:\n        return te.create_schedule(C.op)\n    return te.create_schedule(D.op)\nf()",
        1,
    ),
    "a function that is passed": ("def f():\n    return Schedule(C)\ndef g(h):\n    for i in x:\n        h()\ng(f)", 2),
    "a comprehension": ("all = [Schedule(f) for f in functions]", 2),
    "recursion": ("def f():\n    f()\n    return Schedule(C)\nf()", 1),
    "none": ("x = 1", 0),
}


@pytest.mark.parametrize("name", COUNTS)
def test_schedules_are_counted_by_form(name: str) -> None:
    text, count = COUNTS[name]
    assert schedules_in(ast.parse(text)) == count


def test_variable_that_decides_a_schedule_is_asked_for() -> None:
    text = f"{DOUBLE}nt = tvm.target.Target.current().max_num_threads\nsch = tir.Schedule(double)\nsch.split(sch.get_loops('B')[0], factors=[None, nt])\n"
    (program,) = programs_in(text).programs
    with pytest.raises(ParseError, match=r"needs values for target \(target\)") as caught:
        read_program(program)
    assert caught.value.refusal.fix == ("--size target=cuda",)
    found = read_program(program, sizes={"target": "cuda"})
    assert found.schedule.trace.steps[-1].argument("factors") == (None, 1024)
    assert "max_num_threads=1024, as TVM has it for the target cuda" in [note.text for note in found.notes]
    assert [step.method for step in read_program(program, sizes={"nt": 16}).schedule.trace.steps][-1] == "split"


def test_test_whose_program_is_in_its_functions_is_no_program_of_its_own() -> None:
    text = f"{ADD}def test_add():\n    def run(environment):\n        add(environment.dtype)\n    testing.run(run)\n"
    assert [program.label for program in programs_in(text).programs] == ["add with dtype (dtype), parts=0"]


def test_loop_that_asks_the_schedule_is_passed_over() -> None:
    loop = "found = set()\nfor _ in range(9):\n    found.add(mutator.apply(sch.trace))\n    if len(found) == 3:\n        break\n"
    text = f"{DOUBLE}sch = tir.Schedule(double)\n{loop}sch.parallel(sch.get_loops('B')[0])\n"
    assert methods(text) == [["get_loops", "parallel"]]


def test_first_schedule_of_a_loop_that_needs_values_is_offered() -> None:
    text = f"{ADD}import other\nsizes = other.sizes()\nfor parts in sizes:\n    s = add('int8', parts)\n"
    (program,) = programs_in(text).programs
    assert program.label == "add"
    found = read_program(program, sizes={"sizes": "4x8"})
    assert program.other_schedules(found) == "the text makes 2 schedules here: this is the first"


MADE = "sch = tir.Schedule(double)\n"
CALL = 'sch.parallel(sch.get_loops("B")[0])\n'
FORMS = {
    "a copy": f"base = tir.Schedule(double)\nsch = base.copy()\nfor n in range(1):\n    {CALL}",
    "another name": f"base = tir.Schedule(double)\nsch = base\nif 3 > 2:\n    {CALL}",
    "another name that a function gets": f"def go(sch):\n    {CALL}base = tir.Schedule(double)\nother = base\ngo(other)\n",
    "an item": "d = {}\nmade = tir.Schedule(double)\nd['s'] = made\nfor b in 'B':\n    d['s'].parallel(d['s'].get_loops(b)[0])\n",
    "while": f"{MADE}n = 0\nwhile n < 1:\n    {CALL}    n += 1\n",
    "try": f"{MADE}try:\n    {CALL}except ValueError:\n    pass\n",
    "a conditional expression": f"{MADE}{CALL.strip()} if 3 > 2 else None\n",
    "a lambda that map gets": f"{MADE}f = lambda b: sch.parallel(sch.get_loops(b)[0])\nlist(map(f, ['B']))\n",
    "functions without parameters": f"{MADE}def inner():\n    {CALL}def outer():\n    inner()\nouter()\n",
    "a function in a branch": f"{MADE}def inner():\n    {CALL}if 3 > 2:\n    inner()\n",
    "an object": "class Tuner:\n    def __init__(self): self.s = tir.Schedule(double)\n"
    "    def go(self): self.s.parallel(self.s.get_loops('B')[0])\ntuner = Tuner()\ntuner.go()\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_no_call_of_a_schedule_is_lost(name: str) -> None:
    assert [step for step in methods(DOUBLE + FORMS[name])[0] if not step.startswith("get_")] == ["parallel"]


def test_code_that_measures_a_schedule_is_no_part_of_it() -> None:
    text = f"{DOUBLE}def measure(s):\n    return tvm.build(s.mod)(1)\n{MADE}before = measure(sch)\n{CALL}print(measure(sch), before)\n"
    built = f"{DOUBLE}{MADE}{CALL}try:\n    tvm.build(sch.mod)(1)\nexcept ValueError:\n    print('no')\n"
    assert methods(text) == methods(built) == methods(f"{DOUBLE}{MADE}{CALL}")


def test_other_code_that_gets_a_schedule_is_refused() -> None:
    (found,) = opened(f"{DOUBLE}import other\n{MADE}g = other.tuned(sch)\ng(3)\n")
    assert found.stopped is not None and "other.tuned gets the schedule" in str(found.stopped)
