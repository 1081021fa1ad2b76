"""Notebooks of Jupyter: cells, magics, outputs, and the lines of what is left out."""

from __future__ import annotations

import json

import pytest
from support.pasted.carriers import SCHEDULE, TWICE, code, markdown, notebook

from tilewright.engine.adopt import Content, programs_of, read_program, unwrapped
from tilewright.engine.ir import PrimFunc, TilewrightError


def content_of(text: str) -> Content:
    found = unwrapped(text)
    assert found is not None
    return found


def left_out(text: str) -> list[str]:
    return [f"{note.where}: {note.text}" for note in content_of(text).notes]


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_cells_are_joined_in_order(indent: int | None) -> None:
    text = notebook(markdown("# Twice\n\nWhy is it slow?"), code(TWICE), code(SCHEDULE), indent=indent)
    (piece,) = content_of(text).pieces
    assert [part.kind for part in piece.parts] == ["prose", "code", "code"]
    (program,) = programs_of(piece.parts).programs
    found = read_program(program)
    assert (
        isinstance(found.program, PrimFunc) and found.program.name == "twice" and len(found.schedule.trace.steps) == 3
    )


def test_format_3_has_worksheets() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "metadata": {}, "source": ["Twice"]},
        {
            "cell_type": "code",
            "collapsed": False,
            "input": TWICE,
            "language": "python",
            "metadata": {},
            "outputs": [],
            "prompt_number": 1,
        },
    ]
    (piece,) = content_of(
        json.dumps({"metadata": {}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": cells}]})
    ).pieces
    assert [part.lines[0] for part in piece.parts] == ["## Twice", "@T.prim_func"]


def test_magics_are_listed_with_their_cell_and_line() -> None:
    text = notebook(
        code("%matplotlib inline\n!pip install \\\n  apache-tvm\nimport tvm\n"), code("%%bash\nls\npwd\n"),
        code("%%time\nM = 4\n"), code("tvm?\nN = 8\n"),
    )  # fmt: skip
    assert left_out(text) == [
        "cell 1, line 1: the magic '%matplotlib inline' is left out",
        "cell 1, line 2: the magic '!pip install \\\\' is left out",
        "cell 2, line 1: the cell of the magic '%%bash', which has 2 more lines, is left out",
        "cell 3, line 1: the magic '%%time' is left out",
        "cell 4, line 1: the request for help 'tvm?' is left out",
    ]
    (piece,) = content_of(text).pieces
    assert [line for line in piece.code.split("\n") if line] == ["import tvm", "M = 4", "N = 8"]


def test_lines_of_strings_and_expressions_are_no_magics() -> None:
    lines = ['TEXT = """', "%matplotlib inline", "!ls", '"""', "left = (17", "% 5)"]
    text = notebook(code("\n".join(lines)))
    assert left_out(text) == [] and content_of(text).pieces[0].code.split("\n")[:-1] == lines


def test_the_result_of_a_magic_is_unknown() -> None:
    """A constant from before would be wrong."""
    sized = TWICE.replace("64", "M")
    text = notebook(code("M = 64\n"), code("M = !nproc\n"), code(sized))
    (piece,) = content_of(text).pieces
    (program,) = programs_of(piece.parts).programs
    with pytest.raises(TilewrightError):
        read_program(program, assumes=False)


def test_a_run_of_another_file_may_define_any_name() -> None:
    text = notebook(code("M = 64\n%run sizes.py\n"), code(TWICE.replace("64", "M")))
    (piece,) = content_of(text).pieces
    (program,) = programs_of(piece.parts).programs
    with pytest.raises(TilewrightError):
        read_program(program, assumes=False)


def test_outputs_and_pictures_are_listed() -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "iVBOR" * 50, "text/plain": "x"}, "metadata": {}}
    printed = {"output_type": "stream", "name": "stdout", "text": ["1\n"]}
    text = notebook(
        markdown(f"![loops](data:image/png;base64,{'iVBOR' * 50})\nSee above.", attachments={"a.png": {"image/png": "x"}}),
        code(TWICE, [picture]), code("print(1)", [printed]), {"cell_type": "raw", "metadata": {}, "source": "% LaTeX"},
    )  # fmt: skip
    assert left_out(text) == [
        "cell 1, line 1: an embedded image is left out",
        "cell 1, line 1: the attached file 'a.png' is left out",
        "cell 2, line 1: the output of the cell (image/png, text/plain) is left out",
        "cell 3, line 1: the output of the cell (stream) is left out",
        "cell 4, line 1: the cell of kind 'raw' is left out",
    ]
    assert "iVBOR" not in content_of(text).pieces[0].text


@pytest.mark.parametrize(
    "cells",
    [
        "[1]",
        '{"a": 1}',
        '[{"cell_type": "code", "source": 1}]',
        '[{"cell_type": "code", "source": [1]}]',
        "[[]]",
        "null",
    ],
)
def test_a_damaged_notebook_is_refused(cells: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        unwrapped(f'{{"cells": {cells}, "nbformat": 4}}')
    assert caught.value.code == "bad-notebook"


def test_damaged_json_is_refused_with_its_line() -> None:
    with pytest.raises(TilewrightError) as caught:
        unwrapped('{"cells": [\n], "nbformat": 4,\n')
    place = caught.value.refusal.place
    assert caught.value.code == "bad-notebook" and place is not None and place.line == 3
