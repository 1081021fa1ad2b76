"""The examples behave as their text says, and Python and the app evaluate them equally."""

from __future__ import annotations

import re
import runpy
from functools import cache
from pathlib import Path

import pytest

import tilewright
import tilewright.static
from tilewright.app.document import evaluate, load_document, read_document
from tilewright.engine.ir import IntImm
from tilewright.engine.lower import allocations

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "examples.md"
FOLDER = Path(tilewright.static.__file__).parent / "examples"
STEP = r"step \d+: .*"
NAMES = sorted(file.stem for file in FOLDER.glob("*.py"))
LARGE = {"ascend_gemm_cores", "tilelang_gemm_a100"}
"""Products for a whole chip, which take too long to run."""
SAMPLED = [
    pytest.param(name, marks=() if name in ("fused_matmul_relu", "vtcm_double_buffer") else pytest.mark.slow)
    for name in NAMES
]


@cache
def notebook(name: str) -> tilewright.Notebook:
    found = evaluate(load_document(FOLDER / f"{name}.py"))
    assert found.error is None, found.error
    return found


@cache
def report(name: str) -> tilewright.Report:
    return tilewright.simulate(notebook(name))


def shapes(name: str) -> dict[str, tuple[list[int], list[int], int]]:
    """Buffer -> (tile, lowered shape, slots)."""
    schedule = notebook(name).schedule
    assert schedule is not None
    return {
        a.buffer.name: (
            list(a.tile),
            [s.value for s in a.lowered.shape if isinstance(s, IntImm)],
            a.slots,
        )
        for a in allocations(schedule.func)
    }


def crossings(name: str, buffer: str) -> int:
    """Bytes of a buffer copied to or from global memory."""
    return sum(t.bytes for t in report(name).traffic if t.buffer == buffer and "global" in (t.source, t.destination))


def test_every_discussion_has_its_example() -> None:
    assert {"vtcm_double_buffer", "fused_matmul_relu_roundtrip", "fused_matmul_relu", "box_blur"} <= set(NAMES)


@pytest.mark.parametrize("name", SAMPLED)
def test_an_example_computes_the_result_of_its_program(name: str) -> None:
    verdict = tilewright.verify(notebook(name))
    assert verdict.is_too_costly if name in LARGE else verdict.status == "tested"


@pytest.mark.sample(8)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "place_the_copies"])
def test_no_example_has_an_error_finding(name: str) -> None:
    assert not [f for f in report(name).findings if f.severity == "error"]


def test_the_first_example_fits_after_its_copies_are_placed() -> None:
    start = notebook("place_the_copies")
    assert {f.code for f in report("place_the_copies").findings} == {"capacity-overflow"}
    assert start.schedule is not None
    placed = start.schedule.copy()
    for copy in ("A_local.vtcm", "B_local.vtcm"):
        placed.compute_at(copy, "ko")
    assert not tilewright.simulate(placed, "dual-bank-npu").findings
    for copy in ("A_local.vtcm", "B_local.vtcm"):
        placed.double_buffer(copy)
    assert tilewright.simulate(placed, "dual-bank-npu").overlap > 0.5


@pytest.mark.parametrize("name", SAMPLED)
def test_python_and_the_app_evaluate_an_example_equally(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = FOLDER / f"{name}.py"
    if "import tilelang" in path.read_text():
        pytest.skip("Python would compile a kernel of TileLang for a GPU")
    left = runpy.run_path(str(path))
    verdict = tilewright.verify(notebook(name))
    # A wait names the step of its buffer: by the line of a notebook, by the call of a schedule.
    printed, expected = capsys.readouterr().out, tilewright.report_text(report(name), verdict) + "\n"
    assert re.sub(STEP, "", printed) == re.sub(STEP, "", expected)
    assert len(re.findall(STEP, printed)) == len(re.findall(STEP, expected))
    assert left["sch"].mod is not None
    assert tilewright.to_script(left["sch"]) == tilewright.to_script(notebook(name))


@pytest.mark.parametrize("name", NAMES)
def test_an_example_starts_with_titled_prose(name: str) -> None:
    first = notebook(name).document.cells[0]
    assert first.kind == "markdown" and first.prose.startswith("# ")


def test_guide_has_the_metrics_of_every_example() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+) \| (\d+) % \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = {name: (int(cycles.replace(",", "")), int(percent)) for name, cycles, percent in rows}
    assert shown == {name: (report(name).cycles, round(100 * report(name).overlap)) for name in NAMES}


def test_two_slots_lie_in_two_blocks() -> None:
    """The buffers are [2][4096], each load into one block while the matrix unit reads the other."""
    name = "vtcm_double_buffer"
    for buffer in ("A_local.vtcm", "B_local.vtcm"):
        _, lowered, slots = shapes(name)[buffer]
        assert (lowered, slots) == ([2, 4096], 2)
    memory = report(name).memory
    assert memory["local.vtcm[0]"].peak_bytes == memory["local.vtcm[1]"].peak_bytes == 2 * 64 * 64 * 4
    assert report(name).overlap > 0.5
    slots_used = {w for s in report(name).segments for w in s.writes}
    assert {"A_local.vtcm#0", "A_local.vtcm#1"} <= slots_used
    loads = [s for s in report(name).segments if s.writes == ("A_local.vtcm#1",)]
    work = [s for s in report(name).segments if "A_local.vtcm#0" in s.reads]
    assert any(a.start < b.end and b.start < a.end for a in loads for b in work)


def test_without_double_buffer_every_load_waits() -> None:
    text = (FOLDER / "vtcm_double_buffer.py").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("sch.double_buffer")]
    plain = tilewright.simulate(evaluate(read_document("\n".join(lines))))
    assert plain.cycles > 1.2 * report("vtcm_double_buffer").cycles
    assert plain.overlap < 0.5 * report("vtcm_double_buffer").overlap


def test_two_halves_lie_in_two_blocks() -> None:
    tile, lowered, slots = shapes("vtcm_two_halves")["A_local.vtcm"]
    assert (tile[0], lowered, slots) == (2, [2, 4096], 1)
    memory = report("vtcm_two_halves").memory
    assert memory["local.vtcm[0]"].peak_bytes == memory["local.vtcm[1]"].peak_bytes
    assert 0 < report("vtcm_two_halves").overlap < report("vtcm_double_buffer").overlap


def test_set_scope_removes_the_round_trip() -> None:
    """The intermediate makes a round trip until set_scope keeps it on chip."""
    assert crossings("fused_matmul_relu_roundtrip", "mm") == 2 * 64 * 4
    assert any("mm" in f.message for f in report("fused_matmul_relu_roundtrip").findings)
    assert crossings("fused_matmul_relu", "mm") == 0
    assert report("fused_matmul_relu").cycles < report("fused_matmul_relu_roundtrip").cycles
    assert shapes("fused_matmul_relu")["mm"][0] == [1, 16]


def test_the_blur_is_computed_in_one_order_and_stored_in_another() -> None:
    """Loops y, x, c; buffer [x][c][y]."""
    schedule = notebook("box_blur").schedule
    assert schedule is not None
    block = schedule.index.block("x_blur")
    assert [iv.var.name for iv in block.iter_vars] == ["vy", "vx", "vc"]
    stored = [getattr(r.min, "name", "") for r in block.writes[0].region]
    assert stored == ["vx", "vc", "vy"]
    assert shapes("box_blur")["x_blur"][0] == [1, 3, 3]


def test_the_blur_of_the_post_takes_29_times_as_long() -> None:
    text = (FOLDER / "box_blur.py").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if "= sch.cache_" not in line]
    post = tilewright.simulate(evaluate(read_document("\n".join(lines))))
    assert round(post.cycles / report("box_blur").cycles) == 29


def test_an_unpadded_transpose_waits_for_its_columns() -> None:
    start = notebook("bank_conflicts")
    assert start.schedule is not None and start.machine is not None
    straight = start.schedule.copy()
    straight.undo()
    slow = tilewright.simulate(straight, "gpu-sm")

    def cycles_of_a_tile(found: tilewright.Report) -> int:
        (task,) = [t for t in found.tasks if t.block == "B"]
        return task.cycles // task.tasks

    # 32 warps, 32 cycles each for its column; or as long as 4 096 bytes take out to memory, 13 a cycle.
    assert cycles_of_a_tile(slow) == 32 * 32
    assert cycles_of_a_tile(report("bank_conflicts")) == -(-4096 // 13)
    assert round(slow.cycles / report("bank_conflicts").cycles, 1) == 1.7


def test_each_primitive_moves_its_buffers() -> None:
    """docs/seeds.md: compute_at shrinks the buffer, set_scope keeps its bytes on chip, cache_read copies the caller's buffer."""
    sizes = shapes("what_moves_what")
    assert sizes["B"][0] == sizes["W_local"][0] == [16, 64]
    assert crossings("what_moves_what", "B") == 0
    assert crossings("what_moves_what", "W") == 64 * 64 * 4


def test_the_systolic_array_stalls_on_slots_and_a_shared_port() -> None:
    found = report("gemmini_gemm")
    waits = {(w.cause, w.buffer) for w in found.engines["array"].waits}
    assert ("slot", "C_local.accumulator") in waits
    assert found.engines["mvin"].stall["port"] > 0 and found.engines["mvout"].stall["port"] > 0


def test_vta_is_limited_by_its_memory_port() -> None:
    found = report("vta_gemm")
    assert found.bounds[0].kind == "port" and found.cycles < 1.2 * found.bound


@pytest.mark.slow
def test_tiles_keep_the_cache_lines_that_columns_evict() -> None:
    tiled = report("cache_blocking")
    start = notebook("cache_blocking")
    assert start.schedule is not None and start.machine is not None
    straight = start.schedule.copy()
    straight.undo()
    before = tilewright.simulate(straight, start.machine)
    assert tiled.caches is not None and before.caches is not None
    rates = [
        (level.read_misses + level.write_misses) / (level.reads + level.writes)
        for level in (tiled.caches.total("L1"), before.caches.total("L1"))
    ]
    assert rates[0] < 0.2 and rates[1] > 0.5
