"""The results of a model's kernels, in the store: the cost of each on the model's machine, its bound, and the verdict on its schedule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from ...engine.execute import Verdict
from ...engine.explore import program_bound
from ...engine.hwsim import Machine, Report
from ...engine.ir import PrimFunc, Refusal, TilewrightError
from ...engine.lower import with_sizes
from ...engine.network import KernelCost, NetworkReport, kernel_cost, simulate_network
from ..document import Notebook, evaluate, sizes_for
from .derived import Store, attempt, report_of
from .open_model import ModelKernel, OpenModel

KernelStatus = Literal["pending", "error", "unscheduled", "scheduled", "tested", "proved", "wrong"]


class KernelResult(msgspec.Struct, frozen=True, eq=False):
    """A kernel with its evaluated notebook and its cost. `bound` are the cycles of one call that no schedule of the kernel alone beats; 0
    if unknown. `refusal` is the error of the notebook: its cycles do not count then."""

    notebook: Notebook
    program: PrimFunc
    cost: KernelCost
    bound: int

    @property
    def refusal(self) -> Refusal | None:
        return self.cost.refusal

    @property
    def is_scheduled(self) -> bool:
        """Whether the notebook has schedule lines that change the program."""
        schedule = self.notebook.schedule
        return schedule is not None and bool(schedule.trace.steps)


def machine_of(model: OpenModel, store: Store) -> Machine:
    """The model's machine; equal machines are one object, so that reports of a kernel's page serve the model too."""
    return store.same_machine(model.machine)


def compute_result(model: OpenModel, entry: ModelKernel, machine: Machine, bound: int | None = None) -> KernelResult:
    """Evaluate and simulate one kernel, in a thread. `bound` is that of an earlier notebook of the kernel."""
    notebook = entry.notebook if entry.notebook.evaluated else evaluate(entry.notebook.document, entry.notebook)
    program = _program(entry, notebook)
    report = program if isinstance(program, TilewrightError) else report_of(program, machine)
    return _result(model, entry, notebook, program, report, _bound(entry, machine) if bound is None else bound)


def known_result(model: OpenModel, entry: ModelKernel, store: Store) -> KernelResult | None:
    """The result of a kernel, if it is known: computed before, or made of the report of the kernel's page."""
    machine = machine_of(model, store)
    found: KernelResult | None = store.known("kernel", (entry, machine))
    if found is not None or not entry.notebook.evaluated:
        return found
    bound = store.known("kernel bound", (entry.kernel, machine))
    program = _program(entry, entry.notebook)
    report = program if isinstance(program, TilewrightError) else store.known("report", (program, machine))
    if bound is None or report is None:
        return None
    return keep_result(model, entry, _result(model, entry, entry.notebook, program, report, bound), store)


def keep_result(model: OpenModel, entry: ModelKernel, result: KernelResult, store: Store) -> KernelResult:
    """Cache a result, also as the report of the kernel's page."""
    machine = machine_of(model, store)
    store.keep("kernel bound", (entry.kernel, machine), result.bound)
    if result.cost.report is not None:
        store.reported(result.program, machine, result.cost.report)
    return store.keep("kernel", (entry, machine), result)


def known_bound(model: OpenModel, entry: ModelKernel, store: Store) -> int | None:
    """The lower bound of a kernel, if it is known from an earlier notebook."""
    return store.known("kernel bound", (entry.kernel, machine_of(model, store)))


def network_report(model: OpenModel, store: Store) -> NetworkReport:
    """The report of the model with its tensors on chip if it is known, else that of the kernels that are simulated so far, without them."""
    planned = planned_report(model, store)
    if isinstance(planned, NetworkReport):
        return planned
    found = (known_result(model, entry, store) for entry in model.kernels)
    return NetworkReport(machine_of(model, store), tuple(result.cost for result in found if result is not None))


def planned_report(model: OpenModel, store: Store) -> NetworkReport | TilewrightError | None:
    """The report with tensors on chip, or the reason why they do not fit; None before `compute_planned`, and without such tensors."""
    return store.known("model plan", (model,)) if model.on_chip else None


def compute_planned(
    model: OpenModel, machine: Machine, results: Sequence[KernelResult]
) -> NetworkReport | TilewrightError:
    """Simulate the model with its tensors on chip, in a thread. `results` are those of all kernels."""
    schedules = {r.cost.kernel.name: r.notebook.schedule for r in results if r.is_scheduled and r.refusal is None}
    scheduled = {name: schedule.described for name, schedule in schedules.items() if schedule is not None}
    return attempt(
        "plan",
        lambda: simulate_network(
            model.network,
            machine,
            model.sizes,
            scheduled=scheduled,
            on_chip=model.on_chip,
            known=model.simulations if model.simulations.machine == machine else None,
        ),
    )


def sizes_of_kernel(entry: ModelKernel, func: PrimFunc) -> dict[str, int]:
    """The values of a program's size variables in the kernel's calls."""
    return sizes_for(func, entry.kernel.sizes)


def verdict_of_kernel(entry: ModelKernel, result: KernelResult, store: Store) -> Verdict | None:
    """The verdict on a kernel's schedule, if it is known; also from the kernel's page."""
    schedule = result.notebook.schedule
    if schedule is None:
        return None
    return store.known(f"verdict {sizes_of_kernel(entry, schedule.func)}", (schedule.func,))


def kernel_status(entry: ModelKernel, result: KernelResult | None, store: Store) -> KernelStatus:
    """The status of a kernel: "pending" before its simulation, "error" if the notebook has one or the machine cannot run it, else what is
    known about its schedule; "scheduled" before, or without, a verdict."""
    if result is None:
        return "pending"
    if result.refusal is not None:
        return "error"
    if not result.is_scheduled:
        return "unscheduled"
    verdict = verdict_of_kernel(entry, result, store)
    status = "unknown" if verdict is None else verdict.status
    named: dict[str, KernelStatus] = {"proved": "proved", "tested": "tested", "failed": "wrong"}
    return named.get(status, "scheduled")


def _program(entry: ModelKernel, notebook: Notebook) -> PrimFunc | TilewrightError:
    """The kernel's program with constant sizes after its schedule, or the error of the notebook."""
    if notebook.error is not None or notebook.schedule is None:
        return notebook.error or TilewrightError(Refusal("no-workload", "the notebook has no program"))
    described = notebook.schedule.described
    if not entry.kernel.sizes:
        return described
    sized = attempt("sizes", lambda: with_sizes(described, sizes_of_kernel(entry, described)))
    return sized if isinstance(sized, TilewrightError) else sized.func


def _result(
    model: OpenModel,
    entry: ModelKernel,
    notebook: Notebook,
    program: PrimFunc | TilewrightError,
    report: Report | TilewrightError,
    bound: int,
) -> KernelResult:
    found = entry.kernel.func if isinstance(program, TilewrightError) else program
    return KernelResult(notebook, found, kernel_cost(entry.kernel, report, model.prepared), bound)


def _bound(entry: ModelKernel, machine: Machine) -> int:
    found = attempt("bound", lambda: program_bound(entry.kernel.program(), machine).cycles)
    return 0 if isinstance(found, TilewrightError) else found
