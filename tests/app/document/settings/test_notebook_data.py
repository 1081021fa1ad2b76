"""`data = {...}` in a notebook, and --mean and --data, say what trip counts are: in the report, in tests, and on the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.sessions.pages import painted

import tilewright
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import ApplyFix, act
from tilewright.app.cli import main
from tilewright.app.document import evaluate, load_document, read_document
from tilewright.app.state.model import State
from tilewright.app.views.problems.value import SettingField, problems_value
from tilewright.app.views.shell.headline import figures
from tilewright.engine.hwsim import Report

NOTEBOOK = """\
# %% machine
machine = tilewright.machine("dual-bank-npu")

# %% workload
@T.prim_func(s_tir=True)
def rows(P: T.Buffer((65,), "int32"), V: T.Buffer((256,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("row"):
            vi = T.axis.spatial(64, i)
            Y[vi] = T.float32(0)
            for j in range(P[vi + 1] - P[vi]):
                Y[vi] = Y[vi] + V[P[vi] + j]

# %% schedule
sch = tilewright.Schedule(rows)
(i,) = sch.get_loops("row")
io, ii = sch.split(i, factors=[None, 8])
"""


def with_line(line: str) -> str:
    return NOTEBOOK.replace("# %% workload", f"{line}\n\n# %% workload")


def cycles_of(text: str) -> int:
    notebook = evaluate(read_document(text))
    assert notebook.error is None
    return tilewright.simulate(notebook).cycles


def test_the_line_sets_the_trip_counts() -> None:
    two, four, six = (cycles_of(with_line(f'data = {{"j": {mean}}}')) for mean in (2, 4, 6))
    assert 0 < four - two == six - four
    listed = f"data = {{'P': {[4 * n for n in range(65)]}}}"
    assert cycles_of(with_line(listed)) == cycles_of(with_line('data = {"P": 4}'))


def test_an_edited_line_keeps_the_program_until_its_data_changes() -> None:
    first = evaluate(read_document(with_line('data = {"j": 4}')))
    same = evaluate(read_document(with_line('data = {"j": 4}') + "\n"), first)
    other = evaluate(read_document(with_line('data = {"j": 2}')), same)
    without = evaluate(read_document(NOTEBOOK), other)
    assert same.program is first.program and same.states[-1] is first.states[-1]
    assert other.program is not same.program
    assert [getattr(n.program, "data", None) == () for n in (first, other, without)] == [False, False, True]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('data = {"nnz": 4}', "unknown-data"),
        ('data = {"j": "many"}', "bad-data"),
        ('data = {"P": open}', "bad-data"),
        ('data = {"P": [1, 2]}', "bad-data"),
        ('data = {"P": "offsets.npy"}', "bad-array"),
    ],
)
def test_an_invalid_line_is_named(line: str, code: str) -> None:
    notebook = evaluate(read_document(with_line(line)))
    assert notebook.error is not None and notebook.error.code == code
    assert notebook.error.refusal.place is not None and notebook.error.refusal.place.line == 4


def test_a_file_of_offsets_beside_the_notebook(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    np.save(folder / "offsets.npy", 4 * np.arange(65))
    np.save(tmp_path / "outside.npy", 4 * np.arange(65))
    np.save(folder / "pickled.npy", np.array([{}], object), allow_pickle=True)
    np.save(folder / "floats.npy", np.ones(65))
    np.save(folder / "long.npy", np.zeros(1 << 21, np.int64))
    (folder / "text.npy").write_text("no array", encoding="utf-8")
    file = folder / "rows.py"
    file.write_text(with_line('data = {"P": "offsets.npy"}'), encoding="utf-8")
    assert tilewright.simulate(tilewright.load(file)).cycles == cycles_of(with_line('data = {"j": 4}'))
    for name in ("../outside.npy", "pickled.npy", "floats.npy", "long.npy", "text.npy", "none.npy"):
        file.write_text(with_line(f'data = {{"P": "{name}"}}'), encoding="utf-8")
        error = evaluate(load_document(file)).error
        assert error is not None and error.code in ("bad-array", "no-such-file"), name


def test_the_command_line_gives_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, array = tmp_path / "rows.py", tmp_path / "offsets.npy"
    file.write_text(NOTEBOOK, encoding="utf-8")
    np.save(array, 4 * np.arange(65))
    assert main(["run", str(file)]) == 1
    shown = capsys.readouterr()
    assert shown.out.startswith("no cycles on dual-bank-npu, tested: Y equal") and "--mean P=16" in shown.err
    assert main(["check", str(file)]) == 1
    shown = capsys.readouterr()
    assert "unknown-trip-count" in shown.out and "ok    verified  tested" in shown.out
    cycles = cycles_of(with_line('data = {"P": 4}'))
    for options in (["--mean", "j=4"], ["--mean", "P=4"], ["--data", f"P={array}"]):
        assert main(["run", str(file), *options]) == 0
        text = capsys.readouterr().out
        assert f"{cycles:,} cycles with assumed data" in text, options
        assert "the cycles assume data" in text
    assert main(["check", str(file), "--mean", "j=4", "--data", "P=sorted,0..9"]) == 1
    for wrong in ("j", "j=", "j=-1", "=3"):
        assert main(["run", str(file), "--mean", wrong]) == 2


def test_the_page_asks_for_the_data() -> None:
    state, store = painted(act(State(), OpenText(NOTEBOOK)))
    (problem,) = [p for p in problems_value(state, store).problems if p.code == "unknown-trip-count"]
    (fix,) = problem.fixes
    assert fix.applicable and (fix.setting, fix.fields) == ("data", [SettingField("P", "16")])
    state = act(state, ApplyFix(('data = {"P": 4}',)))
    assert state.notebook is not None and dict(state.notebook.data) == {"P": 4}
    report = store.simulated(state)
    assert isinstance(report, Report)
    assert "the cycles assume data: P[x] = 4 * x" in figures(state, store)[0].hint
    state = act(state, ApplyFix(('data = {"P": [0, 1]}',)))
    assert state.notebook is not None and state.notebook.error is not None


def test_values_are_added_beside_others() -> None:
    state, _ = painted(act(State(), OpenText(with_line('data = {"P": "sorted"}'))))
    state = act(state, ApplyFix(('data = {"j": 4}',)))
    assert state.notebook is not None and dict(state.notebook.data) == {"P": "sorted", "j": 4}


def test_the_library_gives_data() -> None:
    program = evaluate(read_document(NOTEBOOK)).program
    assert program is not None
    known = tilewright.with_data(program, {"P": 4 * np.arange(65)})
    report = tilewright.simulate(tilewright.Schedule(known), "dual-bank-npu")
    assert report.assumed == ("the cycles assume data: P has the 65 given values",)
