"""A whole post opens as a notebook: prose as markdown cells, and one program with the schedule; the other programs can be opened."""

# ruff: noqa: E501, RUF001

from __future__ import annotations

from pathlib import Path

import pytest
from support.pasted.posts import (
    EARLY_MATMUL_POST,
    RELAX_POST,
    RELAX_SCHEDULE_POST,
    RELAX_SCHEDULED_POST,
    SEPARATED_POST,
)
from support.programs.sources import MATMUL
from support.programs.te_sources import BOX_BLUR, BOX_BLUR_SCHEDULE, MATMUL_VTCM, STAGED_COPIES, TRANSPOSED

from tilewright.app.actions.opening import OpenProgram, OpenText
from tilewright.app.actions.table import act
from tilewright.app.cli import main
from tilewright.app.document import DEFAULT_MACHINE, converted, evaluate, read_document
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.notebook.value import notebook_value
from tilewright.app.views.problems.value import problems_value
from tilewright.engine.ir import TilewrightError

TWO = f"""\
Memory in two blocks

Hi, my hardware’s memory has “two” physical blocks, how can I use both of them?

{MATMUL_VTCM}
An error is printed: InternalError: Check failed

In TensorIR there are axis separators, as in this example:

{SEPARATED_POST}
Thanks, that helped!
"""
POSTS = {
    "staged copies": f"What is the difference?\n\nThe tutorial has this example:\n\n{STAGED_COPIES}\nThis is also used to move data, isn’t it?\n",
    "early program": f"Q1. Are there strings for get_block?\nYeah. One design principle is that all is in the text.\n{EARLY_MATMUL_POST}Agreed. We do find the style annoying.\n",
    "two blocks": TWO,
    "shared buffer": f"Hi everyone,\nI’m working on a backend for TVM.\n{RELAX_POST}{RELAX_SCHEDULE_POST}the scheduled tir is as follows, and we can see\n{RELAX_SCHEDULED_POST}",
    "box blur": f"Data layout\n\nI am working on a simple box blur, and its layout is wrong.\n\n{BOX_BLUR}{BOX_BLUR_SCHEDULE}\nThis shows how to transpose it:\n\n{TRANSPOSED}",
}


@pytest.mark.parametrize("text", POSTS.values(), ids=POSTS)
def test_a_post_opens_as_a_notebook_with_its_prose(text: str) -> None:
    state = act(State(), OpenText(text))
    assert state.notice is None and state.notebook is not None and state.notebook.error is None
    document = state.notebook.document
    prose = "\n".join(cell.prose for cell in document.of_kind("markdown"))
    assert text.split("\n")[0].lstrip("# ") in prose
    assert document.cells[0].kind == "markdown" and document.of_kind("workload") and document.of_kind("schedule")
    compile(document.text, "notebook", "exec")
    assert converted(document, "dual-bank-npu").document is document


def test_title_is_used_and_quotes_stay_in_prose() -> None:
    state = act(State(), OpenText(TWO))
    assert state.title == "Memory in two blocks" and state.notebook is not None
    assert "“two” physical blocks" in state.notebook.document.cells[0].prose


@pytest.mark.slow
def test_second_program_of_a_post_can_be_opened() -> None:
    state = act(State(), OpenText(TWO))
    (banner,) = notebook_value(state, Store(), {}).banners
    assert banner.kind == "programs" and [other.number for other in banner.others] == [2]
    assert any("2 programs" in p.message for p in problems_value(state, Store()).problems)
    other = act(state, OpenProgram(2))
    assert other.notebook is not None and other.notebook.schedule is not None
    assert [step.method for step in other.notebook.schedule.trace.steps] == ["transform_layout"]
    assert "te.reduce_axis" in other.notebook.document.cells[0].prose  # the first program, as it was posted
    assert act(other, OpenProgram(3)).notice is not None
    assert act(State(), OpenProgram(1)).notice is not None


def test_fences_separate_code_and_prose_as_in_markdown() -> None:
    text = f"# Issue\n\nPlease look at this:\n\n```python\n{MATMUL_VTCM}```\n\nExpected:\n\n```\nA[2][4096]\n```\n"
    conversion = converted(read_document(text), "dual-bank-npu")
    assert (
        evaluate(conversion.document).error is None and conversion.post is not None and len(conversion.post.labels) == 1
    )
    assert conversion.document.cells[-1].prose == "Expected:\n\n```\nA[2][4096]\n```"


def test_prose_without_a_program_opens_nothing() -> None:
    state = act(State(), OpenText("How do I tile this? It’s slow.\n\nI have tried everything that I know.\n"))
    assert state.notebook is None and state.notice is not None


@pytest.mark.parametrize("code", ["", "```\nif (ok) {\n  run(module);\n}\n```\n"])
def test_prose_in_another_script_without_a_program_has_none(code: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        converted(
            read_document(f"# 编译\n\n编译器包含了一系列优化，它们可提高性能。\n\n{code}", "notes.md"), DEFAULT_MACHINE
        )
    assert caught.value.code == "not-a-program"


def test_code_of_a_program_that_cannot_be_read_is_named() -> None:
    text = "# 编译\n\n```python\n@T.prim_func\ndef f(A: T.Buffer((4,)):\n    pass\n```\n"
    error = evaluate(converted(read_document(text, "notes.md"), DEFAULT_MACHINE).document).error
    assert error is not None and error.code == "syntax"


@pytest.mark.sample(2)
@pytest.mark.parametrize(("number", "code"), [("", 0), ("#1", 0), ("#2", 0), ("#3", 2)])
def test_a_number_after_the_file_selects_the_program_to_run(
    number: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "post.txt"
    file.write_text(TWO, encoding="utf-8")
    sizes = [] if number == "#2" else ["--size", "M=256,K=512,N=256"]
    assert main(["run", f"{file}{number}", *sizes]) == code
    printed = capsys.readouterr().err
    assert ("post.txt#2 is before_vectorize" in printed) == (number == "")
    assert code == 0 or "no-such-program" in printed


def test_a_number_after_the_file_selects_the_program_to_import(tmp_path: Path) -> None:
    file, output = tmp_path / "post.txt", tmp_path / "notebook.py"
    file.write_text(TWO, encoding="utf-8")
    assert main(["import", f"{file}#2", "-o", str(output)]) == 0
    notebook = evaluate(read_document(output.read_text(encoding="utf-8")))
    assert notebook.error is None and notebook.schedule is not None
    assert notebook.schedule.func.name == "before_vectorize"


@pytest.mark.parametrize("around", ["", "Minimal repro\n\n", "# Title\n\n**Bug**\n"])
def test_a_fence_is_code_whatever_is_around_it(around: str) -> None:
    made = converted(read_document(f"{around}```python\n{MATMUL}```\n"), "dual-bank-npu")
    notebook = evaluate(made.document)
    assert notebook.error is None and notebook.schedule is not None
    assert notebook.schedule.func.name == "matmul"
