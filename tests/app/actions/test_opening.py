"""Opening a text: the program is parsed once, and the notebook equals one parsed from its own text."""

from __future__ import annotations

import pytest
from support.programs.sources import MATMUL, MATMUL_RELU

from tilewright.app.actions import opening
from tilewright.app.actions.opening import OpenText, as_notebook
from tilewright.app.actions.table import act
from tilewright.app.document import DEFAULT_MACHINE, converted, evaluate, read_document
from tilewright.app.document import workload as workloads
from tilewright.app.state.model import State
from tilewright.engine.ir import structural_equal
from tilewright.engine.script import Parsed, parse


@pytest.mark.parametrize("text", [MATMUL, MATMUL_RELU, "\ufeff" + MATMUL])
def test_a_plain_program_is_parsed_once_like_its_notebook(text: str, monkeypatch: pytest.MonkeyPatch):
    read: list[str] = []

    def counted(text: str, filename: str = "") -> Parsed:
        read.append(text)
        return parse(text, filename)

    for module in (opening, workloads):
        monkeypatch.setattr(module, "parse", counted)
    notebook = act(State(), OpenText(text)).notebook
    assert notebook is not None and notebook.schedule is not None and notebook.error is None
    assert len(read) == 1
    again = evaluate(read_document(as_notebook(text)))
    assert again.document.text == notebook.document.text
    assert again.schedule is not None and structural_equal(again.schedule.func, notebook.schedule.func)


def test_a_converted_document_carries_its_parsed_program():
    conversion = converted(read_document(MATMUL), DEFAULT_MACHINE)
    assert conversion.plain is not None
    assert evaluate(conversion.document, parsed=conversion.plain).program is conversion.plain.program
    assert converted(read_document(as_notebook(MATMUL)), DEFAULT_MACHINE).plain is None


NEEDY = (
    "from tvm import te\n\ndef scale(n, x: te.Tensor):\n    by = 2 if n > 4 else 3\n"
    "    return te.compute(x.shape, lambda i, j: x[i, j] * by, name='y')\n"
)


def test_a_program_that_needs_values_asks_for_them_and_opens_with_them():
    asked = act(State(), OpenText(NEEDY))
    assert asked.notebook is None and asked.notice is not None and asked.notice.choice is not None
    choice = asked.notice.choice
    assert [(f.name, f.what, f.example) for f in choice.fields] == [
        ("n", "size", "128"),
        ("x", "tensor", "16x16xfloat32"),
    ]
    values = {"n": "8", "x": "4x8xfloat32"}
    opened = act(asked, OpenText(NEEDY, program=choice.number, values=values))
    assert opened.notice is None and opened.notebook is not None and opened.notebook.schedule is not None


def test_a_text_whose_first_program_does_not_open_offers_the_others():
    text = NEEDY + "\ndef other(x: te.Tensor):\n    return te.compute(x.shape, lambda i, j: x[i, j], name='z')\n"
    asked = act(State(), OpenText(text))
    assert asked.notice is not None and asked.notice.choice is not None
    assert len(asked.notice.choice.programs) == 2
    second = act(asked, OpenText(text, program=2))
    assert second.notice is not None and second.notice.choice is not None
    assert second.notice.choice.number == 2 and [f.name for f in second.notice.choice.fields] == ["x"]
