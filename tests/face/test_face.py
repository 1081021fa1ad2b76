"""The public names of the library."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.programs.sources import MATMUL, MATMUL_RELU
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.searching import DOUBLE

import tilewright
from tilewright.engine.ir import structural_equal


def test_parse_schedule_print_simulate_verify_export() -> None:
    program = tilewright.parse(MATMUL)
    assert isinstance(program, tilewright.PrimFunc)
    sch = tilewright.Schedule(program)
    block = sch.get_sblock("C")
    i, j, k = sch.get_loops(block)
    ko, ki = sch.split(k, factors=[None, 32], names=["ko", "ki"])
    sch.reorder(ko, i, j, ki)
    again = tilewright.parse(tilewright.to_script(sch))
    assert structural_equal(again, sch.mod)
    assert tilewright.verify(sch).status == "tested"
    assert "sch.split(k, factors=[None, 32])" in tilewright.to_tvm_python(sch)


def test_a_lower_access_limit_omits_cache_stalls() -> None:
    program = tilewright.parse(MATMUL.replace("128", "16"))
    report = tilewright.simulate(program, "cpu-core", max_accesses=10)
    assert [f.code for f in report.findings if f.code == "caches-left-out"] == ["caches-left-out"]
    assert "caches-left-out" not in [f.code for f in tilewright.simulate(program, "cpu-core").findings]


def test_a_module_parses_to_a_module() -> None:
    assert isinstance(tilewright.parse(MATMUL_RELU), tilewright.IRModule)


def test_errors_are_data() -> None:
    with pytest.raises(tilewright.ParseError) as caught:
        tilewright.parse("@T.prim_func\ndef f(:\n", "f.py")
    assert caught.value.refusal.place is not None and caught.value.refusal.place.line == 2
    sch = tilewright.Schedule(tilewright.parse(MATMUL))
    with pytest.raises(tilewright.ScheduleError) as refused:
        sch.get_block("nobody")
    assert refused.value.code == "unknown-block"


def test_load_and_machines(tmp_path: Path) -> None:
    file = tmp_path / "notebook.py"
    file.write_text(MATMUL_NOTEBOOK)
    notebook = tilewright.load(file)
    assert notebook.error is None
    assert notebook.machine == tilewright.machine("dual-bank-npu")
    assert {"dual-bank-npu", "matrix-vector-npu"} <= set(tilewright.machines())
    assert "ko, ki = sch.split" in tilewright.to_tvm_python(notebook)


MAKER = """import tvm
from tvm.script import tir as T
def make(rows):
    @T.prim_func
    def double(a: T.Buffer((rows,), "float32"), b: T.Buffer((rows,), "float32")):
        for i in range(rows):
            with T.block("b"):
                vi = T.axis.spatial(rows, i)
                b[vi] = a[vi] * T.float32(2)
    return double
"""
SCHEDULED = 'sch = tvm.tir.Schedule(make(64))\n(i,) = sch.get_loops("b")\nsch.parallel(i)\n'
POST = f"Hello, this is my kernel.\n\n```python\n{MAKER}{SCHEDULED}```\n"


def test_load_converts_other_texts_as_the_command_line_does(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": MAKER + SCHEDULED}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    folder = tmp_path / "kernels"
    folder.mkdir()
    texts = {"post.md": POST, "cells.ipynb": json.dumps(notebook), "kernels/kernel.py": MAKER + SCHEDULED}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for file in (*(tmp_path / name for name in texts), folder):
        found = tilewright.load(file)
        assert found.error is None and [step.status for step in found.steps] == ["applied"] * 2
    (tmp_path / "maker.py").write_text(MAKER)
    made = tilewright.load(tmp_path / "maker.py", "make.double", sizes={"rows": 32}).program
    assert isinstance(made, tilewright.PrimFunc) and "T.Buffer((32,)" in tilewright.to_script(made)
    with pytest.raises(tilewright.DocumentError, match="no-such-program"):
        tilewright.load(tmp_path / "post.md", 7)


def test_an_error_of_a_converted_text_is_that_of_the_notebook(tmp_path: Path) -> None:
    file = tmp_path / "kernel.py"
    file.write_text(MAKER)
    error = tilewright.load(file).error
    assert error is not None and error.code == "missing-values"
    file.write_text(MAKER + SCHEDULED.replace("parallel(i)", "parallel(i, 3)"))
    assert tilewright.load(file).error is not None


def test_read_pasted_reads_posts_too() -> None:
    assert [step.method for step in tilewright.read_pasted(POST).schedule.trace.steps] == ["get_loops", "parallel"]
    assert tilewright.read_pasted("\ufeff" + MAKER + SCHEDULED).schedule.trace.steps


def test_the_library_does_not_import_the_app() -> None:
    code = "import sys, tilewright, tilewright.app.cli; print([m for m in ('panel', 'bokeh', 'param', 'tvm') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


DECORATED = """
from tilewright.script import ir as I, tirx as T

@T.prim_func(s_tir=True, private=True)
def double(A: T.Buffer((8,), "float32"), B: T.Buffer((T.int64(8),), "float32")) -> None:
    for i in T.serial(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] + T.float32(1)

def make():
    @T.prim_func
    def inner(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.sblock("A"):
                vi = T.axis.spatial(8, i)
                A[vi] = T.float32(1)
    return inner

made = make()
"""


def test_decorated_python_is_parsed_from_its_source(tmp_path: Path) -> None:
    import runpy

    file = tmp_path / "programs.py"
    file.write_text(DECORATED)
    found = runpy.run_path(str(file))
    assert isinstance(found["double"], tilewright.PrimFunc) and found["double"].name == "double"
    assert isinstance(found["Module"], tilewright.IRModule) and found["Module"]["main"].name == "main"
    assert isinstance(found["made"], tilewright.PrimFunc) and found["made"].name == "inner"


def test_an_error_in_decorated_python_has_the_files_line(tmp_path: Path) -> None:
    import runpy

    file = tmp_path / "programs.py"
    file.write_text(DECORATED.replace("A[vi] + T.float32(1)", "A[vi] + nothing"))
    with pytest.raises(tilewright.ParseError) as caught:
        runpy.run_path(str(file))
    place = caught.value.refusal.place
    assert place is not None
    assert place.line == DECORATED.splitlines().index("                B[vi] = A[vi] + T.float32(1)") + 1
    assert Path(place.file).name == "programs.py"


def test_missing_source_is_an_error() -> None:
    with pytest.raises(tilewright.TilewrightError) as caught:
        exec(compile(DECORATED, "<nowhere>", "exec"), {"__name__": "nowhere"})
    assert caught.value.code == "no-source"


def test_the_repr_is_short(tmp_path: Path) -> None:
    program = tilewright.parse(MATMUL)
    sch = tilewright.Schedule(program)
    loops = sch.get_loops("C")
    assert repr(sch) == "<Schedule of 'matmul' after no calls>"
    for factor in (2, 3, 4, 5, 6, 7, 8, 9):
        loops = sch.split(sch.get_loops("C")[-1], factors=[None, factor])
    assert repr(sch).startswith("<Schedule of 'matmul' after 2 calls, split, ")
    machine = tilewright.machine("dual-bank-npu")
    with pytest.raises(tilewright.ScheduleError) as refused:
        sch.fuse(loops[1], loops[0])
    file = tmp_path / "notebook.py"
    file.write_text(MATMUL_NOTEBOOK)
    values = (program, sch, sch.mod, machine, tilewright.simulate(sch, machine), sch.verify(), tilewright.load(file))
    for value in (*values, sch.get("C"), sch.get(loops[0]), refused.value.refusal):
        assert len(repr(value)) < 400 and "\n" not in repr(value), repr(value)
    assert "A: float32[128, 128]" in repr(program) and "local.vtcm" in repr(machine)


def test_a_program_is_a_schedule_without_calls() -> None:
    for text in (MATMUL, MATMUL_RELU):
        program = tilewright.parse(text)
        report = tilewright.simulate(program, "dual-bank-npu")
        assert report.cycles == tilewright.simulate(tilewright.Schedule(program), "dual-bank-npu").cycles
        assert tilewright.verify(program).status == "tested"
        compile(tilewright.to_tvm_python(program), "exported.py", "exec")


def test_an_object_that_is_no_program_is_refused() -> None:
    for wrong in (None, 3):
        for door in (
            tilewright.Schedule,
            tilewright.verify,
            tilewright.to_script,
            tilewright.to_tvm_python,
            tilewright.to_c,
        ):
            with pytest.raises((TypeError, tilewright.TilewrightError), match=r"IRModule or a PrimFunc|not-a-program"):
                door(wrong)  # pyright: ignore[reportArgumentType]
    program = tilewright.parse(MATMUL)
    with pytest.raises(tilewright.ScheduleError, match="unknown-function"):
        tilewright.Schedule(program, "nobody")
    with pytest.raises(tilewright.TilewrightError, match="unknown-dialect"):
        tilewright.to_script(program, "fortran")  # pyright: ignore[reportArgumentType]


def test_lints_of_a_schedule_do_not_import_the_app(tmp_path: Path) -> None:
    sch = tilewright.Schedule(tilewright.parse(MATMUL))
    (finding,) = tilewright.lint(sch, "dual-bank-npu")
    assert finding.code == "scalar-engine" and finding.fixes[0].cycles < (finding.fixes[0].cycles_before or 0)
    file = tmp_path / "notebook.py"
    file.write_text(MATMUL_NOTEBOOK)
    notebook = tilewright.load(file)
    assert [f.message for f in tilewright.lint(notebook)] == [
        f.message for f in tilewright.lint(notebook, notebook.machine)
    ]
    with pytest.raises(tilewright.TilewrightError, match="no-machine"):
        tilewright.lint(sch)


def test_importing_loads_nothing_until_a_name_is_used() -> None:
    code = """if True:
        import sys
        before = {*sys.modules}
        import tilewright
        print(sorted({*sys.modules} - before))
        tilewright.parse
        print("tilewright.engine.script" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "['tilewright']\nTrue\n"


def test_dir_and_star_import_have_every_name() -> None:
    namespace: dict[str, object] = {}
    exec("from tilewright import *", namespace)
    names = set(tilewright.__all__)
    assert len(names) == len(tilewright.__all__) > 50
    assert names <= namespace.keys() and {*names, "__version__", "engine"} <= {*dir(tilewright)}
    assert tilewright.parse is namespace["parse"] and tilewright.engine.__name__ == "tilewright.engine"


def test_an_unknown_name_raises_attribute_error() -> None:
    for name in ("pasre", "_parse", "annotations", "np"):
        with pytest.raises(AttributeError, match=f"'tilewright' has no attribute '{name}'"):
            getattr(tilewright, name)


def test_the_old_name_of_derive_space_works_with_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "double.py"
    file.write_text(DOUBLE)
    program = tilewright.load(file).program
    assert program is not None
    with pytest.warns(DeprecationWarning, match="derive_space"):
        old = tilewright.auto_space(program, "dual-bank-npu")
    assert old.text == tilewright.derive_space(program, "dual-bank-npu").text


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert tilewright.__version__ == project["version"]
