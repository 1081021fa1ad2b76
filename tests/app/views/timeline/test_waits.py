"""The schedule step behind each stall of an engine."""

from __future__ import annotations

from pathlib import Path

from tilewright.app.document import Notebook, evaluate, load_document, read_document
from tilewright.app.document import State as Moment
from tilewright.app.state.derived import REPORT, Store
from tilewright.app.state.model import State
from tilewright.app.views.timeline.waits import StepToBlame, made_by, step_to_blame, wait_rows
from tilewright.engine.export import attributed_to
from tilewright.engine.hwsim import EngineReport, Wait, load_machine, simulate
from tilewright.engine.schedule import Schedule

EXAMPLES = Path(__file__).parents[4] / "static" / "examples"


def notebook(name: str) -> Notebook:
    return evaluate(load_document(EXAMPLES / f"{name}.py"))


def test_each_block_and_buffer_belongs_to_the_step_that_created_it() -> None:
    found = notebook("vtcm_double_buffer")
    origins = made_by(found.states, Store())
    assert origins["C"] == 0  # the program's own block
    texts = {name: found.steps[step - 1].text for name, step in origins.items() if step}
    assert "cache_read" in texts["A_local.vtcm"] and "cache_write" in texts["C_local.acc"]


def test_waits_are_sorted_and_name_cause_and_step() -> None:
    found = notebook("vtcm_double_buffer")
    assert found.schedule is not None and found.machine is not None
    engines = simulate(found.schedule.func, found.machine).engines
    rows = wait_rows(engines, found.states, found.steps, Store())
    assert rows[0][0].startswith("matrix ← ") and "is still filling" in rows[0][2] and "cache_read" in rows[0][2]
    cycles = [int("".join(c for c in row[1] if c.isdigit())) for row in rows if not row[0].endswith("more")]
    assert cycles == sorted(cycles, reverse=True)
    total = sum(wait.cycles for engine in engines.values() for wait in engine.waits)
    assert sum(int("".join(c for c in row[1] if c.isdigit())) for row in rows) == total


def test_waits_on_full_queues_and_shared_ports_are_named() -> None:
    waits = (Wait("issue", "", "queue of dma", 5), Wait("port", "", "global port", 3))
    rows = wait_rows({"matrix": EngineReport("matrix", 0, 0, {}, waits)}, (), (), Store())
    assert [row[0] for row in rows] == ["matrix ← queue of dma", "matrix ← global port"]
    assert "issued to the queue of dma" in rows[0][2] and "Port contention" in rows[1][2]


def test_a_run_without_waits_has_no_row() -> None:
    assert wait_rows({"dma": EngineReport("dma", 0, 0, {}, ())}, (), (), Store()) == []


def test_a_report_without_its_schedule_still_names_the_step() -> None:
    sch = notebook("vtcm_double_buffer").schedule
    assert sch is not None
    report = attributed_to(simulate(sch.func, load_machine("dual-bank-npu")), sch)
    machine, moment, store = load_machine("dual-bank-npu"), Moment(Schedule(report.program.nest.func), {}), Store()
    bare = State(notebook=(known := Notebook(read_document(""), states=(moment,), machine=machine)), shown=known)
    store.keep(REPORT(store.costed(bare, moment.schedule), store.machine(bare)), report)
    blamed = step_to_blame(bare, store, "B_local.vtcm", "B_local.vtcm")
    assert blamed.step and "cache_read" in blamed.text
    assert step_to_blame(bare, store, "", "queue of dma") == StepToBlame(0, "")
