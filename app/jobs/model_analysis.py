"""The costs of a visible model's kernels, then the verdicts on their schedules, piece by piece in a thread."""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec

from ...engine.execute import Verdict
from ...engine.hwsim import Machine
from ...engine.ir import TilewrightError
from ...engine.network import NetworkReport
from ..state.derived import Store
from ..state.model import State
from ..state.model_results import (
    KernelResult,
    compute_planned,
    compute_result,
    keep_result,
    kernel_status,
    known_bound,
    known_result,
    machine_of,
    planned_report,
    sizes_of_kernel,
)
from ..state.open_model import ModelKernel, OpenModel
from .background_analysis import verdict_of

PIECE_S = 0.25
"""The time after which the results so far are delivered together: a page of 300 kernels is not drawn 300 times."""


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
            yield ModelPiece((), 1, 1, compute_planned(self.model, self.machine, self.results))
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
            yield entry, compute_result(self.model, entry, self.machine, bound)
        for entry, result in self.verdicts:
            schedule = result.notebook.schedule
            assert schedule is not None, "a scheduled kernel has a schedule"
            yield entry, verdict_of(schedule, sizes_of_kernel(entry, schedule.func))


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
        if kernel_status(entry, result, store) == "scheduled" and not store.has("unverified", (entry,))
    ]
    if not missing:
        return None
    missing.sort(key=lambda pair: -pair[1].cost.cycles)
    return ModelWork(model, machine, verdicts=tuple(missing), known=len(scheduled) - len(missing))


def keep_piece(work: ModelWork, piece: ModelPiece, store: Store) -> None:
    """Cache the results of a piece. A verdict that decides nothing is not asked for again."""
    if piece.planned is not None:
        store.keep("model plan", (work.model,), piece.planned)
    for entry, found in piece.results:
        if isinstance(found, KernelResult):
            keep_result(work.model, entry, found, store)
            continue
        result = known_result(work.model, entry, store)
        if result is not None and result.notebook.schedule is not None:
            func = result.notebook.schedule.func
            store.verified(func, sizes_of_kernel(entry, func), found)
        store.keep("unverified", (entry,), True)


__all__ = ["ModelPiece", "ModelWork", "keep_piece", "model_work"]
