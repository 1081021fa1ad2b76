"""The results of a model's kernels, in the store: the cost of each on the model's machine, its bound, and the verdict on its schedule."""

from __future__ import annotations

from typing import Literal

import msgspec

from ...engine.execute import Verdict
from ...engine.hwsim import Machine, Report
from ...engine.ir import PrimFunc, Refusal, TilewrightError
from ...engine.lower import with_sizes
from ...engine.network import KernelCost, NetworkReport, kernel_cost
from ..document import Notebook, sizes_for
from .derived import REPORT, VERDICT, Store, attempt
from .entries import Derived
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


_KERNEL = Derived[KernelResult]("kernel")
_BOUND = Derived[int]("bound of a kernel")

MODEL_PLAN = Derived[NetworkReport | TilewrightError]("tensors on chip")
"""The report of a model with its tensors on chip."""


def machine_of(model: OpenModel, store: Store) -> Machine:
    """The model's machine; equal machines are one object, so that reports of a kernel's page serve the model too."""
    return store.same_machine(model.machine)


def known_result(model: OpenModel, entry: ModelKernel, store: Store) -> KernelResult | None:
    """The result of a kernel, if it is known: computed before, or made of the report of the kernel's page."""
    machine = machine_of(model, store)
    found = store.known(_KERNEL(entry, machine))
    if found is not None or not entry.notebook.evaluated:
        return found
    bound = store.known(_BOUND(entry.kernel, machine))
    program = kernel_program(entry, entry.notebook)
    report = program if isinstance(program, TilewrightError) else store.known(REPORT(program, machine))
    if bound is None or report is None:
        return None
    return keep_result(model, entry, kernel_result(model, entry, entry.notebook, program, report, bound), store)


def keep_result(model: OpenModel, entry: ModelKernel, result: KernelResult, store: Store) -> KernelResult:
    """Cache a result, also as the report of the kernel's page."""
    machine = machine_of(model, store)
    store.keep(_BOUND(entry.kernel, machine), result.bound)
    if result.cost.report is not None:
        store.keep(REPORT(result.program, machine), result.cost.report)
    return store.keep(_KERNEL(entry, machine), result)


def known_bound(model: OpenModel, entry: ModelKernel, store: Store) -> int | None:
    """The lower bound of a kernel, if it is known from an earlier notebook."""
    return store.known(_BOUND(entry.kernel, machine_of(model, store)))


def network_report(model: OpenModel, store: Store) -> NetworkReport:
    """The report of the model with its tensors on chip if it is known, else that of the kernels that are simulated so far, without them."""
    planned = planned_report(model, store)
    if isinstance(planned, NetworkReport):
        return planned
    found = (known_result(model, entry, store) for entry in model.kernels)
    return NetworkReport(machine_of(model, store), tuple(result.cost for result in found if result is not None))


def planned_report(model: OpenModel, store: Store) -> NetworkReport | TilewrightError | None:
    """The report with tensors on chip, or the reason why they do not fit; None before it is made, and without such tensors."""
    return store.known(MODEL_PLAN(model)) if model.on_chip else None


def sizes_of_kernel(entry: ModelKernel, func: PrimFunc) -> dict[str, int]:
    """The values of a program's size variables in the kernel's calls."""
    return sizes_for(func, entry.kernel.sizes)


def verdict_of_kernel(entry: ModelKernel, result: KernelResult, store: Store) -> Verdict | None:
    """The verdict on a kernel's schedule, if it is known; also from the kernel's page."""
    schedule = result.notebook.schedule
    if schedule is None:
        return None
    return store.known(VERDICT(schedule.func, sizes_of_kernel(entry, schedule.func)))


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


def kernel_program(entry: ModelKernel, notebook: Notebook) -> PrimFunc | TilewrightError:
    """The kernel's program with constant sizes after its schedule, or the error of the notebook."""
    if notebook.error is not None or notebook.schedule is None:
        return notebook.error or TilewrightError(Refusal("no-workload", "the notebook has no program"))
    described = notebook.schedule.described
    if not entry.kernel.sizes:
        return described
    sized = attempt("sizes", lambda: with_sizes(described, sizes_of_kernel(entry, described)))
    return sized if isinstance(sized, TilewrightError) else sized.func


def kernel_result(
    model: OpenModel,
    entry: ModelKernel,
    notebook: Notebook,
    program: PrimFunc | TilewrightError,
    report: Report | TilewrightError,
    bound: int,
) -> KernelResult:
    """The result of a kernel's program with its report, or with the error of either."""
    found = entry.kernel.func if isinstance(program, TilewrightError) else program
    return KernelResult(notebook, found, kernel_cost(entry.kernel, report, model.prepared), bound)
