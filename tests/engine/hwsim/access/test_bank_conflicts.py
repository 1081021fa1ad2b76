"""The finding about bank conflicts: the cycles lost in all tasks of a block, and the call that removes them."""

from __future__ import annotations

import ast
from pathlib import Path

from tilewright.app.document import evaluate, load_document
from tilewright.engine.hwsim import Finding, load_machine, simulate
from tilewright.engine.hwsim.replay.counterfactual import cycles_without, without_conflicts
from tilewright.engine.hwsim.report.bank_conflict_finding import conflict_findings
from tilewright.engine.hwsim.simulate import replayed
from tilewright.engine.schedule import Schedule

EXAMPLES = Path(__file__).parents[4] / "static" / "examples"


def unpadded() -> Schedule:
    """The transpose of the example before its last line."""
    schedule = evaluate(load_document(EXAMPLES / "bank_conflicts.py")).schedule
    assert schedule is not None
    straight = schedule.copy()
    straight.undo()
    return straight


def findings(sch: Schedule, machine: str = "gpu-sm") -> list[Finding]:
    program, timeline = replayed(sch.func, load_machine(machine))
    return list(conflict_findings(program, timeline.counts, timeline.cycles))


def test_bank_conflicts_of_64_tiles_are_one_finding():
    (finding,) = findings(unpadded())
    assert finding.code == "bank-conflict" and finding.buffers == ("A_shared",) and finding.blocks == ("B",)
    assert f"loses {64 * 32 * 31} of {64 * (32 + 32 * 31)} cycles" in finding.message
    assert "up to 32 rows of A_shared" in finding.message
    assert finding.fix == ("sch.storage_align('A_shared', 0, 0, 32, 1)",)


def test_the_fix_of_a_bank_conflict_removes_it():
    sch = unpadded()
    (finding,) = findings(sch)
    call = ast.parse(finding.fix[0], mode="eval").body
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    getattr(sch, call.func.attr)(*(ast.literal_eval(a) for a in call.args))
    assert findings(sch) == []


def test_finding_names_all_conflicting_operands():
    schedule = evaluate(load_document(EXAMPLES / "what_moves_what.py")).schedule
    assert schedule is not None
    found = findings(schedule, "matrix-vector-npu")
    # Those of block B overlap a longer copy: without them the program is not faster.
    assert [(f.blocks, set(f.buffers), f.fix) for f in found] == [(("C",), {"B", "W_local", "C_local"}, ())]
    report = simulate(schedule.func, load_machine("matrix-vector-npu"))
    conflicts = {row.block: tuple(row.buffers) for row in report.conflicts}
    number = next(t.number for t in report.program.templates if t.name == "B")
    assert cycles_without(report.program, without_conflicts(number, conflicts["B"])) == report.cycles
