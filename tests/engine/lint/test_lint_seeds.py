"""Two of the five discussions: the findings on the posted schedules, and the programs after their fixes."""

from __future__ import annotations

import pytest
from support.pasted.posts import RELAX_LOWERED, RELAX_SCHEDULE_POST
from support.record.seeds import SEEDS, Case, made

from tilewright.app.document import Notebook, apply_lint
from tilewright.engine.hwsim import Machine, simulate
from tilewright.engine.ir import Buffer, build, walk
from tilewright.engine.lint import LintFinding, lint
from tilewright.engine.lint.slots import one_slot
from tilewright.engine.lower import allocations, with_sizes
from tilewright.engine.schedule import Schedule
from tilewright.engine.script import to_script

SIZES = {"M": 256, "K": 512, "N": 256}


def opened(seed: int, case: int | Case) -> tuple[Notebook, Schedule, Machine]:
    _, notebook = made(SEEDS[seed].cases[case] if isinstance(case, int) else case)
    assert notebook.schedule is not None and notebook.machine is not None and notebook.error is None
    return notebook, notebook.schedule, notebook.machine


def of(code: str, found: tuple[LintFinding, ...]) -> LintFinding:
    (finding,) = [f for f in found if f.code == code]
    return finding


def after_fix(notebook: Notebook, finding: LintFinding, number: int = 0) -> tuple[Notebook, Schedule]:
    fixed = apply_lint(notebook, finding.fixes[number])
    assert fixed.schedule is not None and fixed.error is None
    return fixed, fixed.schedule


def scopes(schedule: Schedule) -> dict[str, str]:
    return {n.name: n.scope for n in walk(schedule.func) if isinstance(n, Buffer)}


# seeds/003.


@pytest.mark.sample(1)
@pytest.mark.parametrize("case", [0, 1], ids=["the lowered module with the post's schedule", "the scheduled module"])
def test_seed_003_round_trip_is_found_and_fixed(case: int):
    notebook, schedule, machine = opened(3, case)
    found = lint(schedule, machine)
    finding = of("round-trip", found)
    assert finding.severity == "warning" and finding.buffers == ("matmul_intermediate",)
    assert "is copied from local to global (256 bytes) and back (256 bytes)" in finding.message
    assert set(finding.blocks) == {"matmul_intermediate_local", "compute"}

    fixed, local = after_fix(notebook, finding)
    before, after = simulate(schedule.func, machine), simulate(local.func, machine)
    assert "matmul_intermediate" in {t.buffer for t in before.traffic}
    assert {t.buffer for t in after.traffic} == {"x", "permute_dims", "fc1_bias", "compute_intermediate"}
    assert (finding.fixes[0].cycles_before, finding.fixes[0].cycles) == (before.cycles, after.cycles)
    assert after.cycles < before.cycles
    assert {name for name, scope in scopes(local).items() if scope == "global"} == {
        "x", "permute_dims", "fc1_bias", "compute_intermediate",
    }  # fmt: skip
    assert lint(local, machine) == ()
    assert fixed.schedule is not None and fixed.schedule.check().status in ("proved", "tested")


def test_seed_003_fix_gives_the_posted_program_with_set_scope():
    notebook, schedule, machine = opened(3, 0)
    _, local = after_fix(notebook, of("round-trip", lint(schedule, machine)))

    written = next(line for line in RELAX_SCHEDULE_POST.splitlines() if "cache_write" in line and "matmul" in line)
    without_trip = RELAX_SCHEDULE_POST.replace(
        written, written.partition("=")[0] + 'sch.set_scope("matmul", 0, "local")'
    )
    without_trip = "\n".join(line.split("= sch.set_scope")[0] and line for line in without_trip.splitlines())
    without_trip = without_trip.replace(written.partition("=")[0] + "sch.set_scope", "sch.set_scope")
    _, expected, _ = opened(3, Case("without the trip", RELAX_LOWERED + "\n" + without_trip))
    renamed = to_script(local.func).replace("matmul_intermediate_local", "matmul_intermediate")
    assert sorted(renamed.splitlines()) == sorted(to_script(expected.func).splitlines())


def test_seed_003_set_scope_alone_is_offered_too():
    notebook, schedule, machine = opened(3, 0)
    finding = of("round-trip", lint(schedule, machine))
    assert ('sch.set_scope("matmul_intermediate_local", 0, "local")',) in [fix.calls for fix in finding.fixes]
    number = [fix.calls[0].startswith("sch.set_scope") for fix in finding.fixes].index(True)
    _, local = after_fix(notebook, finding, number)
    assert scopes(local)["matmul_intermediate"] == "local"


@pytest.mark.slow
def test_seed_003_on_chip_has_no_finding():
    _, schedule, machine = opened(3, 2)
    assert lint(schedule, machine) == ()


# seeds/002.


def shapes(schedule: Schedule) -> dict[str, tuple[list[int | None], int]]:
    """The flat shape that each buffer is allocated as, and its slots."""
    func = with_sizes(schedule.func, SIZES).func
    return {a.buffer.name: ([build.int_value(e) for e in a.lowered.shape], a.slots) for a in allocations(func)}


def test_seed_002_without_separators_gets_two_banks():
    notebook, schedule, machine = opened(2, 0)
    assert shapes(schedule)["A_local.vtcm"] == ([8192], 1), "as the post shows it"
    finding = of("one-bank", lint(schedule, machine, SIZES))
    assert finding.severity == "warning" and set(finding.buffers) == {"A_local.vtcm", "B_local.vtcm"}
    assert "are both in local.vtcm[0], one of 2 blocks" in finding.message and "of 322872 cycles" in finding.message

    _, banked = after_fix(notebook, finding)
    for name in ("A_local.vtcm", "B_local.vtcm"):
        assert shapes(banked)[name] == ([2, 4096], 2)
    report = simulate(with_sizes(banked.func, SIZES).func, machine)
    rows = {(tile.label, tile.row) for tile in report.occupancy.tiles}
    assert {("A_local.vtcm#0", "local.vtcm[0]"), ("A_local.vtcm#1", "local.vtcm[1]")} <= rows
    assert finding.fixes[0].cycles == report.cycles == 203_064, "as with tile_k = 64, a layout and double_buffer"
    assert report.overlap > 0.6
    assert banked.check(SIZES).status in ("proved", "tested")
    assert [f for f in lint(banked, machine, SIZES) if f.severity != "info"] == []


@pytest.mark.sample(1)
@pytest.mark.parametrize("case", [2, 3], ids=["with AXIS_SEPARATOR", "with both"])
def test_seed_002_with_separators_has_no_bank_finding(case: int):
    _, schedule, machine = opened(2, case)
    assert lint(schedule, machine) == ()


def test_seed_002_double_buffered_has_no_finding():
    _, schedule, machine = opened(2, 1)
    apart = schedule.copy()
    for copy in ("A_local.vtcm", "B_local.vtcm"):
        one_slot(apart, copy)
        apart.double_buffer(copy, banks=("local.vtcm[0]", "local.vtcm[1]"))
    reports = [simulate(with_sizes(sch.described, SIZES).func, machine) for sch in (schedule, apart)]
    assert reports[0].cycles == reports[1].cycles
    assert "one-bank" not in [f.code for f in lint(schedule, machine, SIZES)]
