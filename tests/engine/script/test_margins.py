"""Texts copied from inside of other code: all lines have a margin, or all but the first one."""

from __future__ import annotations

import textwrap

import pytest
from support.programs.sources import MATMUL

from tilewright.engine.ir import TilewrightError, structural_equal
from tilewright.engine.script import parse

PROGRAM = MATMUL[MATMUL.index("@T.prim_func") :]
DECORATOR, _, FUNCTION = PROGRAM.partition("\n")


@pytest.mark.parametrize(
    "text",
    [
        textwrap.indent(PROGRAM, "    "),
        textwrap.indent(PROGRAM, "\t"),
        f"{DECORATOR}\n{textwrap.indent(FUNCTION, '        ')}",
        f"# a comment\n{textwrap.indent(PROGRAM, '  ')}",
        f"\n{DECORATOR}\n\n{textwrap.indent(FUNCTION, '    ')}# the end\n",
    ],
    ids=["all lines", "tabs", "the first line lost it", "a comment without it", "blank lines"],
)
def test_a_margin_is_passed_over_with_a_note(text: str) -> None:
    found = parse(text)
    assert structural_equal(found.program, parse(PROGRAM).program)
    assert [note.text for note in found.notes] == ["the margin of the lines is passed over"]


def test_an_error_in_a_text_with_a_margin_has_its_place() -> None:
    with pytest.raises(TilewrightError) as caught:
        parse(textwrap.indent(PROGRAM.replace("A[vi, vk] *", "unknown *"), "      "))
    place = caught.value.refusal.place
    lines = textwrap.indent(PROGRAM.replace("A[vi, vk] *", "unknown *"), "      ").splitlines()
    assert place is not None
    assert lines[place.line - 1][place.column - 1 : place.end_column - 1] == "unknown"


@pytest.mark.parametrize(
    "text",
    [
        f"x = 1\ny = 2\n{textwrap.indent(PROGRAM, '    ')}",
        f"{textwrap.indent(PROGRAM, '    ')}\nx = 1\n",
        f"{textwrap.indent(PROGRAM, '    ')}  x = 1\n",
    ],
    ids=["statements before", "a statement after", "a smaller margin"],
)
def test_uneven_margins_are_refused(text: str) -> None:
    with pytest.raises(TilewrightError, match="the text is not Python"):
        parse(text)
