"""Posts with prose, code and printed output: their parts, the programs in them, and the schedule of each."""

# ruff: noqa: E501, RUF001

from __future__ import annotations

import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.adopt import programs_in, read_program, unread_lines
from tilewright.engine.adopt.posts import is_sentence, split_post
from tilewright.engine.processes import Budget, within
from tilewright.engine.schedule import Schedule
from tilewright.engine.te import read_te

SCALE = """\
import tvm
from tvm import te
n = 64
A = te.placeholder((n, n), name="A")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((n, n), lambda i, j: B[i, j] + 1.0, name="C")
"""
TILED = """\
s = te.create_schedule(C.op)
xo, xi = s[C].split(C.op.axis[0], factor=16)
s[B].compute_at(s[C], xo)
print(tvm.lower(s, [A, C], simple_mode=True))
"""
INLINED = """\
s = te.create_schedule(C.op)
s[B].compute_inline()
"""
DOUBLED = """\
@T.prim_func
def double(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)
sch = tir.Schedule(double)
block = sch.get_block("B")
(i,) = sch.get_loops(block)
sch.split(i, factors=[None, 16])
"""
PRINTED = """\
// attr [B] storage_scope = "global"
allocate B[float32 * 4096]
produce B {
  for (i, 0, 64) {
    B[i] = A[i]
  }
}
"""


def methods(schedule: Schedule) -> list[str]:
    return [step.method for step in schedule.trace.steps]


def steps_of(text: str) -> list[list[str]]:
    return [methods(read_program(program).schedule) for program in programs_in(text).programs]


def test_unfenced_post_is_split_into_prose_code_and_output() -> None:
    text = f"How do I tile this? It’s slow.\n\n{SCALE}{TILED}\nIt prints\n\n{PRINTED}\nThanks, and see B.\n"
    assert [part.kind for part in split_post(text)] == ["prose", "code", "prose", "output", "prose"]
    lines = text.split("\n")
    for part in split_post(text):
        assert part.lines[0] == lines[part.first - 1]


def test_fences_decide_and_margins_and_prompts_are_removed() -> None:
    fenced = "\n".join(f"   {line}" for line in SCALE.splitlines())
    text = f"# A title\n\n1. Define it:\n\n   ```python\n{fenced}\n   ```\n\n```\n>>> s = te.create_schedule(C.op)\n<s>\n```\n\n```\nplain words\n```\n"
    parts = split_post(text)
    assert [part.kind for part in parts] == ["prose", "code", "code", "output", "output"]
    assert "\n".join(parts[1].lines) + "\n" == SCALE
    assert parts[2].lines == ("s = te.create_schedule(C.op)",)


def test_typographic_quotes_are_replaced_in_code_only() -> None:
    curly = SCALE.replace('name="B"', "name=“B”").replace('name="C"', "name=‘C’")
    text = f"It’s “C” that matters in the program below.\n\n{curly}{TILED}"
    prose, code = split_post(text)
    assert "It’s “C”" in prose.lines[0]
    assert "\n".join(code.lines) + "\n" == (SCALE + TILED).replace('"C"', "'C'")
    (program,) = programs_in(text).programs
    assert methods(read_program(program).schedule) == methods(read_te(SCALE + TILED).schedule)


def test_tracebacks_and_shell_sessions_are_output() -> None:
    text = (
        f"user@box:~/x$ cat x.py\n{SCALE}{TILED}user@box:~/x$ python x.py\nTraceback (most recent call last):\n"
        '  File "x.py", line 3, in <module>\n    s[C].split(x)\ntvm._ffi.base.TVMError: no such axis\n\nWhat is wrong with that?\n'
    )
    assert [part.kind for part in split_post(text)] == ["output", "code", "output", "prose"]


def test_each_schedule_of_a_program_has_its_own_definitions() -> None:
    text = f"First I tile it by hand:\n\n{SCALE}{TILED}\nThen I inline the producer:\n\n{INLINED}"
    first, second = programs_in(text).programs
    assert "compute_at" in methods(read_program(first).schedule)
    assert methods(read_program(second).schedule) == ["get_block", "compute_inline"]
    assert second.text.split("\n")[2 + 4] == text.split("\n")[2 + 4]  # lines keep their numbers


def test_pieces_of_a_schedule_between_prose_are_joined() -> None:
    text = f"We define the computation first.\n\n{SCALE}\nAnd then we schedule it, with a split:\n\n{TILED}\nAt last the inner loop:\n\ns[C].vectorize(xi)\n"
    (steps,) = steps_of(text)
    assert {"split", "compute_at", "vectorize"} <= {*steps}


def test_te_and_tensorir_in_one_post() -> None:
    text = f"In TE it would be written like this:\n\n{SCALE}{TILED}\nand in TensorIR:\n\n{DOUBLED}"
    te, script = programs_in(text).programs
    assert (te.name, script.name) == ("C", "double")
    assert methods(read_program(script).schedule)[-1] == "split"


def test_lost_indentation_is_restored() -> None:
    flat = "\n".join(line.strip() for line in DOUBLED.splitlines())
    assert [
        steps[-1]
        for steps in steps_of(f"This is the program that I schedule here:\n{flat}\nWhat do you think of it?\n")
    ] == ["split"]


def test_measurements_are_left_out() -> None:
    measured = (
        "import timeit\nlog = []\ndef measure(func, name, log):\n    f = tvm.build(func, [A, C])\n    log.append((name, timeit.timeit()))\n"
        "measure(s, 'tiled', log)\nfor name, seconds in log:\n    print(name, seconds)\n"
    )
    assert steps_of(SCALE + TILED + measured + INLINED)[1] == ["get_block", "compute_inline"]


def test_refused_line_is_noted_and_others_are_applied() -> None:
    text = f"{SCALE}{INLINED}s[C].vectorize(C.op.axis[7])\ns[C].unroll(C.op.axis[1])\n"
    (program,) = programs_in(f"My schedule of two stages:\n\n{text}").programs
    found = read_program(program)
    assert methods(found.schedule)[-1] == "unroll"
    assert [(note.place.line, "left out" in note.text) for note in found.notes] == [(11, True)]


def test_note_asks_for_the_script_of_a_built_program() -> None:
    text = f"The model is lowered by a pipeline.\n\nmod = pipeline(model)\nsch = tir.Schedule(mod)\nsch.split(i, [2, 8])\n\nThe result:\n\n{DOUBLED.partition('sch =')[0]}"
    found = programs_in(text)
    assert [program.name for program in found.programs] == ["double"]
    assert [(note.place.line, "mod.show()" in note.text) for note in found.notes] == [(4, True)]


def test_undefined_size_in_a_quoted_line_is_noted() -> None:
    text = 'The tutorial has these lines in it:\n\nA = te.placeholder((o, env.BATCH), name="A")\nB = te.compute((o, env.BATCH), lambda *i: A(*i), "B")\n'
    (program,) = programs_in(text).programs
    found = read_program(program)
    assert [note.text.split()[0] for note in found.notes] == ["o", "env"]


def test_a_broken_line_of_code_is_reported() -> None:
    text = f"This is all of my code:\n\n{SCALE}{INLINED}s[C].vectorize(C.op.axis[1]\ns[C].unroll(C.op.axis[0])\n"
    assert [number for number, _ in unread_lines(split_post(text))] == [11]


@pytest.mark.parametrize(
    "text", ["", "```", "```\n```", "(" * 2000, "x = {\n" * 500, '"""\n' * 301, "produce B {\n" * 300, ">>> \n" * 9]
)
def test_odd_text_has_no_program(text: str) -> None:
    assert programs_in(text).programs == ()


@given(st.lists(st.sampled_from((*SCALE.splitlines(), *TILED.splitlines(), *DOUBLED.splitlines(), "", "```", "It’s prose, all of it here.", "}", "produce {", '"""', "(((", "\t")), max_size=40))  # fmt: skip
def test_law_splitting_a_post_loses_no_line(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = programs_in(text)
    numbers = [n for part in found.parts for n in range(part.first, part.first + len(part.lines))]
    assert numbers == sorted(set(numbers))
    missing = set(range(1, len(lines) + 1)) - {*numbers}
    assert all(not lines[n - 1].strip() or "```" in lines[n - 1] for n in missing)


@given(st.text(alphabet="ab1' ,-.(", max_size=24))
def test_prose_has_four_words_or_the_end_of_a_sentence(line: str) -> None:
    expected = re.search(r"(?:[A-Za-z][\w\u2019'-]*[,:;]? +){3,}[A-Za-z]|^[^\W\d_][^=()\[\]]*[.?!:]$", line)
    assert is_sentence(line) == (expected is not None)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "line",
    [
        "a" * 200_000,
        'x \\"' + '\\"' * 100_000,
        "x" + " " * 200_000 + "x #y",
        "1" * 200_000 + " x",
        "\n" * 19_000,
        "{\n" * 3_000,
    ],
    ids=["letters", "quotes", "blanks", "digits", "lines", "braces"],
)
def test_long_line_is_read_within_a_budget(line: str) -> None:
    with within(Budget(20.0), "reading in time that is not linear"):
        assert programs_in(f"Some words of prose.\n\n{line}\n\n{SCALE}", "post.txt").programs


def test_the_marks_of_cells_are_no_prose() -> None:
    text = "# %% [markdown]\n# # A title of four words\n# and a sentence that explains it.\n\nx = 1\n"
    prose, *_ = split_post(text, ast.parse(text))
    assert prose.kind == "prose" and not any("%%" in line for line in prose.lines)


def test_code_in_a_fence_of_another_language_is_code_if_it_makes_a_part_of_a_program() -> None:
    text = f"# Tiling\n\n```python\n{SCALE}```\n\n```bash\n{TILED}```\n\n```bash\ntir.log = 3\nexport T=1\n```\n"
    kinds = [part.kind for part in split_post(text) if part.kind != "prose"]
    assert kinds == ["code", "code", "output"]
    (program,) = programs_in(text).programs
    assert any(step.method == "split" for step in read_program(program).schedule.trace.steps)
