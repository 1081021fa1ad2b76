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
