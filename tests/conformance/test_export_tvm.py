"""The exported Python, run with real TVM, gives the schedule's program."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.profile import few, samples
from support.programs.intrins import cut_out
from support.programs.random_programs import programs
from support.programs.sources import MATMUL, MATMUL_RELU
from support.schedules.calls import apply, calls
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines
from support.tvm.oracle import REFUSALS, assert_same_program
from support.tvm.passes import tvm_lowered
from support.tvm.recorded import agreed

import tilewright
import tilewright.static
from tilewright.app.document import evaluate, load_document, read_document
from tilewright.engine.adopt import is_hole
from tilewright.engine.export import to_tvm_python, tvm_losses, with_pipelines
from tilewright.engine.export.tvm import without_separators
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

pytestmark = pytest.mark.tvm

OPTIONAL = "optional access"

EXAMPLES = sorted((Path(tilewright.static.__file__).parent / "examples").glob("*.py"))
HAND = Path(__file__).parents[1] / "hand"


def run(text: str, folder: Path, name: str = "exported.py") -> Any:
    """The `sch` that the exported file leaves."""
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return runpy.run_path(str(file))["sch"]


def assert_exports(sch: Schedule, folder: Path, names: Any = None, name: str = "exported.py") -> str:
    text, ours = to_tvm_python(sch, names), to_script(without_separators(sch.mod))
    agreed(f"{text}\n{ours}", lambda: assert_same_program(ours, run(text, folder, name).mod))
    return text


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: f.stem)
def test_examples_export(file: Path, tmp_path: Path) -> None:
    notebook = evaluate(load_document(file))
    assert notebook.error is None and notebook.schedule is not None
    text = assert_exports(notebook.schedule, tmp_path, notebook.names)
    for step in notebook.steps:
        for target in step.call.targets if not is_hole(step.call) else ():  # a choice is written where it is used
            assert target in text, "the variables of the notebook are kept"


def test_notebook_with_every_kind_of_line(tmp_path: Path) -> None:
    lines = (
        "jo, ji = sch.split(j, factors=[None, 16])",
        "sch.reorder(i, jo, ko, ki, ji)",
        "sch.vectorize(ji)",
        'AL = sch.cache_read(C, 0, "local", consumer_blocks=[C])',
        "sch.compute_at(AL, ko, preserve_unit_loops=True)",
        'sch.annotate(AL, "note", [1, "two"])',
        'CL = sch.cache_write("C", 0, "local")',
        "sch.reverse_compute_at(CL, jo)",
        'sch.bind(i, "blockIdx.x")',
        "init = sch.decompose_reduction(C, ko)",
        "sch.double_buffer(AL)",
        "sch.double_buffer(C)",
        'sch.transform_layout(AL, ("write", 0), lambda a, b: [b // 8, tilewright.AXIS_SEPARATOR, a, b % 8])',
    )
    notebook = evaluate(read_document(with_lines(*lines)))
    assert notebook.error is None, notebook.error
    assert notebook.schedule is not None
    text = assert_exports(notebook.schedule, tmp_path, notebook.names)
    assert "AXIS_SEPARATOR" in text and "double_buffer" in text, "what TVM lacks is said in comments"
    assert "init = sch.decompose_reduction(C, ko)" in text


def test_handles_that_no_call_gave_are_looked_up(tmp_path: Path) -> None:
    sch = Schedule(parse(MATMUL_RELU).program)
    loops = {f.loop_var.name: f.loop_var for f in sch.index.loops_of("matmul")}
    sch.split(loops["i"], factors=[None, 16])
    sch.split(loops["j"], factors=[None, 8])
    sch.unroll(loops["k"])
    text = assert_exports(sch, tmp_path)
    assert "sch.get_loops(matmul)[0]" in text


def test_the_default_function_and_modules_of_several(tmp_path: Path) -> None:
    text = MATMUL_NOTEBOOK.replace("print(sch.mod)", "")
    notebook = evaluate(read_document(text))
    assert notebook.schedule is not None
    sch = run(tilewright.to_tvm_python(notebook), tmp_path)
    assert [v.name_hint for v in sch.mod.get_global_vars()] == ["matmul"]


@few(5)
@given(st.data())
def test_random_schedules_export(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Whatever we accept and TVM accepts too is the same program after the export."""
    sch = Schedule(data.draw(programs()))
    assume(all(not b.dtype.startswith("uint") for b in sch.func.buffers))  # TVM's simplifier fails on x - x of those
    for _ in range(data.draw(st.integers(1, 5))):
        try:
            apply(sch, data.draw(calls(sch)))
        except ScheduleError:
            continue
    assume(len(sch.trace))
    text = to_tvm_python(sch)
    try:
        theirs = run(text, tmp_path_factory.mktemp("export"))
    except REFUSALS:
        assume(False)
        raise
    except RuntimeError as error:
        # TVM asks for a value that is not there while it says why it refuses (compute_at under a loop of a layout with padding):
        # a fault of its own that leaves as no refusal does.
        assert OPTIONAL in str(error), error
        assume(False)
        raise
    assert_same_program(to_script(without_separators(sch.mod)), theirs.mod)


STAGES = """@T.prim_func(s_tir=True)
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32"), D: T.Buffer((16,), "float32")):
    X = T.sblock_alloc_buffer((16,))
    Y = T.sblock_alloc_buffer((16,))
    for i in range(16):
        with T.sblock("X"):
            vi = T.axis.spatial(16, i)
            X[vi] = A[vi] + T.float32(1)
    for i in range(16):
        with T.sblock("C"):
            vi = T.axis.spatial(16, i)
            C[vi] = X[vi] * T.float32(2)
    for i in range(8):
        with T.sblock("Y"):
            vi = T.axis.spatial(8, i)
            Y[vi] = A[vi]
    for i in range(8):
        with T.sblock("D"):
            vi = T.axis.spatial(8, i)
            T.reads(Y[vi:vi + {read}])
            T.writes(D[vi])
            D[vi] = Y[vi]
"""

OVERWRITTEN = """\
    for i in range(8):
        with T.sblock("E"):
            vi = T.axis.spatial(8, i)
            Y[vi] = A[vi]
"""


@pytest.mark.parametrize(
    ("read", "more", "continues"),
    [(1, "", False), (9, "", True), (1, OVERWRITTEN, True)],
    ids=["a stage pipeline", "a read that is not written", "a buffer that is overwritten"],
)
@pytest.mark.parametrize(
    "move",
    [
        pytest.param(lambda sch: sch.compute_at("X", sch.get_loops("C")[0]), id="compute_at"),
        pytest.param(lambda sch: sch.reverse_compute_at("C", sch.get_loops("X")[0]), id="reverse_compute_at"),
        pytest.param(lambda sch: sch.compute_inline("X"), id="compute_inline"),
    ],
)
def test_export_continues_after_a_move_in_a_scope_without_stages(
    move: Callable[[Schedule], None], read: int, more: str, continues: bool, tmp_path: Path
) -> None:
    sch = Schedule(STAGES.format(read=read) + more)
    move(sch)
    assert ("requires a scope" in assert_exports(sch, tmp_path)) == continues


def test_given_a_loop_above_a_tensorized_block_when_it_is_needed_then_the_block_is_looked_up(tmp_path: Path) -> None:
    """TVM's tensorize returns nothing, so no variable holds the block that it makes."""
    sch = Schedule(parse(MATMUL_RELU).program)
    i, j = (loop.loop_var for loop in sch.index.loops_above(sch.index.realize("relu")))
    sch.tensorize(j, cut_out(sch, j))
    sch.parallel(i)
    assert 'get_sblock("relu_o")' in assert_exports(sch, tmp_path)


def test_no_calls(tmp_path: Path) -> None:
    sch = Schedule(parse(MATMUL).program)
    assert_exports(sch, tmp_path)


@pytest.mark.parametrize("name", samples(["vtcm_double_buffer", "gemmini_gemm", "vta_gemm"], "vta_gemm"))
def test_slots_that_the_export_loses_are_kept_by_pipelines(name: str, tmp_path: Path) -> None:
    schedule = evaluate(load_document(next(file for file in EXAMPLES if file.stem == name))).schedule
    assert schedule is not None
    piped = with_pipelines(schedule)[0]
    (lost,) = (loss.items for loss in tvm_losses(schedule) if loss.kind == "slots")
    before, after = (_allocated(each, lost, tmp_path) for each in (schedule, piped))
    assert len(before) == len(lost)
    assert after == {buffer: [2, *shape] for buffer, shape in before.items()}


def test_slots_that_the_export_loses_are_those_without_a_slot_axis_in_tvm(tmp_path: Path) -> None:
    schedule = evaluate(load_document(HAND / "gemm" / "gemmini_int8.py")).schedule
    assert schedule is not None
    (all_slots,) = (loss.items for loss in tvm_losses(schedule) if loss.kind == "slots")
    for piped in with_pipelines(schedule):
        shapes = _allocated(piped, all_slots, tmp_path)
        lost = [loss.items for loss in tvm_losses(piped) if loss.kind == "slots"]
        assert {b for items in lost for b in items} == {b for b in all_slots if len(shapes[b]) == 2}


def _allocated(schedule: Schedule, buffers: tuple[str, ...], folder: Path) -> dict[str, list[int]]:
    """The shapes that TVM allocates for the buffers once its software pipelines are made."""
    text = tvm_lowered(run(to_tvm_python(schedule), folder).mod, "InjectSoftwarePipeline").script()
    names = {buffer.replace(".", "_"): buffer for buffer in buffers}
    found = re.findall(r"(\w+) = T.sblock_alloc_buffer\(\(([^)]*)\)", text)
    return {names[name]: [int(n) for n in shape.split(",")] for name, shape in found if name in names}
