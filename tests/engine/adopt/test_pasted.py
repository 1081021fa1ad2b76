"""Forum posts as pasted text: they are read, or the unreadable line is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.pasted.posts import (
    EARLY_MATMUL_POST,
    RELAX_LOWERED,
    RELAX_POST,
    RELAX_SCHEDULE_POST,
    RELAX_SCHEDULED_POST,
    SPLIT_EINSUM_POST,
    SPLIT_NAMES_POST,
)
from support.programs.random_programs import programs
from support.programs.sources import CLASSIC, CURRENT, MATMUL

from tilewright.engine.adopt import read_pasted
from tilewright.engine.execute import verify
from tilewright.engine.ir import IRModule, PrimFunc, first_difference
from tilewright.engine.schedule import ScheduleError
from tilewright.engine.script import ParseError, parse, to_script


def flat(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines())


def refused(text: str, program: IRModule | PrimFunc | None = None) -> ParseError:
    with pytest.raises(ParseError) as caught:
        read_pasted(text, program)
    assert caught.value.place is not None
    return caught.value


# The first post: the form of 2021.


def test_unfinished_line_of_the_early_program_is_reported() -> None:
    program = EARLY_MATMUL_POST[: EARLY_MATMUL_POST.index('"""Print')]
    found = parse(program)
    assert isinstance(found.program, PrimFunc)
    assert [n.text.partition(";")[0] for n in found.notes] == ["the text has lost its indentation"]
    matmul = parse(MATMUL).program
    assert first_difference(found.program, matmul if isinstance(matmul, PrimFunc) else matmul.functions[0]) is None
    error = refused(EARLY_MATMUL_POST)
    assert (error.code, error.refusal.found) == ("unsupported", "...")
    assert error.place is not None
    assert EARLY_MATMUL_POST.split("\n")[error.place.line - 1] == "ax0, ax1 = sch.split(...)"


def test_early_program_with_a_completed_schedule() -> None:
    text = EARLY_MATMUL_POST.replace(
        "ax0, ax1 = sch.split(...)",
        'Z = sch.get_block("Z")\ni, j, k = sch.get_axes(Z)\na, b, c, d = sch.split(i, factors=[None, 2, 4, 8], names=["a", "b", "c", "d"])',
    ).replace("sch.fuse(...)", "ax0 = sch.fuse(b, c)")
    found = read_pasted(text)
    assert [s.method for s in found.schedule.trace.steps if s.changes] == ["split", "fuse"]
    assert {"a", "d", "ax0", "Z"} <= found.names.keys()
    assert found.schedule.verify().status == "tested"


@pytest.mark.parametrize("text", [SPLIT_NAMES_POST, SPLIT_EINSUM_POST])
def test_lines_of_a_missing_schedule_are_reported(text: str) -> None:
    error = refused(text, parse(MATMUL).program)
    assert error.code == "no-schedule-line" and error.place is not None and error.place.line == 1


def test_the_einsum_form_applies() -> None:
    lines = SPLIT_EINSUM_POST.replace("get_axis(name=", "get_loop(").replace("i0, _, _, _", "i0, i1, i2, i3")
    found = read_pasted(f"s = tir.Schedule(matmul)\n{lines}", parse(MATMUL).program)
    assert found.names["i0"].name == "i0" and found.names["i3"].name == "i3"


# The second post: a module from relax, and its printed schedule.


def test_python_that_builds_the_module_is_reported() -> None:
    error = refused(RELAX_POST)
    assert error.place is not None
    assert RELAX_POST.split("\n")[error.place.line - 1] == "class NNModule(nn.Module):"


def test_posted_schedule_gives_the_posted_module() -> None:
    module = parse(RELAX_LOWERED)
    assert [n.text.split()[3] for n in module.notes] == ["forward"]
    found = read_pasted(RELAX_SCHEDULE_POST, module.program)
    sch = found.schedule
    assert sch.func_name == "fused_matmul_add_relu"
    assert sch.verify().status == "tested"
    posted = parse(RELAX_SCHEDULED_POST).program
    assert isinstance(posted, IRModule)
    assert verify(posted.functions[0], module.program["fused_matmul_add_relu"]).status == "tested"
    ours, theirs = (to_script(f, "classic").replace("fc1.bias", "fc1_bias") for f in (sch.func, posted.functions[0]))
    kept = [line.strip() for line in ours.splitlines() if line.strip().startswith(("with T.block", "T.writes"))]
    assert kept == [
        line.strip() for line in theirs.splitlines() if line.strip().startswith(("with T.block", "T.writes"))
    ]


def test_program_and_schedule_in_one_text() -> None:
    text = RELAX_LOWERED + "\n" + RELAX_SCHEDULE_POST.replace("mod_lowered)", "Module)")
    found = read_pasted(text)
    assert len([s for s in found.schedule.trace.steps if s.changes]) == 14
    note, *_, unread = found.notes
    assert text.split("\n")[note.place.line - 1].strip().startswith("def forward(")
    assert text.split("\n")[unread.place.line - 1] == "mod_lowered.show()" and "passed over" in unread.text
    wrong = text.replace('sch.get_block("T_add")', "sch.get_block(3 + x)")
    assert refused(wrong).place is not None
    with pytest.raises(ScheduleError):
        read_pasted(text.replace('"T_add"', '"compute"'))


# Indentation.


@pytest.mark.parametrize("name", [*CURRENT, *CLASSIC])
@pytest.mark.parametrize("dialect", ["current", "classic"])
def test_printed_samples_are_read_unindented(name: str, dialect: str) -> None:
    text = to_script(parse({**CURRENT, **CLASSIC}[name]).program, "current" if dialect == "current" else "classic")
    assert first_difference(parse(flat(text)).program, parse(text).program) is None


@given(program=programs())
def test_law_unindented_programs_are_read_or_refused(program: PrimFunc) -> None:
    text = to_script(program)
    try:
        found = parse(flat(text))
    except ParseError as error:
        assert error.code == "syntax"
    else:
        assert first_difference(found.program, program) is None
        assert found.notes


def test_positions_are_those_of_the_unindented_text() -> None:
    text = flat(MATMUL).replace("T.float32(0", "T.float33(0")
    with pytest.raises(ParseError) as caught:
        parse(text)
    place = caught.value.place
    assert place is not None
    assert text.split("\n")[place.line - 1][place.column - 1 :].startswith("T.float33")


@pytest.mark.parametrize(
    "body",
    ["for i in range(4):\nA[i] = 1.0\nA[0] = 2.0", "for i in range(4):\nif i > 2:\nA[i] = 1.0\nelse:\nA[i] = 2.0"],
)
def test_stores_without_blocks_are_refused(body: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(f'@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n{body}\n')
    assert caught.value.code == "syntax" and "indent" in caught.value.refusal.fix[0]


def test_each_statement_of_a_line_is_applied_once() -> None:
    making = 'sch = tvm.tir.Schedule(matmul)\nb = sch.get_block("C"); i, j, k = sch.get_loops(b)\n'
    calls = "ko, ki = sch.split(k, factors=[None, 16]); sch.reorder(i, ko, j, ki)\n"
    found = read_pasted(f"{MATMUL}\n{making}{calls}")
    assert [step.method for step in found.schedule.trace.steps] == ["get_block", "get_loops", "split", "reorder"]
    with pytest.raises(ScheduleError) as refused_call:
        read_pasted(f"{MATMUL}\n{making}{calls}sch.fuse(i, k); sch.unroll(j)\n")
    assert refused_call.value.refusal.place is not None


def test_axes_of_an_operation_are_unpacked_in_a_call_of_its_stage() -> None:
    text = """
A = te.placeholder((256, 512), name="A")
B = te.compute((256, 512), lambda m, k: A[m, k] + 1.0, name="B")
s = te.create_schedule(B.op)
mo, ko, mi, ki = s[B].tile(*B.op.axis, 64, 128)
"""
    found = read_pasted(text)
    assert not found.notes
    loops = found.schedule.get_loops(found.schedule.get_block("B"))
    assert [found.schedule.get(loop).loop_var.name for loop in loops] == ["mo", "ko", "mi", "ki"]
