"""A user's program that uses every public name. It is checked in strict mode and never run: see test_types.py."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, assert_type

from bokeh.plotting import figure

import tilewright
from tilewright import plot
from tilewright.script import ir, relax, tir, tirx

Program = tilewright.IRModule | tilewright.PrimFunc


def programs(text: str) -> tilewright.Schedule:
    program = assert_type(tilewright.parse(text, "kernel.py"), Program)
    assert_type(tilewright.from_tvm(program), Program)
    te = assert_type(tilewright.read_te(text), tilewright.TEProgram)
    assert_type(te.program, tilewright.PrimFunc)
    snippet = assert_type(tilewright.read_pasted(text), tilewright.Snippet)
    assert_type(snippet.sources, tuple[tilewright.Place, ...])
    assert_type(tilewright.from_tvm_trace(program, program), tilewright.Schedule)
    return te.schedule


def schedules(schedule: tilewright.Schedule, intrinsic: tilewright.TensorIntrin) -> str:
    i, j = schedule.get_loops(schedule.get_sblock("C"))
    outer, inner = schedule.split(i, factors=[None, tilewright.choose("tile", [32, 64])])
    schedule.reorder(outer, j, inner)
    assert_type(tilewright.choose("tile", [32, 64]), int)
    schedule.transform_layout("C", "A", lambda n, m: [n, tilewright.AXIS_SEPARATOR, m])
    mapping = assert_type(tilewright.IndexMap.from_function(lambda n, m: [m, n], 2), tilewright.IndexMap)
    assert_type(schedule.mod, tilewright.IRModule)
    assert_type(tilewright.to_script(schedule, "classic"), str)
    assert_type(tilewright.to_c(schedule, sizes={"M": 8}), str)
    return f"{mapping} {intrinsic} {tilewright.to_tvm_python(schedule)}"


def checks(schedule: tilewright.Schedule) -> dict[str, Any]:
    verdict = assert_type(tilewright.verify(schedule, seed=1), tilewright.Verdict)
    proof = assert_type(tilewright.prove(schedule), tilewright.Proof)
    print(verdict.status, proof.detail)
    tilewright.Schedule(tilewright.with_data(schedule.mod, {"j": 12, "indptr": [0, 3]}))
    arrays = assert_type(tilewright.random_inputs(schedule), dict[str, Any])
    return assert_type(tilewright.run(schedule, arrays, sizes={"M": 8}), dict[str, Any])


def simulations(schedule: tilewright.Schedule) -> tilewright.Report:
    assert_type(tilewright.machines(), tuple[str, ...])
    machine = assert_type(tilewright.machine("gpu-sm"), tilewright.Machine)
    report = assert_type(tilewright.simulate(schedule, machine), tilewright.Report)
    assert_type(report.cycles, int)
    assert_type(tilewright.report_text(report), str)
    assert_type(tilewright.chrome_trace(report), str)
    assert_type(tilewright.sensitivity(schedule, machine), tuple[tilewright.MachineParameter, ...])
    assert_type(tilewright.measure({"one": schedule}, sizes={"M": 8}), tilewright.Measured)
    assert_type(tilewright.lint(schedule, machine), tuple[tilewright.LintFinding, ...])
    return report


def notebooks(path: Path) -> tilewright.Notebook | None:
    try:
        notebook = assert_type(tilewright.load(path), tilewright.Notebook)
        print(notebook.error, notebook.sizes)
        return notebook
    except (tilewright.DocumentError, tilewright.ParseError, tilewright.ScheduleError) as error:
        assert_type(error.refusal, tilewright.Refusal)
        assert_type(error.refusal.place, tilewright.Place | None)
    except tilewright.TilewrightError as error:
        assert_type(error.code, str)
    return None


def studies(
    notebook: tilewright.Notebook, program: tilewright.PrimFunc, database: tilewright.Database
) -> tilewright.Study:
    rules = assert_type(tilewright.SCHEDULE_RULES, tuple[tilewright.ScheduleRule, ...])
    derived = assert_type(tilewright.derive_space(program, "gpu-sm", rules=rules), tilewright.DerivedSpace)
    assert_type(tilewright.auto_space(program, "gpu-sm"), tilewright.DerivedSpace)
    assert_type(derived.space, tilewright.Space)
    tilewright.explore(derived, "gpu-sm", watch=progress, database=database)
    return assert_type(tilewright.explore(notebook, objectives=("cycles", "peak")), tilewright.Study)


def progress(found: tilewright.Progress) -> None:
    print(found.done)


def networks(text: str, path: Path, arrays: Mapping[str, Any], machine: tilewright.Machine) -> tilewright.NetworkReport:
    network = assert_type(tilewright.parse_network(text), tilewright.Network)
    model = assert_type(tilewright.load_network(path), tilewright.NetworkNotebook)
    results: Sequence[object] = tilewright.run_network(network, arrays)
    print(model.report_text(), results)
    assert_type(tilewright.explore_network(network, machine), tilewright.NetworkStudy)
    assert_type(tilewright.explore_model(path), tilewright.NetworkStudy)
    return assert_type(tilewright.simulate_network(network, machine), tilewright.NetworkReport)


def widgets(shell: object, schedule: tilewright.Schedule) -> None:
    tilewright.load_ipython_extension(shell)
    tree = tilewright.LoopTree(schedule)
    tree.show()
    tilewright.Timeline(schedule=tree.param.schedule)
    tilewright.LayoutPicker(schedule).show()
    tilewright.ScheduleNotebook("notebook.py").show()


def figures(
    report: tilewright.Report, study: tilewright.Study, parameters: Sequence[tilewright.MachineParameter]
) -> Sequence[figure]:
    timeline = assert_type(plot.timeline(report), figure)
    print(assert_type(plot.svg(timeline), str))
    return [
        plot.occupancy(report, x_range=timeline.x_range),
        plot.roofline({"before": report}),
        plot.sensitivity(parameters, most=5),
        plot.traffic(report),
        plot.pareto(study),
        plot.scatter(study, "energy"),
        plot.parallel_axes(study),
    ]


@tirx.prim_func
def whole() -> None:
    for i in tirx.serial(8):
        with tirx.sblock("B"):
            print(tirx.axis.spatial(8, i) * tirx.float32(2))


@tir.prim_func(private=True)
def with_options() -> None: ...


@relax.function
def graph() -> int:
    return 1


@ir.ir_module
class Module:
    @tirx.prim_func
    def main() -> None: ...  # pyright: ignore[reportSelfClsParameterName]


def decorated() -> None:
    assert_type(whole, tilewright.PrimFunc)
    assert_type(with_options, tilewright.PrimFunc)
    assert_type(graph(), int)
    assert_type(Module, tilewright.IRModule)
    assert_type(tilewright.__version__, str)


def kernels(text: str) -> None:
    kernel = tilewright.Kernel(text, M=64)
    assert_type(kernel.simulate("sm80"), tilewright.Report)
    assert_type(kernel.check(), tilewright.Verdict)
    assert_type(kernel.show(), tilewright.ScheduleNotebook)
