"""A text with several tensor functions opens as one of them; the others are reached by number or name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.pasted.relax_modules import HEAD, KERNELS, MODEL, OPEN

from tilewright.app.actions.opening import OpenProgram, OpenText
from tilewright.app.actions.table import act
from tilewright.app.cli import main
from tilewright.app.document import converted, evaluate, read_document
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.notebook.file_status import OtherProgram
from tilewright.app.views.notebook.value import notebook_value
from tilewright.engine.execute import operation_count
from tilewright.engine.ir import IRModule, PrimFunc, structural_equal
from tilewright.engine.script import parse

MODULE = HEAD + KERNELS
LABELS = (
    "scale (16×16, 16×16 float32), 25.0 % of the operations",
    "again (16×16, 16×16 float32), 25.0 % of the operations",
    "both (16×16, 16×16, 16×16, 16×16 float32), 50.0 % of the operations",
)
APART = MODULE.split("class Module:\n")[0].replace("\n@I.ir_module\n", "\n") + "\n".join(
    line.removeprefix("    ") for line in KERNELS.split("\n")
)
"""The functions without a class around them."""


def name_of(state: State) -> str:
    assert state.notebook is not None and state.notebook.schedule is not None, state.notice
    return state.notebook.schedule.func.name


def functions_of(text: str) -> tuple[PrimFunc, ...]:
    program = parse(text).program
    assert isinstance(program, IRModule)
    return program.functions


def test_a_module_opens_its_first_function_and_offers_the_others() -> None:
    state = act(State(), OpenText(MODULE))
    assert name_of(state) == "scale" and state.post is not None and state.post.labels == LABELS
    (banner,) = notebook_value(state, Store(), {}).banners
    assert banner.text == f"The text has 3 functions. This is {LABELS[0]}."
    assert banner.others == tuple(OtherProgram(n, LABELS[n - 1]) for n in (2, 3)) and not banner.model


def test_each_function_number_opens_a_notebook_to_schedule() -> None:
    state = act(State(), OpenText(MODULE, "My kernels"))
    for number, func in enumerate(functions_of(MODULE), 1):
        state = act(state, OpenProgram(number))
        assert state.notebook is not None and state.notebook.error is None and state.title == "My kernels"
        assert structural_equal(parse(state.notebook.document.of_kind("workload")[0].body).program, func)
    assert act(state, OpenProgram(4)).notice is not None


def test_main_is_the_default_function() -> None:
    assert name_of(act(State(), OpenText(MODULE.replace("def both", "def main")))) == "main"


def test_functions_without_a_class_are_programs() -> None:
    state = act(State(), OpenText(APART))
    assert state.post is not None and [label.split(",")[0] for label in state.post.labels] == ["scale", "again", "both"]
    assert [name_of(act(state, OpenProgram(n))) for n in (1, 2, 3)] == ["scale", "again", "both"]


def test_a_notebook_of_a_module_opens_unchanged() -> None:
    text = f"# %% workload\n{MODULE}\n# %% schedule\nsch = tilewright.Schedule(Module)\nsch.work_on('both')\n"
    document = read_document(text)
    assert converted(document, "dual-bank-npu").document is document
    assert evaluate(document).error is None


def test_each_store_counts_once_per_iteration() -> None:
    assert [operation_count(func) for func in functions_of(MODULE)] == [512, 512, 1024]
    (relu,) = functions_of(OPEN)
    assert operation_count(relu) is None


@pytest.mark.parametrize(("program", "func"), [("#both", "both"), ("#2", "again"), ("#1", "scale")])
def test_import_accepts_a_function_name_or_number(program: str, func: str, tmp_path: Path) -> None:
    file, output = tmp_path / "module.py", tmp_path / "notebook.py"
    file.write_text(MODULE, encoding="utf-8")
    assert main(["import", f"{file}{program}", "-o", str(output)]) == 0
    notebook = evaluate(read_document(output.read_text(encoding="utf-8")))
    assert notebook.error is None and notebook.schedule is not None and notebook.schedule.func.name == func


def test_a_module_run_notes_the_other_functions_and_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "module.py"
    file.write_text(MODEL, encoding="utf-8")
    assert main(["run", str(file)]) == 0
    printed = capsys.readouterr().err
    assert f"{file}#2 is {LABELS[1]}" in printed and f"{file}#3 is {LABELS[2]}" in printed
    assert f"tilewright import {file} -o FOLDER makes a model" in printed
    assert main(["run", f"{file}#both"]) == 0 and "#2 is" not in capsys.readouterr().err


@pytest.mark.parametrize("program", ["#4", "#nothing"])
def test_an_unknown_function_is_refused_with_the_known_names(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "module.py"
    file.write_text(MODULE, encoding="utf-8")
    assert main(["run", f"{file}{program}"]) == 2
    assert "scale (1), again (2), both (3)" in capsys.readouterr().err


def test_another_name_in_a_file_of_one_program_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "one.py"
    file.write_text(converted(read_document(MODULE), "dual-bank-npu").document.text, encoding="utf-8")
    assert main(["run", f"{file}#scale_2"]) == 2
    assert "has one program" in capsys.readouterr().err


def test_a_listed_module_numbers_its_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "module.py"
    file.write_text(MODULE, encoding="utf-8")
    assert main(["import", str(file), "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{file}#{n}  {label}" for n, label in enumerate(LABELS, 1)]
    assert main(["import", str(file), "--list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["programs"] == list(LABELS)
