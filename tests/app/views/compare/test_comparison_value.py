"""A/B comparison: metrics equal both reports, timelines are those of the runs, and the step that explains most is named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from support.sessions.pages import machine_now, opened_example, report_now, simulate_steps

from tilewright.app.actions.machine_actions import SetParameter
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.document import DocumentError
from tilewright.app.document.editing.remove_step import remove_steps
from tilewright.app.jobs.analyses.comparison import comparison_analysis
from tilewright.app.state.comparison import (
    NOW,
    START,
    Compare,
    EndCompare,
    ShowSpan,
    side_of,
    side_state,
    step_side,
    usual_sides,
)
from tilewright.app.state.derived import REPORT, Store
from tilewright.app.state.model import Side, State
from tilewright.app.views.compare.differences import difference_table, energy_text, points
from tilewright.app.views.compare.overlay import overlay_value
from tilewright.app.views.compare.value import common_colours, compare_value, compared_script, overlay_now
from tilewright.app.views.labels.numbers import grouped, size_text
from tilewright.app.views.labels.palette import buffer_colours
from tilewright.app.views.shell.gallery import load_examples
from tilewright.app.views.timeline.explanation import explanation_value
from tilewright.app.views.timeline.lanes import MOST_BARS
from tilewright.app.views.timeline.value import timeline_data
from tilewright.engine.hwsim import Report, simulate

EXAMPLES = load_examples()


def no_examples(name: str) -> tuple[str, object]:
    raise KeyError(name)


def study_all(state: State, store: Store) -> None:
    """Run all background analyses."""
    while (study := comparison_analysis(state, store)) is not None:
        study.run(store)


def round_trips(store: Store) -> State:
    """The program of the post against the one without the round trip."""
    state, other = opened_example("fused_matmul_relu_roundtrip"), opened_example("fused_matmul_relu")
    compared = act(state, Compare(NOW, Side("example:fused_matmul_relu", "without", other.notebook)))
    study_all(compared, store)
    return compared


def reports(state: State, store: Store) -> tuple[Report, Report]:
    assert state.comparison is not None
    a, b = (report_now(side_state(state, side), store) for side in (state.comparison.a, state.comparison.b))
    return a, b


def lines_of(table: Iterable[Any]) -> dict[str, dict[str, Any]]:
    return {f"{group.title}: {line.label}": msgspec.to_builtins(line) for group in table for line in group.lines}


@pytest.mark.slow
def test_table_has_the_metrics_of_both_reports() -> None:
    store = Store()
    state = round_trips(store)
    a, b = reports(state, store)
    lines = lines_of(compare_value(state, store, EXAMPLES).table)
    cycles = lines["Time: Cycles"]
    assert (cycles["a"], cycles["b"], cycles["trend"]) == (grouped(a.cycles), grouped(b.cycles), "better")
    for report, side in ((a, "a"), (b, "b")):
        assert lines["Time: Bound"][side] == grouped(report.bound)
        assert lines["Energy: total"][side] == energy_text(report.energy_pj)
        assert lines["Bytes copied: total"][side] == size_text(sum(t.bytes for t in report.traffic))
        out = sum(t.bytes for t in report.traffic if t.destination == "global")
        assert lines["Bytes copied: local → global"][side] == size_text(out)
        assert lines["Peak memory use: local"][side] == size_text(report.memory["local"].peak_bytes)
        waits = sum(e.stall["data"] for e in report.engines.values() if e.tasks)
        assert lines["Stalls, by cause: operand not ready"][side] == grouped(waits)
    assert lines["Peak memory use: local"]["trend"] == "worse"
    assert lines["Bytes copied: local → global"]["change"] == "−50\u202f%"


@pytest.mark.slow
def test_work_moved_to_another_engine_is_not_worse() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    simulate_steps(state, store)
    lines = lines_of(difference_table(*reports(act(state, Compare(START, NOW)), store)))
    assert lines["Time: matrix busy"]["change"] == "new" and lines["Time: matrix busy"]["trend"] == "same"
    assert lines["Time: scalar busy"]["change"].startswith("−100")


def test_a_larger_share_is_better() -> None:
    assert points(0.0, 0.64) == ("+64\u202fpts", "better")
    assert points(0.5, 0.25) == ("−25\u202fpts", "worse")
    assert points(0.5, 0.501) == ("±0", "same")


@pytest.mark.slow
def test_steps_between_two_states_explain_the_difference() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    compared = act(state, Compare(step_side(12), NOW))
    assert explanation_value(compared, store).text == ""  # not simulated yet
    simulate_steps(compared, store)
    a, b = reports(compared, store)
    value = explanation_value(compared, store)
    assert value.how == "Each step between A and B was simulated"
    assert "sch.double_buffer(AL), explains most" in value.text
    assert [e.text for e in value.effects] == ["sch.double_buffer(AL)", "sch.double_buffer(BL)"]
    assert sum(e.size for e in value.effects) == a.cycles - b.cycles
    assert sum(e.part for e in value.effects) == pytest.approx(1)
    turned = explanation_value(act(state, Compare(NOW, step_side(12))), store)
    assert "sch.double_buffer(AL), explains most" in turned.text
    alike = explanation_value(act(state, Compare(NOW, NOW)), store)
    assert alike.text == "Both have the same cycles"


@pytest.mark.slow
def test_the_most_effective_step_is_named() -> None:
    store = Store()
    state = round_trips(store)
    value = explanation_value(state, store)
    assert "was removed" in value.how
    best = value.effects[0]
    assert (best.side, best.text) == ("B", 'sch.set_scope(matmul, 0, "local")')
    assert value.text.startswith(f"Step {best.number} of B, {best.text}, explains most: ")
    # The same by hand: that line removed, the others replayed.
    assert state.comparison is not None and state.comparison.b.notebook is not None
    notebook = state.comparison.b.notebook
    (step,) = (s for s in notebook.steps if s.text == best.text)
    without = remove_steps(notebook, len(notebook.steps), step.index)
    assert not without.dropped
    _, b = reports(state, store)
    machine = machine_now(side_state(state, state.comparison.b), store)
    cycles = simulate(without.moment.schedule.described, machine).cycles
    assert best.size == cycles - b.cycles


def without_lines(name: str, *texts: str) -> Side:
    """An example without some schedule lines."""
    (example,) = (e for e in EXAMPLES if e.name == name)
    return side_without(example.text, *texts)


def side_without(text: str, *texts: str) -> Side:
    """A notebook's text without some lines."""
    text = "".join(line for line in text.splitlines(keepends=True) if line.strip() not in texts)
    notebook = act(State(), OpenText(text)).notebook
    assert notebook is not None and notebook.error is None
    return Side("file:less", "less", notebook)


def test_a_pair_of_steps_can_explain_the_difference() -> None:
    (example,) = (e for e in EXAMPLES if e.name == "gemmini_gemm")
    # With one register per cell neither step alone explains half.
    text = example.text.replace('("gemmini")', '("gemmini").replace("engines.array.weights", "single")')
    lines = ("sch.reorder(io, jo, ko, ii, ji, ki)", "sch.double_buffer(A_pad, banks=[0, 1])")
    state, store = act(State(), OpenText(text)), Store()
    compared = act(state, Compare(side_without(text, *lines), NOW))
    study_all(compared, store)
    value, (a, b) = explanation_value(compared, store), reports(compared, store)
    both, *alone = value.effects
    assert value.text.startswith("Steps 4 and 11 of B, ") and "together explain most: " in value.text
    assert both.text == " and ".join(lines) and both.size == a.cycles - b.cycles
    assert all(2 * effect.size < both.size for effect in alone)
    assert value.how.endswith("pairs of steps were removed")


@pytest.mark.slow
def test_pairs_are_skipped_if_one_step_explains_most() -> None:
    state, store = opened_example("fused_matmul_relu"), Store()
    compared = act(state, Compare(without_lines("fused_matmul_relu", "sch.double_buffer(bias_local)"), NOW))
    study_all(compared, store)
    value = explanation_value(compared, store)
    assert "sch.double_buffer(bias_local), explains most: " in value.text
    assert len(value.effects) == 1 and "pairs" not in value.how


@pytest.mark.slow
def test_the_two_largest_shares_of_the_difference_are_named() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    simulate_steps(state, store)
    assert state.shown is not None
    machine, count = machine_now(state, store), len(state.shown.states)
    for moment, cycles in zip(state.shown.states[count - 4 :], (1_000, 600, 250, 0), strict=True):
        func = store.costed(state, moment.schedule)
        report = store.report(func, machine)
        assert isinstance(report, Report)
        store.keep(REPORT(func, machine), replace(report, cycles=cycles))
    value = explanation_value(act(state, Compare(step_side(count - 4), NOW)), store)
    assert "together explain most: 750 cycles fewer, 75 % of the difference" in value.text
    assert [effect.part for effect in value.effects] == [0.75, 0.4, 0.35, 0.25]
    alone = explanation_value(act(state, Compare(step_side(count - 3), NOW)), store)
    assert "explains most: 600 → 250 cycles, 58 % of the difference" in alone.text


def test_removing_a_step_removes_its_dependents() -> None:
    notebook = opened_example("vtcm_double_buffer").notebook
    assert notebook is not None
    (step,) = (s for s in notebook.steps if s.text.startswith("AL = "))
    without = remove_steps(notebook, len(notebook.steps), step.index)
    texts = [notebook.steps[n].text for n in without.dropped]
    assert "sch.double_buffer(AL)" in texts and "sch.double_buffer(BL)" not in texts
    assert "A_local.vtcm" not in str(without.moment.schedule.mod)


@pytest.mark.slow
def test_few_tasks_are_drawn_as_bars_per_run() -> None:
    store = Store()
    state = round_trips(store)
    a, b = reports(state, store)
    value = overlay_now(state, store)
    assert value.cycles == (a.cycles, b.cycles)
    assert [e.name for e in value.engines] == [n for n, e in a.engines.items() if e.tasks]
    for report, side in ((a, "a"), (b, "b")):
        for engine in value.engines:
            bars = getattr(engine, side).bars
            assert sum(end - start for start, end, *_ in bars) == report.engines[engine.name].busy
            assert len(bars) == report.engines[engine.name].tasks


@pytest.mark.slow
def test_many_tasks_are_drawn_as_intervals_of_equal_busy_cycles() -> None:
    state, store = opened_example("gemmini_gemm"), Store()
    report = report_now(state, store)
    assert sum(e.tasks for e in report.engines.values()) > MOST_BARS
    value = overlay_value(timeline_data(report, store), timeline_data(report, store), {}, None)
    wide = (value.end - value.start) / 240
    for engine in value.engines:
        assert not engine.a.bars
        shares = [share for _, column in engine.a.stretches for share in column]
        assert all(0 <= share <= 1.001 for share in shares)
        at_work = sum(t.end - t.start for t in report.segments.between() if t.engine == engine.name)
        assert at_work >= report.engines[engine.name].busy
        assert sum(shares) * wide == pytest.approx(at_work, rel=0.001)


def test_a_zoomed_interval_draws_its_tasks_as_bars() -> None:
    state, store = opened_example("gemmini_gemm"), Store()
    report = report_now(state, store)
    compared = act(act(state, Compare(NOW, NOW)), ShowSpan(10_000, 20_000))
    value = overlay_now(compared, store)
    assert (value.start, value.end) == (10_000, 20_001)
    bars = [bar for engine in value.engines for bar in engine.a.bars]
    assert bars and all(start < 20_001 and end > 10_000 for start, end, *_ in bars)
    assert overlay_now(act(compared, ShowSpan()), store).end == report.cycles


def test_common_names_keep_the_colour_of_b() -> None:
    a, b = opened_example("fused_matmul_relu_roundtrip"), opened_example("fused_matmul_relu")
    assert a.moment is not None and b.moment is not None
    first, second = a.moment.schedule.func, b.moment.schedule.func
    colours = common_colours(first, second)
    theirs = {buffer.name: colour for buffer, colour in buffer_colours(second).items()}
    assert {name: colours[name] for name in theirs} == theirs
    only = {buffer.name for buffer in buffer_colours(first)} - set(theirs)
    assert only and not {colours[name] for name in only} & set(theirs.values())


def test_two_machines_are_compared_with_their_own_metrics() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    turned = act(state, SetParameter("memories.ddr.read_bytes_per_cycle", 52))
    compared = act(turned, Compare(side_of("opened", turned, no_examples), NOW))  # type: ignore[arg-type]
    study_all(compared, store)
    a, b = reports(compared, store)
    assert b.cycles < a.cycles
    value = compare_value(compared, store, ())
    text = value.explanation.text
    assert text == ("The steps are equal; the machines differ: read bandwidth of ddr 26\u202fB/cycle → 52\u202fB/cycle")
    assert value.counts["same"] == len(value.lines)
    assert [side.label for side in value.sides] == ["as opened", "now"]


def test_a_machine_that_cannot_run_it_is_named() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    other = opened_example("vta_gemm")
    text = state.notebook.document.text.replace('machine("dual-bank-npu")', 'machine("vta")') if state.notebook else ""
    compared = act(other, Compare(NOW, Side("file:x", "x", act(State(), OpenText(text)).notebook)))
    study_all(compared, store)
    value = compare_value(compared, store, ())
    assert value.sides[1].error and not value.sides[0].error
    assert value.lines and not value.table
    assert overlay_now(compared, store).note.startswith("B: ")


def test_without_a_comparison_nothing_is_sent() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    assert not compare_value(state, store, EXAMPLES).sides
    assert not overlay_now(state, store).engines
    left = act(act(state, Compare(START, NOW)), EndCompare())
    assert left.comparison is None


def test_comparison_keys_decode_and_others_are_refused() -> None:
    state = opened_example("vtcm_double_buffer")
    assert side_of("now", state, no_examples) is NOW  # type: ignore[arg-type]
    step = side_state(state, side_of("step:5", state, no_examples))  # type: ignore[arg-type]
    assert state.shown is not None and step.moment is state.shown.states[5]
    for key in ("nothing", "step:x", "branch:none", "opened", "example:none", ""):
        with pytest.raises((KeyError, ValueError, DocumentError)):
            side_of(key, state, no_examples)  # type: ignore[arg-type]
    first, second = usual_sides(state)
    assert second is NOW and side_state(state, first).moment is state.before


def test_the_compared_script_marks_the_different_lines() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    value = compared_script(act(state, Compare(step_side(14), NOW)), store)
    marks = [line.text.strip() for line in value.lines if line.mark]
    assert len(marks) == 2 and all("double_buffer_scope" in text for text in marks)
    turned = compared_script(act(state, Compare(NOW, step_side(14))), store)
    assert [line.mark for line in turned.lines if line.mark] == ["removed", "removed"]


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(example.name, marks=() if example.name in ("box_blur", "fused_matmul_relu") else pytest.mark.slow)
        for example in EXAMPLES
    ],
)
def test_every_example_compares_its_first_runnable_step_with_now(name: str) -> None:
    state, store = opened_example(name), Store()
    simulate_steps(state, store)
    assert state.shown is not None
    machine = store.machine(state)
    runs = [isinstance(store.report(store.costed(state, m.schedule), machine), Report) for m in state.shown.states]
    compared = act(state, Compare(step_side(runs.index(True)), NOW))
    a, b = reports(compared, store)
    value = compare_value(compared, store, EXAMPLES)
    lines = lines_of(value.table)
    assert (lines["Time: Cycles"]["a"], lines["Time: Cycles"]["b"]) == tuple(
        "does not fit" if r.overflow_bytes else grouped(r.cycles) for r in (a, b)
    )
    assert sum(value.counts.values()) >= len({line.b.name for line in value.lines if line.b})
    assert value.explanation.text
    shown = overlay_now(compared, store)
    assert shown.cycles == (a.cycles, b.cycles) and shown.end == max(a.cycles, b.cycles)
    for engine in shown.engines:
        for side, report in (("a", a), ("b", b)):
            works = bool(getattr(engine, side).bars or getattr(engine, side).stretches)
            assert works == (report.engines[engine.name].tasks > 0)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["vtcm_double_buffer", "gemmini_gemm", "place_the_copies", "fused_matmul_relu"])
def test_memory_peaks_are_those_of_live_bytes(name: str) -> None:
    state, store = opened_example(name), Store()
    report = report_now(state, store)
    value = overlay_value(timeline_data(report, store), timeline_data(report, store), {}, None)
    shown = {f"local.{m.name}" if f"local.{m.name}" in report.memory else m.name: m for m in value.memories}
    live = {n: m for n, m in report.memory.items() if m.peak_live_bytes and m.scope != "global"}
    assert list(shown) == list(live)
    for row, memory in live.items():
        highest = max(shown[row].a)
        assert shown[row].a == shown[row].b
        if shown[row].limit:
            scale = memory.capacity_bytes / shown[row].limit
            assert highest == pytest.approx(memory.peak_live_bytes / scale, abs=1e-3)
        else:
            assert highest == pytest.approx(1 / 1.35, abs=1e-3)
        assert shown[row].over == (memory.peak_live_bytes > memory.capacity_bytes)
