"""Each lint on a program with its symptom, with the fix that ends it, and on a similar one without."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Event
from typing import Any

import pytest

from tilewright.engine.hwsim import MAX_TASKS, Machine, Report, load_machine, simulate
from tilewright.engine.ir import PrimFunc, replay
from tilewright.engine.lint import LINTS, Fix, LintFinding, lint, linting, simulator_findings
from tilewright.engine.lint.capacity import overflow_fixes
from tilewright.engine.lint.subject import Subject
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import parse

HEAD = "from tvm.script import tirx as T\n@T.prim_func(s_tir=True)\n"

MATMUL = (
    HEAD
    + """\
def matmul(A: T.Buffer((256, 512), "float32"), B: T.Buffer((512, 256), "float32"), C: T.Buffer((256, 256), "float32")):
    for i, j, k in T.grid(256, 256, 512):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
)

STENCIL = (
    HEAD
    + """\
def stencil(A: T.Buffer((34, 32), "float32"), C: T.Buffer((32, 32), "float32")):
    B = T.sblock_alloc_buffer((34, 32), "float32", scope="local")
    for i, j in T.grid(34, 32):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(32, 32):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi + 1, vj] + B[vi + 2, vj]
"""
)

DOUBLE = (
    HEAD
    + """\
def double(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for i in range(100):
        with T.sblock("B"):
            vi = T.axis.spatial(100, i)
            B[vi] = A[vi] * T.float32(2)
"""
)

IDLE = (
    HEAD
    + """\
def idle(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    B = T.sblock_alloc_buffer((16, 16), "float32")
    D = T.sblock_alloc_buffer((16, 16), "float32")
    E = T.sblock_alloc_buffer((16, 16), "float32")
    for i, j in T.grid(16, 16):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 16):
        with T.sblock("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = B[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 16):
        with T.sblock("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] + T.float32(1)
"""
)

NPU, ASCEND, GPU = "dual-bank-npu", "matrix-vector-npu", "gpu-sm"


def schedule(text: str) -> Schedule:
    return Schedule(parse(text).program)


def staged(tile: int = 64, step: int = 64, a: str = "ko", b: str = "ko") -> Schedule:
    """The matmul in tiles, its copies under loops of these names ("" leaves one whole)."""
    sch = schedule(MATMUL)
    i, j, k = sch.get_loops("C")
    io, ii = sch.split(i, [None, tile], names=["io", "ii"])
    jo, ji = sch.split(j, [None, tile], names=["jo", "ji"])
    ko, ki = sch.split(k, [None, step], names=["ko", "ki"])
    sch.reorder(io, jo, ko, ii, ji, ki)
    for position, (buffer, loop) in enumerate((("A", a), ("B", b))):
        sch.cache_read("C", position, "local.vtcm")
        if loop:
            sch.compute_at(f"{buffer}_local.vtcm", sch.get_loop(loop))
    sch.cache_write("C", 0, "local.acc")
    sch.reverse_compute_at("C_local.acc", jo)
    return sch


def stenciled(under: str = "") -> Schedule:
    sch = schedule(STENCIL)
    sch.cache_read("B", 0, "local")
    sch.cache_write("C", 0, "local")
    if under:
        sch.compute_at("B", sch.get_loop(under, "C"))
    return sch


def of(code: str, found: tuple[LintFinding, ...]) -> LintFinding:
    assert code in [f.code for f in found], [f.code for f in found]
    return next(f for f in found if f.code == code)


def fixed(sch: Schedule, fix: Fix) -> Schedule:
    """The schedule after a fix whose calls are appended."""
    assert fix.revision is None
    after = sch.copy()
    replay(fix.steps, after.make)
    return after


def codes(sch: Schedule, machine: str | Machine) -> set[str]:
    return {f.code for f in lint(sch, load_machine(machine) if isinstance(machine, str) else machine)}


PROGRAMS: dict[str, Callable[[], tuple[Schedule, str]]] = {
    "whole copies": lambda: (staged(a="", b=""), NPU),
    "tiles": lambda: (staged(), NPU),
    "unscheduled": lambda: (schedule(MATMUL), NPU),
    "stencil of rows": lambda: (stenciled("i"), ASCEND),
    "stencil of points": lambda: (stenciled("j"), ASCEND),
    "column": lambda: (staged(b="ki"), NPU),
    "unused": lambda: (schedule(IDLE), ASCEND),
}


NAMES = [pytest.param(name, marks=pytest.mark.slow if name == "stencil of points" else []) for name in PROGRAMS]


@cache
def findings_on(name: str) -> tuple[Schedule, Machine, tuple[LintFinding, ...]]:
    """One of the programs, its machine, and its findings."""
    sch, preset = PROGRAMS[name]()
    machine = load_machine(preset)
    return sch, machine, lint(sch, machine)


# Programs that do not run.


@pytest.mark.slow
def test_chain_places_two_copies_that_do_not_fit():
    sch, machine, found = findings_on("whole copies")
    finding = of("capacity-overflow", found)
    assert finding.severity == "error" and finding.memory == "local.vtcm"
    assert finding.message.startswith(
        "local.vtcm[0] needs 512 KiB but has 128 KiB, local.vtcm[1] needs 512 KiB but has 128 KiB"
    )
    assert [len(fix.calls) for fix in finding.fixes] == [2, 2]
    after = fixed(sch, finding.fixes[0])
    report = simulate(after.func, machine)
    assert report.cycles == finding.fixes[0].cycles
    assert all(m.peak_bytes <= m.capacity_bytes for m in report.memory.values())
    assert {p.memory: p.after for p in finding.fixes[0].peaks} == {
        row: m.peak_bytes for row, m in report.memory.items() if row.startswith("local.vtcm")
    }


@pytest.mark.slow
def test_tiles_that_do_not_fit_are_made_smaller():
    sch = staged(64, 512)
    machine = load_machine(NPU).replace("memories.vtcm.capacity_bytes", 131_072)
    finding = of("capacity-overflow", lint(sch, machine))
    best = finding.fixes[0]
    assert best.calls[0].startswith("ki_0, ki_1 = sch.split(ki, factors=[") and "compute_at" in best.calls[-1]
    assert "capacity-overflow" not in codes(fixed(sch, best), machine)


@pytest.mark.slow
def test_slots_that_do_not_fit_are_kept_with_half_the_step():
    sch = staged()
    for block in ("A_local.vtcm", "B_local.vtcm"):
        sch.double_buffer(block)
    machine = load_machine(NPU).replace("memories.vtcm.capacity_bytes", 49_152)
    assert "capacity-overflow" not in codes(staged(), machine)
    finding = of("capacity-overflow", lint(sch, machine))
    assert finding.fixes[0].calls[0] == "ki_0, ki_1 = sch.split(ki, factors=[2, None])"
    assert finding.fixes[0].cycles < simulate(staged().func, machine).cycles, "less than with one slot"

    sch = staged()
    sch.double_buffer("A_local.vtcm")
    subject = Subject(sch, machine, {}, simulate)
    thought_of = [s for s in overflow_fixes(subject, finding) if s is not None]
    assert any(s.schedule.trace.steps[-1].method == "unannotate" for s in thought_of)


def test_report_is_read_during_a_simulation_in_another_thread():
    machine, begun, ended = load_machine(NPU), Event(), Event()

    def slow(func: PrimFunc, machine: Machine, **options: Any) -> Report:
        begun.set()
        assert ended.wait(60), "the other subject waited for this one"
        return simulate(func, machine)

    with ThreadPoolExecutor(2) as threads:
        simulated = threads.submit(lambda: Subject(staged(), machine, {}, slow).report)
        assert begun.wait(60)
        threads.submit(lambda: Subject(staged(), machine, {}, simulate).report).add_done_callback(lambda _: ended.set())
        assert simulated.result() is not None


@pytest.mark.slow
def test_unknown_scope_is_replaced_by_one_that_fits():
    sch = schedule(MATMUL)
    sch.cache_read("C", 0, "shared")
    machine = load_machine(NPU)
    (finding, *_) = lint(sch, machine)
    assert finding.code == "refused" and finding.severity == "error" and "[unknown-scope]" in finding.message
    assert finding.blocks == ("A_shared",) and finding.buffers == ("A_shared",)
    assert finding.fixes and finding.fixes[0].cycles_before is None
    assert "refused" not in codes(fixed(sch, finding.fixes[0]), machine)


def test_symbolic_size_has_no_findings_about_cycles():
    sch = schedule(
        HEAD
        + """\
def f(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        with T.sblock("B"):
            vi = T.axis.spatial(n, i)
            B[vi] = A[vi] * T.float32(2)
"""
    )
    assert lint(sch, load_machine(NPU)) == ()
    assert {f.code for f in lint(sch, load_machine(NPU), {"n": 4096})} == {"scalar-engine"}


# Programs that run and waste cycles.


@pytest.mark.slow
def test_operands_out_of_reach_are_copied_on_chip():
    plain, _, found = findings_on("unscheduled")
    finding = of("scalar-engine", found)
    assert finding.blocks == ("C",) and set(finding.buffers) == {"A", "B", "C"}
    assert "scalar-engine" not in codes(fixed(plain, finding.fixes[0]), NPU)
    assert "scalar-engine" not in {f.code for f in findings_on("tiles")[2]}


def test_double_buffer_without_overlap_is_reduced_to_one_slot():
    sch = staged()
    sch.double_buffer("A_local.vtcm", banks=("local.vtcm[0]", "local.vtcm[1]"))
    sch.double_buffer("B_local.vtcm", banks=("local.vtcm[0]", "local.vtcm[1]"))
    assert codes(sch, NPU) == set()
    slow = load_machine(NPU).replace("engines.matrix.cycles_per_tile", 1).replace("engines.matrix.latency_cycles", 0)
    slow = slow.replace("engines.matrix.setup_cycles", 0)
    finding = of("double-buffer-idle", lint(sch, slow))
    assert finding.fixes[0].calls == tuple(
        f'sch.unannotate("{finding.buffers[0]}", "{key}")' for key in ("double_buffer_scope", "double_buffer_banks")
    )
    assert finding.fixes[0].cycles <= (finding.fixes[0].cycles_before or 0)
    after = fixed(sch, finding.fixes[0])
    assert finding.buffers[0] not in {
        name for f in lint(after, slow) if f.code == "double-buffer-idle" for name in f.buffers
    }


@pytest.mark.sample(1)
@pytest.mark.parametrize(("latency", "banks"), [(900, None), (900, ("local.vtcm[0]", "local.vtcm[1]")), (0, None)])
def test_long_latency_gets_a_third_slot_only_where_it_helps(latency, banks):
    sch = staged(tile=64, step=16)
    for name in ("A_local.vtcm", "B_local.vtcm"):
        sch.double_buffer(name, banks=banks)
    machine = load_machine(NPU).replace("global.latency_cycles", latency).replace("global.read_bytes_per_cycle", 512)
    machine = machine.replace("engines.dma.bytes_per_cycle", 512).replace("engines.dma.setup_cycles", 0)
    found = [f for f in lint(sch, machine) if f.code == "late-loads"]
    assert bool(found) == bool(latency)
    for finding in found:
        after = fixed(sch, finding.fixes[0])
        assert simulate(after.func, machine).cycles == finding.fixes[0].cycles < simulate(sch.func, machine).cycles
        assert any("slots=3" in call for call in finding.fixes[0].calls)


def test_column_in_one_bank_gets_confirmed_padding():
    sch = schedule(
        HEAD
        + """\
def transpose(A: T.Buffer((256, 256), "float32"), B: T.Buffer((256, 256), "float32")):
    for i, j in T.grid(256, 256):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
"""
    )
    i, j = sch.get_loops("B")
    by, ty = sch.split(i, [None, 32])
    bx, tx = sch.split(j, [None, 32])
    sch.reorder(by, bx, ty, tx)
    for loop, tag in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, tag)
    sch.cache_read("B", 0, "shared")
    sch.compute_at("A_shared", bx)
    row, column = sch.get_loops("A_shared")[-2:]
    sch.bind(row, "threadIdx.y")
    sch.bind(column, "threadIdx.x")
    finding = of("bank-conflict", lint(sch, load_machine(GPU)))
    assert finding.severity == "warning" and "up to 32 rows of A_shared" in finding.message
    assert 'sch.storage_align("A_shared", 0, 0, 32, 1)' in [fix.calls[0] for fix in finding.fixes]
    assert all(fix.cycles < (fix.cycles_before or 0) for fix in finding.fixes)
    assert codes(fixed(sch, finding.fixes[0]), GPU) == set()


def test_copy_by_single_elements_moves_to_long_runs():
    finding = of("short-runs", findings_on("column")[2])
    assert finding.severity == "warning" and finding.blocks == ("B_local.vtcm",)
    assert "copies 4 bytes in 1 run of 4 bytes with bursts of 64 bytes" in finding.message
    best = finding.fixes[0]
    assert best.replaces == 'sch.compute_at("B_local.vtcm", ki)' and best.calls[0].startswith(
        'sch.compute_at("B_local.vtcm", '
    )
    assert best.cycles * 100 < (best.cycles_before or 0)
    assert "short-runs" not in {f.code for f in findings_on("tiles")[2]}


@pytest.mark.slow
@pytest.mark.parametrize("under", ["i", pytest.param("j", marks=pytest.mark.slow)])
def test_call_that_recomputes_rows_is_left_out(under: str):
    finding = of("recompute", findings_on({"i": "stencil of rows", "j": "stencil of points"}[under])[2])
    assert (
        "B computes each element 2.8 times" in finding.message
        and "3072 iterations for 1088 elements" in finding.message
    )
    assert [loop.name for loop in finding.loops] == [under] and finding.blocks == ("B",)
    (fix,) = finding.fixes
    assert fix.calls == () and fix.replaces == f'sch.compute_at("B", {under})' and fix.gain > 0.02
    assert "recompute" not in codes(stenciled(), ASCEND)


@pytest.mark.slow
def test_recomputation_that_saves_cycles_is_not_reported():
    machine = load_machine(ASCEND).replace("memories.local.capacity_bytes", 12_288)
    machine = machine.replace("engines.vector.setup_cycles", 0).replace("engines.vector.latency_cycles", 0)
    for finding in lint(stenciled("i"), machine):
        if finding.code == "recompute":
            assert finding.fixes and all(fix.gain >= 0.02 for fix in finding.fixes)


@pytest.mark.slow
def test_on_chip_tile_is_proposed_where_faster():
    sch = schedule(STENCIL.replace(', scope="local"', ""))
    sch.cache_read("B", 0, "local")
    sch.cache_read("C", 0, "local")
    sch.cache_write("B", 0, "local")
    sch.cache_write("C", 0, "local")
    found = lint(sch, load_machine(ASCEND))
    assert "round-trip" in {f.code for f in found}
    whole = [f for f in found if f.code == "whole-buffer"]
    for finding in whole:
        for fix in finding.fixes:
            assert fix.gain >= 0.02 or any(p.after < p.before for p in fix.peaks)


def test_indivisible_split_gets_a_divisor():
    sch = schedule(DOUBLE)
    (i,) = sch.get_loops("B")
    sch.split(i, [None, 64])
    finding = of("guard", lint(sch, load_machine(ASCEND)))
    assert finding.severity == "warning" and [loop.name for loop in finding.loops] == ["i_0", "i_1"]
    assert "in each of 128 iterations" in finding.message and "28 iterations do nothing" in finding.message
    assert finding.fixes[0].calls == ("i_0, i_1 = sch.split(i, factors=[None, 50])",)
    dividing = schedule(DOUBLE)
    dividing.split(dividing.get_loops("B")[0], [None, 50])
    assert "guard" not in codes(dividing, ASCEND)


@pytest.mark.slow
def test_guard_needed_only_by_the_last_iteration_is_separated():
    sch = schedule(DOUBLE.replace("100", "10007"))  # a prime: no split divides it
    (i,) = sch.get_loops("B")
    sch.split(i, [None, 16])
    (fix,) = of("guard", lint(sch, load_machine(ASCEND))).fixes
    assert fix.calls == ("i_00, i_01 = sch.loop_partition(i_0, factors=[625])",)


@pytest.mark.slow
def test_unused_blocks_and_buffers_are_named():
    found = findings_on("unused")[2]
    unused = {f.blocks for f in found if f.code == "unused-block"}
    assert unused == {("B",), ("E",)}, "B is read by E only, which nobody reads"
    (buffer,) = [f for f in found if f.code == "unused-buffer"]
    assert buffer.buffers == ("D",) and buffer.severity == "info" and buffer.fixes == ()
    assert not codes(stenciled(), ASCEND) & {"unused-block", "unused-buffer"}


def test_tiles_in_one_block_of_a_stalled_engine_get_slots_in_both():
    sch, _, found = findings_on("tiles")
    finding = of("one-bank", found)
    assert any("banks=" in call for call in finding.fixes[0].calls)
    after = fixed(sch, finding.fixes[0])
    report = simulate(after.func, load_machine(NPU))
    rows = {t.row for t in report.occupancy.tiles if t.buffer == "A_local.vtcm"}
    assert rows == {"local.vtcm[0]", "local.vtcm[1]"} and report.cycles < simulate(sch.func, load_machine(NPU)).cycles
    assert codes(after, NPU) == set()


# The table, and the order of findings.


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", NAMES)
def test_findings_are_ordered_by_severity_and_written_as_json(name: str):
    found = findings_on(name)[2]
    ranks = [("error", "warning", "info").index(f.severity) for f in found]
    assert ranks == sorted(ranks) and found
    for finding in found:
        data = finding.to_json()
        assert data["code"] == finding.code and len(data["fixes"]) == len(finding.fixes)  # type: ignore[arg-type]
        assert bool(data["no_fix"]) == (not finding.fixes), "a finding has a fix, or the reason why it has none"


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", NAMES)
def test_findings_of_a_report_are_available_at_once(name: str):
    sch, machine, found = findings_on(name)
    early = simulator_findings(sch, machine, simulate(sch.func, machine))
    assert {(f.code, f.message) for f in early} <= {(f.code, f.message) for f in found}
    assert not any(f.fixes or f.hints for f in early)


def test_a_stop_ends_further_trials():
    tried: list[str] = []

    def counted(func, machine, max_tasks=MAX_TASKS):
        tried.append(func.name)
        return simulate(func, machine, max_tasks)

    pieces = linting(staged(a="", b=""), load_machine(NPU), simulate=counted)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    assert len(tried) <= 3, "the program, and one trial or two"


def test_no_lint_changes_its_schedule():
    sch = schedule(IDLE)
    func, steps = sch.func, sch.trace.steps
    lint(sch, load_machine(ASCEND))
    assert sch.func is func and sch.trace.steps is steps


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NAMES)
def test_fix_ends_its_finding_at_its_cost_and_keeps_the_meaning(name: str):
    sch, machine, found = findings_on(name)
    known = {rule.code for rule in LINTS}
    for finding in found:
        assert finding.code in known and finding.message
        for fix in finding.fixes:
            if fix.revision is not None:
                continue  # the page's tests write these into the text
            after = fixed(sch, fix)
            assert simulate(after.func, machine).cycles == fix.cycles
            again = next(rule for rule in LINTS if rule.code == finding.code).find(
                Subject(after, machine, {}, simulate)
            )
            assert not [f for f in again if set(f.buffers) & set(finding.buffers)]
            assert after.check().status in ("proved", "tested")


@pytest.mark.slow
def test_calls_are_proposed_before_a_program_fits():
    sch = schedule(MATMUL.replace("256", "1024").replace("512", "1024"))
    sch.cache_read("C", 0, "local.scratchpad")
    machine = load_machine("gemmini")
    (finding,) = [f for f in lint(sch, machine) if f.code == "refused"]
    assert finding.fixes and finding.hints
    after = fixed(sch, finding.fixes[0])
    left = lint(after, machine)
    assert "refused" not in {f.code for f in left}
    assert finding.fixes[0].fits == ("capacity-overflow" not in {f.code for f in left})


@pytest.mark.slow
def test_overflow_is_not_also_reported_as_held_whole():
    for name in ("whole copies", "column"):
        found = findings_on(name)[2]
        over = {f.memory for f in found if f.code == "capacity-overflow"}
        assert not [f for f in found if f.code == "whole-buffer" and any(scope in f.message for scope in over)]


@pytest.mark.slow
@pytest.mark.parametrize("on_chip", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_work_does_not_grow_with_the_stages_of_a_program(on_chip: bool):
    def tries(stages: int) -> int:
        scope = ', scope="local"' if on_chip else ""
        lines = [f'def chain(A0: T.Buffer((16, 16), "float32"), A{stages}: T.Buffer((16, 16), "float32")):']
        lines += [f'    A{n} = T.sblock_alloc_buffer((16, 16), "float32"{scope})' for n in range(1, stages)]
        for n in range(1, stages + 1):
            lines += [
                f"    for i{n}, j{n} in T.grid(16, 16):",
                f'        with T.sblock("A{n}"):',
                f'            vi, vj = T.axis.remap("SS", [i{n}, j{n}])',
                f"            A{n}[vi, vj] = A{n - 1}[vi, vj] * T.float32(2)",
            ]
        sch, tried = schedule(HEAD + "\n".join(lines)), list[str]()

        def counted(func, machine, max_tasks=MAX_TASKS):
            tried.append(func.name)
            return simulate(func, machine, max_tasks)

        lint(sch, load_machine(ASCEND), simulate=counted)
        return len(tried)

    assert tries(12) <= max(tries(6), 40) * 1.5
