"""Whole posts open as notebooks: the program with its schedule, and the sentences around it as markdown."""

from __future__ import annotations

import pytest
from support.pasted.forum_posts import POSTS

from tilewright.app.document import converted, evaluate, read_document
from tilewright.engine.adopt import programs_in


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
