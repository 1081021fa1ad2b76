"""The habits of TVM users: TVM's text and objects as programs, scripts, traces, and mistakes with handles and keywords."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest
from support.programs.sources import MATMUL

from tilewright.engine.ir import Var, structural_equal
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script


def matmul() -> Schedule:
    return Schedule(parse(MATMUL).program)


def refused(call: object, *args: object, **kwargs: object) -> ScheduleError:
    assert callable(call)
    with pytest.raises(ScheduleError) as caught:
        call(*args, **kwargs)
    return caught.value


def test_tvm_text_and_objects_are_programs() -> None:
    expected = matmul().mod
    tvm_module = SimpleNamespace(script=lambda *, show_meta: MATMUL)
    for program in (MATMUL, tvm_module, SimpleNamespace(mod=tvm_module), matmul()):
        assert structural_equal(Schedule(program).mod, expected)


def test_a_trace_prints_its_calls() -> None:
    sch = matmul()
    sch.vectorize(sch.get_loops("C")[1])
    assert str(sch.trace).splitlines() == sch.trace.as_python() and "vectorize" in repr(sch.trace)


def test_script_show_and_print_of_a_module_are_its_text(capsys: pytest.CaptureFixture[str]) -> None:
    sch = matmul()
    text = to_script(sch.mod)
    sch.mod.show()
    print(sch.mod)
    sch.show()
    assert capsys.readouterr().out == f"{text}\n" * 3 and sch.mod.script() == text
    assert "\n" not in repr(sch) and "\n" not in repr(sch.mod)
    sch.split("i", factors=[None, 8])
    assert sch.mod.script() == to_script(sch.mod) != text


def test_python_of_a_trace_makes_the_same_schedule(capsys: pytest.CaptureFixture[str]) -> None:
    sch = matmul()
    i, j, k = sch.get_loops(sch.get_block("C"))
    io, ii = sch.split(i, factors=[None, 8])
    sch.reorder(io, j, k, ii)
    sch.transform_layout("C", ("write", 0), lambda a, b: [b, a])
    lines = sch.trace.as_python()
    sch.trace.show()
    assert capsys.readouterr().out.splitlines() == lines
    again = matmul()
    variables: dict[str, object] = {"sch": again}
    exec("\n".join(lines), variables)  # our own text, made above
    assert structural_equal(again.mod, sch.mod) and isinstance(variables["i_0"], Var)


def test_single_result_of_a_list_is_unpacked_in_its_line() -> None:
    sch = Schedule(
        'from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((8,), "float32")):\n'
        '    for i in range(8):\n        with T.sblock("A"):\n            v = T.axis.spatial(8, i)\n            A[v] = T.float32(1)\n'
    )
    sch.get_loops("A")
    assert sch.trace.as_python() == ['(i,) = sch.get_loops(block="A")']


def test_typo_in_a_keyword_is_reported_with_the_nearest_name() -> None:
    error = refused(matmul().split, "i", factor=[None, 8])
    assert error.code == "bad-arguments" and error.refusal.fix == ("factors=…",)
    assert issubclass(type(error), TypeError) and "split(loop, factors" in error.refusal.expected


def test_stale_loop_is_reported_with_its_replacement_and_block() -> None:
    sch = matmul()
    i, j, _ = sch.get_loops("C")
    sch.split(i, factors=[None, 8])
    sch.unroll(j)
    error = refused(sch.parallel, i)
    assert error.refusal.found == "step 2, split, replaced it by i_0, i_1; it was around 'C'"


def test_stale_block_is_reported_with_the_call_that_removed_it() -> None:
    sch = matmul()
    copy = sch.cache_read("C", 0, "global")
    sch.compute_inline(copy)
    assert refused(sch.compute_inline, copy).refusal.found == "step 2, compute_inline, removed it"


def test_a_loop_of_another_schedule_is_refused() -> None:
    foreign = matmul().split("i", factors=[None, 8])[0]
    assert "belongs to another schedule" in refused(matmul().unroll, foreign).refusal.message


def test_blocks_and_loops_in_place_of_each_other_are_refused() -> None:
    sch = matmul()
    i, *_ = sch.get_loops("C")
    error = refused(sch.unroll, "C")
    assert error.refusal.message == "'C' is a block, not a loop" and "i, j, k" in error.refusal.expected
    assert refused(sch.compute_inline, i).refusal.message == f"{cast(Var, i).name!r} is a loop, not a block"


@pytest.mark.parametrize(
    ("text", "code", "call"),
    [
        ('A = te.placeholder((4,), name="A")\nB = te.compute((4,), lambda i: A[i] + 1.0)\n', "te-text", "read_te"),
        (f"{MATMUL}\nsch = tir.Schedule(matmul)\nb = sch.get_block('C')\n", "schedule-in-text", "read_pasted"),
    ],
)
def test_text_beyond_a_program_is_refused_with_its_reader(text: str, code: str, call: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        Schedule(text)
    assert caught.value.code == code and call in caught.value.refusal.fix[0]
