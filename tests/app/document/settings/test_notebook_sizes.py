"""`sizes = {...}` in a notebook sets the sizes for simulation and tests."""

from __future__ import annotations

import pytest
from support.programs.te_sources import MATMUL_VTCM
from support.sessions.pages import painted

import tilewright
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ApplyFix, act
from tilewright.app.actions.text_edits import EditCell
from tilewright.app.cli import main
from tilewright.app.document import converted, evaluate, read_document
from tilewright.app.state.derived import VERDICT
from tilewright.app.state.model import State
from tilewright.app.views.inspector.value import held_buffers
from tilewright.app.views.problems.value import problems_value
from tilewright.app.views.shell.headline import figures
from tilewright.engine.hwsim import Report

LINE = 'sizes = {"M": 256, "K": 512, "N": 256}'
NOTEBOOK = converted(read_document(MATMUL_VTCM), "dual-bank-npu").document.text


def opened(text: str) -> State:
    state = act(State(), OpenText(text))
    assert state.notice is None
    return state


def test_missing_sizes_offer_the_line_that_sets_them() -> None:
    state, store = painted(opened(NOTEBOOK))
    (problem,) = [p for p in problems_value(state, store).problems if p.code == "missing-sizes"]
    (fix,) = problem.fixes
    assert fix.applicable and fix.calls == ('sizes = {"M": 256, "K": 256, "N": 256}',)
    state = act(state, ApplyFix(tuple(fix.calls)))
    assert state.notebook is not None and dict(state.notebook.sizes) == {"M": 256, "K": 256, "N": 256}
    assert f'machine("dual-bank-npu")\n{fix.calls[0]}\n' in state.notebook.document.text
    assert isinstance(store.simulated(state), Report)
    assert figures(state, store)[0].value != "–"


@pytest.mark.sample(1)
@pytest.mark.parametrize("cell", ["machine", "schedule"])
def test_sizes_in_a_cell_apply_to_report_and_tiles(cell: str) -> None:
    state, store = painted(opened(NOTEBOOK.replace(f"# %% {cell}\n", f"# %% {cell}\n{LINE}\n")))
    report = store.simulated(state)
    assert isinstance(report, Report)
    assert report.memory["local.vtcm[0]"].peak_bytes == 2 * 64 * 128 * 4
    assert state.moment is not None
    held = held_buffers(state, state.moment.schedule.func, store)
    assert {b.name: a.tile for b, a in held.items()}["A_local.vtcm"] == (64, 128)


def test_edited_sizes_give_another_report() -> None:
    state, store = painted(opened(NOTEBOOK.replace("# %% machine\n", f"# %% machine\n{LINE}\n")))
    first = store.simulated(state)
    body = state.notebook.document.cells[0].body.replace("512", "1024") if state.notebook else ""
    second = store.simulated(act(state, EditCell(0, body)))
    assert isinstance(first, Report) and isinstance(second, Report) and second.cycles > first.cycles


@pytest.mark.parametrize(
    ("line", "code"),
    [('sizes = {"Q": 3}', "unknown-size"), ('sizes = {"M": 0}', "bad-size"), ('sizes = {"M": "many"}', "bad-sizes")],
)
def test_an_invalid_sizes_line_is_named(line: str, code: str) -> None:
    notebook = evaluate(read_document(NOTEBOOK.replace("# %% machine\n", f"# %% machine\n{line}\n")))
    assert notebook.error is not None and notebook.error.code == code
    assert notebook.error.refusal.place is not None and notebook.error.refusal.place.line == 2


@pytest.mark.slow
def test_sizes_of_a_notebook_apply_in_library_and_command_line(tmp_path, capsys) -> None:
    file = tmp_path / "sized.py"
    file.write_text(NOTEBOOK.replace("# %% machine\n", f"# %% machine\n{LINE}\n"), encoding="utf-8")
    notebook = tilewright.load(file)
    cycles = tilewright.simulate(notebook).cycles
    assert tilewright.verify(notebook, sizes={"M": 70, "K": 40, "N": 66}).status == "tested"
    assert main(["run", str(file)]) == 0
    assert f"{cycles:,} cycles" in capsys.readouterr().out
    assert main(["run", str(file), "--size", "K=1024"]) == 0
    assert f"{cycles:,} cycles" not in capsys.readouterr().out
    assert main(["lower", str(file), "--sizes", "M=64,K=128", "--size", "N=64"]) == 0
    assert 'T.alloc_buffer((8192,), scope="local.vtcm")' in capsys.readouterr().out


def test_a_run_without_sizes_names_the_option(tmp_path, capsys) -> None:
    file = tmp_path / "te.py"
    file.write_text(MATMUL_VTCM, encoding="utf-8")
    assert main(["run", str(file)]) == 2
    assert "--size M=256 --size K=256 --size N=256" in capsys.readouterr().err
    assert main(["run", str(file), "--size", "M=-1"]) == 2
    assert "'M=-1' is not NAME=NUMBER" in capsys.readouterr().err


def test_missing_sizes_are_reported_only_once() -> None:
    state, store = painted(opened(NOTEBOOK))
    assert state.moment is not None
    schedule = state.moment.schedule
    store.keep(VERDICT(schedule.func, {}), schedule.verify())
    assert [p.code for p in problems_value(state, store).problems] == ["missing-sizes"]
