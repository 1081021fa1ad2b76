"""The costs of a visible model's kernels, then the verdicts on their schedules, piece by piece in a thread."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import partial

import msgspec

from ....engine.execute import Verdict
from ....engine.explore import program_bound
from ....engine.hwsim import Machine
from ....engine.ir import TilewrightError
from ....engine.network import NetworkReport, simulate_network
from ...document import evaluate
from ...state.derived import VERDICT, Store, attempt, report_of
from ...state.entries import Derived
from ...state.model import State
from ...state.model_results import (
    MODEL_PLAN,
    KernelResult,
    keep_result,
    kernel_program,
    kernel_result,
    kernel_status,
    known_bound,
    known_result,
    machine_of,
    planned_report,
    sizes_of_kernel,
)
from ...state.open_model import ModelKernel, OpenModel
from ..background_analysis import verdict_of
from .analysis import Analysis

PIECE_S = 0.25
"""The time after which the results so far are delivered together: a page of 300 kernels is not drawn 300 times."""


_CHECKED = Derived[bool]("checked kernel")
_MODEL_WORK = Derived["ModelPiece"]("model")


class ModelPiece(msgspec.Struct, frozen=True, eq=False):
    """Results since the last piece, of kernels, or of the model with its tensors on chip; `done` of `total` are ready."""

    results: tuple[tuple[ModelKernel, KernelResult | Verdict], ...]
    done: int
    total: int
    planned: NetworkReport | TilewrightError | None = None


class ModelWork(msgspec.Struct, frozen=True, eq=False):
    """The kernels of a model whose costs, or else verdicts, are missing. `known` counts the others. `plans`: the report with tensors on
    chip is missing, after all costs, `results`."""

    model: OpenModel
    machine: Machine
    costs: tuple[tuple[ModelKernel, int | None], ...] = ()
    verdicts: tuple[tuple[ModelKernel, KernelResult], ...] = ()
    known: int = 0
    plans: bool = False
    results: tuple[KernelResult, ...] = ()

    @property
    def text(self) -> str:
        if self.plans:
            return "Placing tensors on chip"
        return "Simulating kernels" if self.costs else "Verifying kernels"

    def pieces(self) -> Iterator[ModelPiece | None]:
        """Compute the missing results; None is only a point to stop at."""
        if self.plans:
            yield ModelPiece((), 1, 1, _planned(self.model, self.machine, self.results))
            return
        done, total = self.known, self.known + len(self.costs) + len(self.verdicts)
        ready: list[tuple[ModelKernel, KernelResult | Verdict]] = []
        sent = 0.0
        for entry, result in self._results():
            ready.append((entry, result))
            done += 1
            if done == total or time.monotonic() - sent > PIECE_S:
                yield ModelPiece(tuple(ready), done, total)
                ready, sent = [], time.monotonic()
            else:
                yield None

    def _results(self) -> Iterator[tuple[ModelKernel, KernelResult | Verdict]]:
        for entry, bound in self.costs:
            yield entry, _computed(self.model, entry, self.machine, bound)
        for entry, result in self.verdicts:
            schedule = result.notebook.schedule
            assert schedule is not None, "a scheduled kernel has a schedule"
            yield entry, verdict_of(schedule, sizes_of_kernel(entry, schedule.func))


def model_analysis(state: State, store: Store) -> Analysis | None:
    """The costs of the kernels of the visible model, then the verdicts on their schedules."""
    work = model_work(state, store)
    if work is None:
        return None
    entry = _MODEL_WORK(work.text, work.model)
    return Analysis(entry, work.pieces, "screen-model", work.text, partial(keep_piece, work))


def model_work(state: State, store: Store) -> ModelWork | None:
    """What is missing of the visible model: costs first, in the order of the calls, then verdicts, those of the longest kernels first."""
    model = state.model
    if model is None or state.notebook is not None:
        return None
    machine = machine_of(model, store)
    found = [(entry, known_result(model, entry, store)) for entry in model.kernels]
    costs = tuple((entry, known_bound(model, entry, store)) for entry, result in found if result is None)
    if costs:
        return ModelWork(model, machine, costs, known=len(found) - len(costs))
    known = [(entry, result) for entry, result in found if result is not None]
    if model.on_chip and planned_report(model, store) is None:
        return ModelWork(model, machine, plans=True, results=tuple(result for _, result in known))
    scheduled = [(entry, result) for entry, result in known if result.is_scheduled and result.refusal is None]
    missing = [
        (entry, result)
        for entry, result in scheduled
        if kernel_status(entry, result, store) == "scheduled" and not store.has(_CHECKED(entry))
    ]
    if not missing:
        return None
    missing.sort(key=lambda pair: -pair[1].cost.cycles)
    return ModelWork(model, machine, verdicts=tuple(missing), known=len(scheduled) - len(missing))


def keep_piece(work: ModelWork, piece: ModelPiece, store: Store) -> None:
    """Cache the results of a piece. A verdict that decides nothing is not asked for again."""
    if piece.planned is not None:
        store.keep(MODEL_PLAN(work.model), piece.planned)
    for entry, found in piece.results:
        if isinstance(found, KernelResult):
            keep_result(work.model, entry, found, store)
            continue
        result = known_result(work.model, entry, store)
        if result is not None and result.notebook.schedule is not None:
            func = result.notebook.schedule.func
            store.keep(VERDICT(func, sizes_of_kernel(entry, func)), found)
        store.keep(_CHECKED(entry), value=True)


def _computed(model: OpenModel, entry: ModelKernel, machine: Machine, bound: int | None = None) -> KernelResult:
    """Evaluate and simulate one kernel, in a thread. `bound` is that of an earlier notebook of the kernel."""
    notebook = entry.notebook if entry.notebook.evaluated else evaluate(entry.notebook.document, entry.notebook)
    program = kernel_program(entry, notebook)
    report = program if isinstance(program, TilewrightError) else report_of(program, machine)
    return kernel_result(model, entry, notebook, program, report, _bound(entry, machine) if bound is None else bound)


def _planned(model: OpenModel, machine: Machine, results: Sequence[KernelResult]) -> NetworkReport | TilewrightError:
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


def _bound(entry: ModelKernel, machine: Machine) -> int:
    found = attempt("bound", lambda: program_bound(entry.kernel.program(), machine).cycles)
    return 0 if isinstance(found, TilewrightError) else found


__all__ = ["model_analysis"]
