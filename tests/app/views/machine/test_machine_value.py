"""The machine panel: every parameter of the file with unit and source, its steppers, and the gain of each."""

from __future__ import annotations

import pytest
from support.sessions.pages import machine_now, opened_example, report_now

from tilewright.app.actions.machine_actions import MeasureHere, PickMachine, SetParameter
from tilewright.app.actions.machine_parameters import MEANINGS, figure_value
from tilewright.app.actions.table import ShowPane, ViewStep, act
from tilewright.app.actions.text_edits import DraftCell
from tilewright.app.jobs.analyses.machine import measurement_analysis, sensitivity_analysis
from tilewright.app.state.derived import Store
from tilewright.app.state.model import State
from tilewright.app.views.machine.capacities import offers, real_sizes
from tilewright.app.views.machine.parameters import figure_text, steps
from tilewright.app.views.machine.value import FIXED, machine_value
from tilewright.engine.hwsim import Machine, MachineError, load_machine, preset_names, sensitivity
from tilewright.engine.hwsim.machine.parts import GROUPS, meanings
from tilewright.engine.ir import TilewrightError

MACHINES = [load_machine(name) for name in preset_names()]
NAMES = [machine.name for machine in MACHINES]


def figures(value: dict[str, object]) -> dict[str, dict[str, object]]:
    return {f.path: f for part in value.parts for f in part.figures}  # type: ignore[attr-defined]


def panel_of(machine: str) -> tuple[State, Store]:
    return act(opened_example("place_the_copies"), PickMachine(machine)), Store()


@pytest.mark.sample(2)
@pytest.mark.parametrize("machine", MACHINES, ids=NAMES)
def test_every_preset_parameter_has_its_source(machine: Machine) -> None:
    shown = figures(machine_value(*panel_of(machine.name)))
    for group in GROUPS:
        for part in machine.parts(group):
            sources = dict(part.source)
            for field in part.__struct_fields__:
                if field in FIXED:
                    continue
                figure = shown.pop(f"{group}.{part.name}.{field}")
                assert figure.text == figure_text(field, getattr(part, field))
                assert figure.source == sources.get(field, "default value; not set in the machine file")
                assert field in MEANINGS, f"{field} has no words"
                assert figure.meaning == meanings(type(part))[field] != ""
    assert set(shown) == {"clock_hz"}


@pytest.mark.parametrize("machine", MACHINES, ids=NAMES)
def test_steppers_offer_only_valid_values(machine: Machine) -> None:
    for path, figure in figures(machine_value(*panel_of(machine.name))).items():
        field = path.rpartition(".")[2]
        for text in (figure.less, figure.more):
            if text is not None:
                assert isinstance(text, str)
                machine.replace(path, figure_value(field, text))
        _less, more = steps(field, machine.figure(path))
        if figure.more is None and more is not None:
            with pytest.raises(MachineError):
                machine.replace(path, more)


@pytest.mark.parametrize("machine", MACHINES, ids=NAMES)
def test_parameter_texts_parse_to_their_values(machine: Machine) -> None:
    for path in figures(machine_value(*panel_of(machine.name))):
        field, value = path.rpartition(".")[2], machine.figure(path)
        assert figure_value(field, figure_text(field, value)) == value, path


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("capacity_bytes", "256 KiB", 262_144),
        ("capacity_bytes", "0.5 MiB", 524_288),
        ("capacity_bytes", "512k", 524_288),
        ("capacity_bytes", "1 000", 1_000),
        ("clock_hz", "1.2 GHz", 1_200_000_000),
        ("clock_hz", "800mhz", 800_000_000),
        ("banks", " 4 ", 4),
        ("latency_cycles", "1_000", 1_000),
        ("energy_pj_per_byte", "2.5", 2.5),
        ("energy_pj_per_byte", "3", 3.0),
        ("broadcast", "no", False),
        ("mapping", "interleave", "interleave"),
    ],
)
def test_typed_parameters_are_parsed(field: str, text: str, value: object) -> None:
    found = figure_value(field, text)
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["", "many", "4 cycles", "4 KiB", "1e3", "--", "1.2.3", "4; drop", " " * 2_000 + "!", "9" * 5_000]
)
def test_text_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(TilewrightError) as refused:
        figure_value("banks", text)
    assert refused.value.code == "bad-figure" and "banks" in refused.value.refusal.message


def test_a_changed_parameter_is_marked_with_the_files_value() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    assert machine_value(state, store).changed == 0
    turned = act(state, SetParameter("memories.ddr.read_bytes_per_cycle", 52))
    value = machine_value(turned, store)
    figure = figures(value)["memories.ddr.read_bytes_per_cycle"]
    assert (value.changed, figure.text, figure.was, figure.changed) == (1, "52", "26", True)
    assert "TVM, hexagon bandwidth benchmark" in str(figure.source)
    assert report_now(turned, store).cycles < report_now(state, store).cycles


def test_panel_shows_the_results_of_sensitivity() -> None:
    state, store = opened_example("vtcm_double_buffer"), Store()
    report, machine = report_now(state, store), machine_now(state, store)
    assert sensitivity_analysis(state, store) is None  # the pane is hidden
    visible = act(state, ShowPane("machine"))
    study = sensitivity_analysis(visible, store)
    assert study is not None and study.entry.name == "sensitivity"
    assert machine_value(visible, store).limit.text.startswith("Simulating")
    seen: list[int] = []
    for piece in study.pieces():
        study.take(piece, store)
        seen.append(piece.done)
    assert seen == list(range(1, len(seen) + 1))
    assert sensitivity_analysis(visible, store) is None
    assert state.moment is not None
    parameters = sensitivity(state.moment.schedule.described, machine)
    value = machine_value(visible, store)
    assert value.limit.path == parameters[0].path == "memories.ddr.read_bytes_per_cycle"
    assert f"{parameters[0].cycles:,}".replace(",", "\u202f") in value.limit.detail
    assert [sensitivity.path for sensitivity in value.sensitivities] == [k.path for k in parameters[:4]]
    shown = figures(value)
    for parameter in parameters:
        gain = shown[parameter.path].gain
        assert gain is not None
        assert gain.share == pytest.approx(parameter.saved / report.cycles)
        assert gain.trend == ("better" if parameter.saved > 0 else "worse" if parameter.saved else "same")


def test_sizes_of_real_parts_have_a_source() -> None:
    for size in real_sizes():
        machine = load_machine(size.machine)
        assert isinstance(machine.figure(size.figure), int)
        assert size.source
        assert size.size_bytes in {o.size_bytes for o in offers(size.machine, size.figure, 1024)}
    value = figures(machine_value(*panel_of("dual-bank-npu")))["memories.vtcm.capacity_bytes"]
    assert isinstance(value.offers, list)
    chosen = [o.text for o in value.offers if o.chosen]
    assert chosen == ["×1", "Hexagon V65, V66: 256\u202fKiB"]
    assert all(o.possible for o in value.offers)


def test_an_unfinished_machine_cell_keeps_the_shown_machine() -> None:
    state = opened_example("gemmini_gemm")
    assert state.notebook is not None
    index = next(n for n, cell in enumerate(state.notebook.document.cells) if cell.kind == "machine")
    typed = act(state, DraftCell(index, "ko"))
    value = machine_value(typed, Store())
    assert value.name == "gemmini" and value.parts
    assert not any(figure.changed for part in value.parts for figure in part.figures)


def test_the_program_is_measured_on_request() -> None:
    pytest.importorskip("tvm")
    state, store = act(opened_example("box_blur"), ShowPane("machine")), Store()
    assert measurement_analysis(state, store) is None and not machine_value(state, store).measured.rows
    asked = act(act(state, ShowPane("script")), MeasureHere())
    assert asked.pane == "machine" and machine_value(asked, store).measured.is_running
    analysis = measurement_analysis(asked, store)
    assert analysis is not None and analysis.area == "pane-machine"
    analysis.run(store)
    found = machine_value(asked, store).measured
    assert [row.name for row in found.rows] == ["start", "now"] and "LLVM" in found.host and not found.is_running
    assert all(row.predicted and row.measured and row.ratio and not row.problem for row in found.rows)
    assert measurement_analysis(asked, store) is None
    assert not machine_value(act(asked, ViewStep(1)), store).measured.is_running, "another program"


def test_a_program_for_threads_says_why_it_is_not_measured() -> None:
    pytest.importorskip("tvm")
    state, store = act(opened_example("tilelang_gemm"), MeasureHere()), Store()
    analysis = measurement_analysis(state, store)
    assert analysis is not None
    analysis.run(store)
    assert "blockIdx" in machine_value(state, store).measured.problem
