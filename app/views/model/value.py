"""The value of a model's page: its figures, its kernels, and one inference over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from ....engine.ir import TilewrightError
from ....engine.network import (
    Kernel,
    KernelCost,
    NetworkReport,
    engine_loads,
    inference_spans,
    on_chip_bytes,
    open_sizes,
)
from ...state.derived import Store
from ...state.model import State, Theme, ValueField
from ...state.model_results import (
    KernelResult,
    kernel_status,
    known_result,
    machine_of,
    network_report,
    planned_report,
    verdict_of_kernel,
)
from ...state.open_model import ModelKernel, OpenModel
from ...state.search_results import MODEL_FOUND, SearchStatus
from ..labels.numbers import grouped, size_text
from ..labels.values import Value
from ..shell.export_kinds import MODEL_EXPORT_KINDS
from ..shell.headline import ExportEntry
from .graph import hues_of, operators_of

Status = Literal["pending", "error", "wrong", "unscheduled", "scheduled", "tested", "proved"]


class KernelRow(Value, frozen=True, kw_only=True):
    """A kernel of the list. `hue` is the colour of one that is called more than once; `bound` are the cycles of all
    its calls, `share` is its part of the inference, `over` are the bytes over capacity; `loads` has the busy part of
    each engine, `peaks` the used part and the bytes of each on-chip memory."""

    key: str
    name: str
    label: str
    functions: int
    hue: int | None
    calls: int
    status: Status
    cycles: int = 0
    cycles_text: str = ""
    each: str = ""
    share: float = 0.0
    bound: int = 0
    bound_text: str = ""
    ratio: str = ""
    engine: str = ""
    over: str = ""
    detail: str = ""
    lines: int = 0
    loads: dict[str, float] = msgspec.field(default_factory=dict)
    peaks: dict[str, tuple[float, str]] = msgspec.field(default_factory=dict)


class ModelSearchLine(Value, frozen=True, kw_only=True):
    """The search of all kernels: its progress, the cycles of an inference with the schedules found so far, the seconds left, and the
    reason of a failure. `can_resume`: kernels are left to search."""

    status: SearchStatus
    done: int
    total: int
    cycles: str
    seconds_left: int
    can_resume: bool
    reasons: list[str]
    error: str


class ModelHead(Value, frozen=True, kw_only=True):
    """The figures of the whole: `done` of `total` kernels have a cost, `count` are the cycles as a number, `on_chip`
    counts the tensors that stay on chip between kernels, `waits` are the cycles of waits for their copies, and
    `misfit` says why they do not fit. `sizes` are those that the model leaves open, with their values."""

    title: str
    machine: str
    done: int
    total: int
    cycles: str
    count: int
    bound: str
    ratio: str
    calls: int
    kernels: int
    prepared: int
    preparation: str
    failed: list[str]
    on_chip: int
    waits: str
    misfit: str
    sizes: list[ValueField]


class KernelFilter(Value, frozen=True):
    """A status with the number of its kernels."""

    key: str
    label: str
    count: int


class MemoryCapacity(Value, frozen=True):
    """An on-chip memory."""

    name: str
    capacity: str


class Inference(Value, frozen=True, kw_only=True):
    """One inference: for each call its position in the graph, its kernel, and its first and last cycle; the rows of
    engines and memories."""

    cycles: int
    calls: list[int]
    keys: list[str]
    starts: list[int]
    ends: list[int]
    engines: list[str]
    memories: list[MemoryCapacity]


class ModelPage(Value, frozen=True, kw_only=True):
    """A model: its figures, its kernels, those with most cycles first, and one inference over time."""

    name: str
    head: ModelHead
    filters: list[KernelFilter]
    kernels: list[KernelRow]
    timeline: Inference
    theme: Theme
    search: ModelSearchLine | None
    exports: list[ExportEntry]
    is_example: bool


STATUSES: dict[Status, str] = {
    "pending": "not simulated yet",
    "error": "error",
    "wrong": "wrong result",
    "unscheduled": "unscheduled",
    "scheduled": "scheduled",
    "tested": "tested",
    "proved": "proved",
}
"""The statuses of kernels with their labels, in the order of the filter."""

OVER = "over capacity"

MODEL_EXPORTS = [ExportEntry(k.key, k.label, k.help, k.group) for k in MODEL_EXPORT_KINDS]


def model_value(state: State, store: Store) -> ModelPage | None:
    """The page of the open model; None without a model."""
    model = state.model
    if model is None:
        return None
    report = network_report(model, store)
    bounds: list[int] = []
    rows: list[KernelRow] = []
    hues = hues_of(model)
    for entry in model.running:
        result = known_result(model, entry, store)
        rows.append(_row(model, entry, result, report, hues.get(entry.key), store))
        bounds.append(rows[-1].bound)
    ranked = sorted(rows, key=lambda row: -row.cycles)
    return ModelPage(
        name=model.name,
        head=_head(model, report, rows, sum(bounds), store),
        filters=_filters(rows),
        kernels=ranked,
        timeline=_timeline(model, report, store),
        theme=state.theme,
        search=_search_line(model, store),
        exports=MODEL_EXPORTS,
        is_example=not model.path,
    )


def _search_line(model: OpenModel, store: Store) -> ModelSearchLine | None:
    found = store.known(MODEL_FOUND(model.path)) if model.search is not None else None
    if found is None:
        return None
    return ModelSearchLine(
        status=found.status,
        done=found.done,
        total=found.total,
        cycles=grouped(found.cycles) if found.cycles else "",
        seconds_left=round(found.seconds_left),
        can_resume=not found.is_complete,
        reasons=list(found.reasons),
        error=found.error.refusal.message if found.error is not None else "",
    )


def _head(model: OpenModel, report: NetworkReport, rows: Sequence[KernelRow], bound: int, store: Store) -> ModelHead:
    """The figures of the whole: texts, and how many kernels have a cost."""
    known = sum(row.status != "pending" for row in rows)
    calls = sum(row.calls for row in rows)
    failed = [row.name for row in rows if row.status == "error"]
    planned = planned_report(model, store)
    return ModelHead(
        title=model.title,
        machine=machine_of(model, store).name,
        done=known,
        total=len(rows),
        cycles=grouped(report.cycles),
        count=report.cycles,
        bound=grouped(bound) if bound else "",
        ratio=_ratio(report.cycles, bound) if known == len(rows) and not failed else "",
        calls=calls,
        kernels=len(rows),
        prepared=len(model.prepared),
        preparation=grouped(report.preparation_cycles),
        failed=failed,
        on_chip=len(model.on_chip),
        waits=grouped(report.plan.wait_cycles) if report.plan.wait_cycles else "",
        misfit=planned.refusal.message if isinstance(planned, TilewrightError) else "",
        sizes=[ValueField(name, "size", str(model.sizes[name])) for name in open_sizes(model.network)],
    )


def _row(
    model: OpenModel,
    entry: ModelKernel,
    result: KernelResult | None,
    report: NetworkReport,
    hue: int | None,
    store: Store,
) -> KernelRow:
    calls = sum(at not in model.prepared for at in entry.kernel.calls)
    cycles = sum(cost.cycles for cost in report.kernels if _is_of(cost, entry.kernel))
    found = result.cost.report if result is not None else None
    row = KernelRow(
        key=entry.key,
        name=entry.kernel.name,
        label=operators_of(entry.kernel.name),
        functions=len(entry.kernel.names),
        hue=hue,
        calls=calls,
        status=kernel_status(entry, result, store),
    )
    if result is None:
        return row
    bound = result.bound * calls
    verdict = verdict_of_kernel(entry, result, store)
    detail = "" if verdict is None else verdict.detail
    if result.refusal is not None:
        detail = result.refusal.message
    lines = len(result.notebook.steps)
    row = replace(row, bound=bound, bound_text=grouped(bound), lines=lines, detail=detail)
    if found is None:
        return row
    peaks = on_chip_bytes(found, report.machine)
    return replace(
        row,
        cycles=cycles,
        cycles_text=grouped(cycles),
        each=grouped(cycles // calls),
        share=cycles / report.cycles if report.cycles else 0.0,
        ratio=_ratio(cycles, bound),
        engine=found.bounds[0].name if found.bounds else "",
        over=size_text(found.overflow_bytes) if found.overflow_bytes else "",
        loads={name: round(load, 4) for name, load in engine_loads(found).items()},
        peaks={name: (round(peak / capacity, 4), size_text(peak)) for name, (peak, capacity) in peaks.items()},
    )


def _is_of(cost: KernelCost, kernel: Kernel) -> bool:
    """Whether a cost is that of a kernel; with tensors on chip a kernel has several."""
    return cost.kernel.name == kernel.name and cost.kernel.sizes == kernel.sizes


def _filters(rows: Sequence[KernelRow]) -> list[KernelFilter]:
    """The statuses that occur, with the number of kernels, and the kernels over capacity."""
    found = [
        KernelFilter(status, label, count)
        for status, label in STATUSES.items()
        if (count := sum(row.status == status for row in rows))
    ]
    over = sum(bool(row.over) for row in rows)
    return [*found, KernelFilter("over", OVER, over)] if over else found


def _timeline(model: OpenModel, report: NetworkReport, store: Store) -> Inference:
    spans = inference_spans(report)
    keys = {at: entry.key for entry in model.kernels for at in entry.kernel.calls}
    machine = machine_of(model, store)
    memories = dict.fromkeys(
        (name, capacity)
        for cost in report.kernels
        if cost.report is not None
        for name, (_, capacity) in on_chip_bytes(cost.report, machine).items()
    )
    return Inference(
        cycles=report.cycles,
        calls=[span.call for span in spans],
        keys=[keys[span.call] for span in spans],
        starts=[span.start for span in spans],
        ends=[span.end for span in spans],
        engines=[engine.name for engine in machine.engines],
        memories=[MemoryCapacity(name, size_text(capacity)) for name, capacity in memories],
    )


def _ratio(cycles: int, bound: int) -> str:
    """The cycles over the bound; from 100 on as a whole number."""
    if not bound:
        return ""
    return f"{cycles / bound:.2f}" if cycles < 100 * bound else grouped(cycles // bound)


__all__ = ["STATUSES", "model_value"]
