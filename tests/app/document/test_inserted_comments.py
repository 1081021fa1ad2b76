"""Inserted comments, strings and prints change neither the program nor the refusal of a text."""

from __future__ import annotations

import ast
from random import Random

import pytest
from support.fuzzing import seeds
from support.pasted.posts import EARLY_MATMUL_POST
from support.profile import IS_DEEP
from support.programs.te_sources import BOX_BLUR_SCHEDULE, GPU_MATMUL, MATMUL_VTCM, TRANSPOSED

from tilewright.app.document import evaluate, read_document
from tilewright.app.document.pasted import converted
from tilewright.engine.ir import TilewrightError
from tilewright.engine.script import find_tree, to_script

WORDS = (
    "Schedule(",
    "sch = tir.Schedule(matmul)",
    "s = te.create_schedule(C.op)",
    "A = te.placeholder((16,)), then te.compute(",
    "te.create_prim_func and tvm.te",
    "@T.prim_func",
    "@I.ir_module",
    "@R.function",
    "tvm.compute((n,), lambda i: i)",
    "This sentence says what each of the loops does.",
)
NEW_TE = GPU_MATMUL + "sch = tvm.tir.Schedule(te.create_prim_func([A, B, C]))\n"
TEXTS = {
    "TE": MATMUL_VTCM,
    "TE for a GPU": GPU_MATMUL,
    "TE in a function": BOX_BLUR_SCHEDULE,
    "old TE": TRANSPOSED,
    "TE and a block schedule": NEW_TE,
    **{f"script {n}": text for n, text in enumerate(seeds.scripts()[:6])},
    **{f"pasted {n}": text for n, text in enumerate(seeds.pasted()[:4])},
    "early": EARLY_MATMUL_POST,
    "constants": "from tvm.script import tir as T\nN = 8\nif N > 4:\n    N = 16\n" + seeds.ODD_PROGRAM,
}
PYTHON = {name: text for name, text in TEXTS.items() if find_tree(text) is not None}


def outcome(text: str) -> tuple[str, ...]:
    """The program of a text with its steps as the app opens it, or the refusal."""
    try:
        conversion = converted(read_document(text), "dual-bank-npu")
    except TilewrightError as error:
        assert error.refusal.code != "internal-error", error
        return (error.refusal.code, error.refusal.message)
    notebook = evaluate(conversion.document)
    if notebook.error is not None:
        assert notebook.error.refusal.code != "internal-error", notebook.error
        return (notebook.error.refusal.code, notebook.error.refusal.message)
    assert notebook.program is not None
    return (to_script(notebook.program), *(step.text for step in notebook.steps), str(conversion.stopped is not None))


def with_lines(text: str, random: Random, forms: tuple[str, ...]) -> str:
    """A text with lines without effect between its statements."""
    tree = ast.parse(text)
    lines = text.split("\n")
    places = [min([n.lineno, *(d.lineno for d in getattr(n, "decorator_list", ()))]) for n in tree.body]
    for place in sorted(random.sample(places, min(len(places), 3)), reverse=True):
        if lines[place - 1][:1] not in (" ", "\t"):
            lines[place - 1 : place - 1] = [
                random.choice(forms).format(random.choice(WORDS)) for _ in range(random.randint(1, 3))
            ]
    return "\n".join(lines)


@pytest.mark.sample(9)
@pytest.mark.deep
@pytest.mark.parametrize("name", PYTHON)
def test_inserted_comments_and_strings_do_not_change_the_reading(name: str) -> None:
    text, random = PYTHON[name], Random(f"2026 {name}")
    expected = outcome(text)
    for _ in range(100 if IS_DEEP else 1):
        more = with_lines(text, random, ("# {}", '"""{}"""', "#{}", "'{}'"))
        assert outcome(more) == expected, more


@pytest.mark.sample(2)
@pytest.mark.deep
@pytest.mark.parametrize("name", [name for name in PYTHON if name.startswith(("TE", "pasted", "old"))])
def test_inserted_prints_do_not_change_a_scheduled_text(name: str) -> None:
    text, random = PYTHON[name], Random(f"2027 {name}")
    expected = outcome(text)
    for _ in range(100 if IS_DEEP else 1):
        more = with_lines(text, random, ("print('{}')", "print('{}', 1)"))
        assert outcome(more) == expected, more


@pytest.mark.sample(1)
@pytest.mark.parametrize("line", ["# Schedule(", "print('Schedule(')", "'''tvm.tir.Schedule(f)'''", "x = 'Schedule('"])
def test_te_text_that_names_a_schedule_reads_as_te(line: str) -> None:
    assert outcome(f"{GPU_MATMUL}{line}\n") == outcome(GPU_MATMUL)
