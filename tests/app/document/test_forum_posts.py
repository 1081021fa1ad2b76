"""Whole posts open as notebooks: the program with its schedule, and the sentences around it as markdown. In a copied listing without a
sentence, prompts, line numbers, marks of quotation and typographic characters are mended."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.pasted.forum_posts import POSTS

from tilewright.app.document import DEFAULT_MACHINE, converted, evaluate, read_document
from tilewright.engine.adopt import programs_in
from tilewright.engine.ir import TilewrightError, structural_equal


@pytest.mark.sample(21)
@pytest.mark.parametrize("name", POSTS)
def test_an_opened_post_applies_its_schedule_and_keeps_its_prose(name: str) -> None:
    text, steps = POSTS[name]
    conversion = converted(read_document(text), "dual-bank-npu")
    notebook = evaluate(conversion.document)
    assert conversion.stopped is None and notebook.error is None and notebook.schedule is not None
    assert " ".join(step.method for step in notebook.schedule.trace.steps if step.changes) == steps
    assert notebook.schedule.check().status in ("proved", "tested")
    assert conversion.document.of_kind("markdown") or name == "magics"
    assert not any("not Python and is left out" in note.text for note in conversion.notes)
    compile(conversion.document.text, "notebook", "exec")


def test_prose_comments_become_markdown_and_line_comments_stay() -> None:
    text = POSTS["Python with sentences in comments"][0].replace("AL = ", "# one copy\nAL = ")
    document = converted(read_document(text), "dual-bank-npu").document
    first, *_, last = document.cells
    assert first.prose.startswith("Hi, this is my attempt at a matmul for our NPU.")
    assert last.prose == "What I expected: one copy per row.\nWhat I see: nothing at all!"
    assert "# one copy\n" in document.of_kind("schedule")[0].text


def test_numbered_program_lines_keep_their_places() -> None:
    text = POSTS["a listing with line numbers"][0]
    (program,) = programs_in(text).programs
    for number, line in enumerate(program.text.split("\n"), 1):
        assert not line or line in text.split("\n")[number - 1]


@pytest.mark.parametrize(
    "text",
    [
        "1. Install it\n2. Run it\n3. Read the output\n",
        "> A quotation of two lines,\n> with nothing else in it.\n",
        "&lt;b&gt;Bold&lt;/b&gt; words &amp; others, and no code at all.\n",
        "12 of the 13 lines\n13 of them\n14 in all\n",
    ],
)
def test_prose_like_listings_has_no_program(text: str) -> None:
    assert programs_in(text).programs == ()


PROGRAM = """import tvm
from tvm.script import tir as T
@T.prim_func
def double(a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("b"):
            vi = T.axis.spatial(64, i)
            b[vi] = a[vi] * T.float32(2)
"""
SCHEDULE = """sch = tvm.tir.Schedule(double)
i, = sch.get_loops(sch.get_block("b"))
io, ii = sch.split(i, factors=[None, 8])
sch.vectorize(ii)
"""
TEXT = PROGRAM + SCHEDULE


def each_line(written: Callable[[int, str], str], text: str = TEXT) -> str:
    return "".join(written(number, line) + "\n" for number, line in enumerate(text.splitlines(), 1))


def prompted(text: str) -> str:
    lines = PROGRAM.splitlines()
    head = "".join(f"... {line}\n" if line[0] in " d" else f">>> {line}\n" for line in lines)
    return f"{head}...\n{each_line(lambda _, line: f'>>> {line}', text)}"


def in_cells() -> str:
    first, *rest = PROGRAM.splitlines()
    cell = "".join(f"   ...: {line}\n" for line in rest)
    return f"In [1]: {first}\n{cell}\nIn [2]: 1 + 1\nOut[2]: 2\n\n{each_line(lambda n, line: f'In [{n + 2}]: {line}', SCHEDULE)}"


MENDED = {
    "prompts": prompted(SCHEDULE),
    "prompts with what was printed": prompted(SCHEDULE.replace("io,", "i\ns_tir.LoopRV(0x55)\nio,")).replace(">>> s_tir", "s_tir"),
    "cells of IPython": in_cells(),
    "line numbers": each_line(lambda n, line: f"{n:4d}  {line}"),
    "line numbers with a colon": each_line(lambda n, line: f"{n}: {line}"),
    "line numbers with a bar": each_line(lambda n, line: f"{n:>3} | {line}"),
    "a quoted text": each_line(lambda _, line: f"> {line}"),
    "a text that was quoted twice": each_line(lambda _, line: f"> > {line}"),
    "marks of quotation without a space": each_line(lambda _, line: f">> {line}"),
    "typographic quotes": TEXT.replace('"b"', "\u201cb\u201d").replace('"float32"', "\u2018float32\u2019"),
    "no-break spaces": TEXT.replace("    ", "\u00a0" * 4).replace(" = ", "\u00a0= "),
    "zero width spaces": TEXT.replace("import tvm", "import\u200b tvm"),
    "a heading of plain words": f"Minimal repro\n\n{TEXT}",
    "an underlined heading": f"Title\n=====\n\n{TEXT}",
}  # fmt: skip


@pytest.mark.parametrize("name", MENDED)
def test_a_listing_opens_as_its_program(name: str) -> None:
    expected = evaluate(converted(read_document(TEXT), DEFAULT_MACHINE).document).schedule
    made = converted(read_document(MENDED[name]), DEFAULT_MACHINE)
    found = evaluate(made.document).schedule
    assert made.stopped is None and expected is not None and found is not None
    assert structural_equal(found.mod, expected.mod)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (TEXT.replace("range(64):", "range(64)"), 5, "expected ':'"),
        (TEXT.replace("i, =", "i, = ="), 10, "invalid syntax"),
        (f"M := 3 is\n\n{TEXT}", 1, "invalid syntax"),
        (prompted(SCHEDULE.replace("sch.vec", "sch..vec")), 13, "this line is not Python"),
        (each_line(lambda n, line: f"{n}: {line}", TEXT.replace("i, =", "i, = =")), 10, "this line is not Python"),
    ],
)
def test_a_line_with_an_error_is_named(text: str, line: int, message: str) -> None:
    with pytest.raises(TilewrightError, match=message) as caught:
        error = evaluate(converted(read_document(text), DEFAULT_MACHINE).document).error
        if error is not None:
            raise error
    assert caught.value.refusal.place is not None and caught.value.refusal.place.line == line
