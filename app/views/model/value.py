"""The value of a model's page: its figures, its kernels, and one inference over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....engine.ir import TilewrightError
from ....engine.network import Kernel, KernelCost, NetworkReport, engine_loads, inference_spans, on_chip_bytes
from ...state.derived import Store
from ...state.model import State
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
from ..labels.numbers import grouped, size_text
from .graph import hues_of, operators_of

Value = dict[str, Any]

STATUSES = {
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


def model_value(state: State, store: Store) -> Value | None:
    """The model's figures (`head`), the kernels of an inference, those with most cycles first, and the `timeline`; None without a model."""
    model = state.model
    if model is None:
        return None
    report = network_report(model, store)
    bounds: list[int] = []
    rows: list[Value] = []
    hues = hues_of(model)
    for entry in model.running:
        result = known_result(model, entry, store)
        rows.append(_row(model, entry, result, report, hues.get(entry.key), store))
        bounds.append(rows[-1]["bound"])
    ranked = sorted(rows, key=lambda row: -row["cycles"])
    return {
        "name": model.name,
        "head": _head(model, report, rows, sum(bounds), store),
        "filters": _filters(rows),
        "kernels": ranked,
        "timeline": _timeline(model, report, store),
        "theme": state.theme,
    }


def _head(model: OpenModel, report: NetworkReport, rows: Sequence[Value], bound: int, store: Store) -> Value:
    """The figures of the whole: texts, and how many kernels have a cost."""
    known = sum(row["status"] != "pending" for row in rows)
    calls = sum(row["calls"] for row in rows)
    failed = [row["name"] for row in rows if row["status"] == "error"]
    planned = planned_report(model, store)
    return {
        "title": model.title,
        "machine": machine_of(model, store).name,
        "done": known,
        "total": len(rows),
        "cycles": grouped(report.cycles),
        "count": report.cycles,
        "bound": grouped(bound) if bound else "",
        "ratio": _ratio(report.cycles, bound) if known == len(rows) and not failed else "",
        "calls": calls,
        "kernels": len(rows),
        "prepared": len(model.prepared),
        "preparation": grouped(report.preparation_cycles),
        "failed": failed,
        "on_chip": len(model.on_chip),
        "waits": grouped(report.plan.wait_cycles) if report.plan.wait_cycles else "",
        "misfit": planned.refusal.message if isinstance(planned, TilewrightError) else "",
    }


def _row(
    model: OpenModel,
    entry: ModelKernel,
    result: KernelResult | None,
    report: NetworkReport,
    hue: int | None,
    store: Store,
) -> Value:
    """A kernel of the list. `bound` are the cycles of all its calls, `share` its part of the inference, `loads` the busy part of each
    engine, `peaks` the used part of each on-chip memory."""
    calls = sum(at not in model.prepared for at in entry.kernel.calls)
    cycles = sum(cost.cycles for cost in report.kernels if _is_of(cost, entry.kernel))
    found = result.cost.report if result is not None else None
    row: Value = {
        "key": entry.key,
        "name": entry.kernel.name,
        "label": operators_of(entry.kernel.name),
        "functions": len(entry.kernel.names),
        "hue": hue,
        "calls": calls,
        "status": kernel_status(entry, result, store),
        "cycles": 0, "cycles_text": "", "each": "", "share": 0.0, "bound": 0, "bound_text": "", "ratio": "", "engine": "", "over": "",
        "detail": "", "lines": 0, "loads": {}, "peaks": {},
    }  # fmt: skip
    if result is None:
        return row
    bound = result.bound * calls
    row |= {"bound": bound, "bound_text": grouped(bound), "lines": len(result.notebook.steps)}
    verdict = verdict_of_kernel(entry, result, store)
    if result.refusal is not None:
        row["detail"] = result.refusal.message
    elif verdict is not None:
        row["detail"] = verdict.detail
    if found is None:
        return row
    peaks = on_chip_bytes(found, report.machine)
    return row | {
        "cycles": cycles,
        "cycles_text": grouped(cycles),
        "each": grouped(cycles // calls),
        "share": cycles / report.cycles if report.cycles else 0.0,
        "ratio": _ratio(cycles, bound),
        "engine": found.bounds[0].name if found.bounds else "",
        "over": size_text(found.overflow_bytes) if found.overflow_bytes else "",
        "loads": {name: round(load, 4) for name, load in engine_loads(found).items()},
        "peaks": {name: [round(peak / capacity, 4), size_text(peak)] for name, (peak, capacity) in peaks.items()},
    }


def _is_of(cost: KernelCost, kernel: Kernel) -> bool:
    """Whether a cost is that of a kernel; with tensors on chip a kernel has several."""
    return cost.kernel.name == kernel.name and cost.kernel.sizes == kernel.sizes


def _filters(rows: Sequence[Value]) -> list[Value]:
    """The statuses that occur, with the number of kernels, and the kernels over capacity."""
    found = [
        {"key": status, "label": label, "count": count}
        for status, label in STATUSES.items()
        if (count := sum(row["status"] == status for row in rows))
    ]
    over = sum(bool(row["over"]) for row in rows)
    return [*found, {"key": "over", "label": OVER, "count": over}] if over else found


def _timeline(model: OpenModel, report: NetworkReport, store: Store) -> Value:
    """One inference: for each call its position, kernel, and first and last cycle; the rows of engines and on-chip memories."""
    spans = inference_spans(report)
    keys = {at: entry.key for entry in model.kernels for at in entry.kernel.calls}
    machine = machine_of(model, store)
    memories = dict.fromkeys(
        (name, capacity)
        for cost in report.kernels
        if cost.report is not None
        for name, (_, capacity) in on_chip_bytes(cost.report, machine).items()
    )
    return {
        "cycles": report.cycles,
        "calls": [span.call for span in spans],
        "keys": [keys[span.call] for span in spans],
        "starts": [span.start for span in spans],
        "ends": [span.end for span in spans],
        "engines": [engine.name for engine in machine.engines],
        "memories": [{"name": name, "capacity": size_text(capacity)} for name, capacity in memories],
    }


def _ratio(cycles: int, bound: int) -> str:
    """The cycles over the bound; from 100 on as a whole number."""
    if not bound:
        return ""
    return f"{cycles / bound:.2f}" if cycles < 100 * bound else grouped(cycles // bound)


__all__ = ["STATUSES", "model_value"]
