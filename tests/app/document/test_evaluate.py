"""Notebook files are evaluated without being executed."""

from pathlib import Path

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines

from tilewright.app.document import Notebook, evaluate, read_document
from tilewright.engine.ir import PrimFunc, Var
from tilewright.engine.schedule import ScheduleError
from tilewright.engine.script import ParseError


def read(text: str) -> Notebook:
    return evaluate(read_document(text, "notebook.py"))


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_notebook_has_program_machine_schedule_and_names() -> None:
    notebook = read(MATMUL_NOTEBOOK)
    assert notebook.error is None
    assert isinstance(notebook.program, PrimFunc) and notebook.program.name == "matmul"
    assert notebook.machine is not None
    assert notebook.schedule is not None
    assert set(notebook.names) == {"C", "i", "j", "k", "ko", "ki"}
    assert notebook.names["C"] == "C"
    assert isinstance(notebook.names["ko"], Var) and notebook.names["ko"].name == "ko"
    assert [step.status for step in notebook.steps] == ["applied"] * 4
    assert len(notebook.states) == 5
    assert [notebook.schedule.trace.steps[s.first_trace_step or 0].method for s in notebook.steps] == [
        "get_block", "get_loops", "split", "reorder",
    ]  # fmt: skip


def test_a_refused_call_keeps_the_state_before_it_and_its_line() -> None:
    text = with_lines("sch.fuse(i, ki)", "sch.vectorize(j)")
    notebook = read(text)
    assert isinstance(notebook.error, ScheduleError)
    place = notebook.error.refusal.place
    assert place is not None
    assert (place.file, place.line, place.column) == ("notebook.py", line_of(text, "sch.fuse"), 1)
    assert [step.status for step in notebook.steps[-2:]] == ["failed", "skipped"]
    good = read(MATMUL_NOTEBOOK)
    assert notebook.schedule is not None and good.schedule is not None
    assert len(notebook.schedule.trace) == len(good.schedule.trace)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("sch.no_such_method(i)", "unknown-method"),
        ("sch.undo()", "unknown-method"),
        ("sch.copy()", "unknown-method"),
        ("sch.__init__(i)", None),
        ("sch.split(nobody, factors=[2, None])", "unknown-name"),
        ("other.split(i, factors=[2, None])", None),
        ("sch.split()", "bad-arguments"),
        ("sch.split(i, 2, 3, 4, 5, 6, 7)", "bad-arguments"),
        ("sch.split(i, factors=3)", None),
        ("a, b, c = sch.split(i, factors=[2, None])", "wrong-number-of-names"),
        ("x = sch.get_loops(C)[17]", "bad-index"),
        ("import os", None),
        ("sch.bind(i, open('/etc/passwd'))", None),
        ("sch.split(i, factors=[2, ", None),
        ("x = 3 ** 3 ** 3 ** 3", None),
    ],
)
def test_a_line_outside_the_subset_is_an_error_at_its_line(line: str, code: str | None) -> None:
    text = with_lines(line)
    notebook = read(text)
    assert notebook.error is not None
    assert notebook.error.refusal.place is not None
    assert notebook.error.refusal.place.line == line_of(text, line)
    assert code is None or notebook.error.code == code
    assert notebook.document.text == text
    assert notebook.schedule is not None


def test_a_broken_workload_reports_the_line_of_the_file() -> None:
    text = MATMUL_NOTEBOOK.replace("C[vi, vj] + A", "C[vi, vj] + Q")
    notebook = read(text)
    assert isinstance(notebook.error, ParseError)
    assert notebook.error.refusal.place is not None
    assert notebook.error.refusal.place.line == line_of(text, "+ Q")
    assert notebook.schedule is None


def test_a_changed_machine_parameter_is_applied() -> None:
    text = MATMUL_NOTEBOOK.replace(
        "\n# %% workload", '\nmachine = machine.replace("memories.vtcm.banks", 4)\n# %% workload'
    )
    notebook, plain = read(text), read(MATMUL_NOTEBOOK)
    assert notebook.error is None
    assert notebook.machine != plain.machine


@pytest.mark.parametrize(
    "line",
    [
        'machine = tilewright.machine("no-such-machine")',
        "machine = exec('1')",
        "machine = 3",
        "machine = sch.machine('x')",
    ],
)
def test_a_bad_machine_line_keeps_the_schedule(line: str) -> None:
    text = MATMUL_NOTEBOOK.replace('machine = tilewright.machine("dual-bank-npu")', line)
    notebook = read(text)
    assert notebook.error is not None and notebook.error.refusal.place is not None
    assert notebook.error.refusal.place.line == line_of(text, line)
    assert notebook.machine is None
    assert notebook.schedule is not None and len(notebook.steps) == 4


def test_a_machine_file_beside_the_notebook_is_found(tmp_path: Path) -> None:
    import tilewright.static

    source = Path(tilewright.static.__file__).parent / "machines" / "dual-bank-npu.toml"
    (tmp_path / "mine.toml").write_text(source.read_text())
    text = MATMUL_NOTEBOOK.replace('"dual-bank-npu"', '"mine.toml"')
    notebook = evaluate(read_document(text, str(tmp_path / "notebook.py")))
    assert notebook.error is None and notebook.machine is not None


def test_a_plain_tvmscript_file_is_the_program() -> None:
    from support.programs.sources import MATMUL

    notebook = read(MATMUL)
    assert notebook.error is None
    assert notebook.schedule is not None and len(notebook.schedule.trace) == 0


@pytest.mark.parametrize(
    "text", ["", "x = 1\n", "# %% schedule\nsch = tilewright.Schedule(f)\n", "\0", "# %% workload\n" * 2, "(" * 100_000]
)
def test_a_notebook_without_a_program_is_an_error(text: str) -> None:
    notebook = read(text)
    assert notebook.error is not None
    assert notebook.program is None and notebook.schedule is None


def test_handles_of_unchanged_lines_are_reused() -> None:
    before = read(MATMUL_NOTEBOOK)
    after = evaluate(read_document(with_lines("sch.vectorize(j)"), "notebook.py"), before)
    assert after.error is None
    assert after.program is before.program
    assert after.names["ko"] is before.names["ko"]
    assert after.states[: len(before.states)] == before.states
    fresh = read(with_lines("sch.vectorize(j)"))
    assert [s.status for s in fresh.steps] == [s.status for s in after.steps]


def test_an_early_edit_replays_the_later_lines() -> None:
    before = read(MATMUL_NOTEBOOK)
    after = evaluate(read_document(MATMUL_NOTEBOOK.replace("[None, 32]", "[None, 16]"), "notebook.py"), before)
    assert after.error is None
    assert after.names["i"] is before.names["i"]
    assert after.names["ko"] is not before.names["ko"]
    assert [s.status for s in after.steps] == ["applied"] * 4


def test_lines_using_a_number_that_a_python_cell_changes_are_refused() -> None:
    text = (
        MATMUL_NOTEBOOK.rstrip()
        + "\n\n# %% schedule\ntile = 8\n\n# %%\ntile = 16\n\n# %% schedule\nsch.split(j, factors=[None, tile])\n"
    )
    notebook = read(text)
    assert notebook.error is not None and notebook.error.refusal.code == "rebound"
    place = notebook.error.refusal.place
    assert place is not None and place.line == line_of(text, "[None, tile]")
    assert read(text.replace("tile = 16", "other = 16")).error is None
    assert read(text.replace("sch.split(j", "tile = 4\nsch.split(j")).error is None
