"""The result of a network's search as text and as JSON values."""

from __future__ import annotations

from typing import Any

from ...export.report_text import table
from .loop import KernelState, NetworkProgress, NetworkStudy

CHECKED = ("proved", "tested")


def progress_text(progress: NetworkProgress) -> str:
    """Return the progress as one line."""
    return (
        f"{progress.done} of {progress.total} kernels, {progress.cycles:,} cycles, "
        f"{_ratio(progress.cycles, progress.bound)} the bound, {progress.seconds_left:.0f} s left: {progress.last.name}"
    )


def study_text(study: NetworkStudy, most: int = 40) -> str:
    """Return what the search won, its kernels with most cycles first, and the kernels that stay unscheduled with the reasons."""
    found = [k for k in study.kernels if k.is_scheduled]
    checked = sum(k.study is not None and k.study.status in CHECKED for k in found)
    head = (
        f"{study.before:,} cycles before the search, {study.cycles:,} now: {_ratio(study.cycles, study.bound)} the lower bound "
        f"{study.bound:,}\n{len(found)} of {len(study.kernels)} kernels scheduled, {checked} of them proved or tested, "
        f"in {study.seconds:.0f} s" + ("" if study.ended else "; the search can resume")
    )
    ranked = sorted(study.kernels, key=lambda k: -k.cycles)
    rows = [("kernel", "calls", "before", "now", "bound", "", "schedule"), *map(_row, ranked[:most])]
    lines = [head, "", table(rows, right=(1, 2, 3, 4, 5))]
    if len(ranked) > most:
        lines.append(f"{len(ranked) - most} more kernels: {sum(k.cycles for k in ranked[most:]):,} cycles")
    reasons = [f"{k.name} stays unscheduled: {k.study.message} [{k.study.code}]" for k in study.refused if k.study]
    warm = [k.study.began_with for k in study.kernels if k.study is not None and k.study.began_with]
    notes = [f"{len(warm)} kernels began with found schedules; one {warm[0]}"] if warm else []
    notes += dict.fromkeys(k.study.database_problem for k in study.kernels if k.study and k.study.database_problem)
    return "\n".join([*lines, *([""] if reasons or notes else []), *notes, *reasons])


def study_json(study: NetworkStudy) -> dict[str, Any]:
    """Return the result as JSON values."""
    return {
        "cycles_before": study.before,
        "cycles": study.cycles,
        "bound": study.bound,
        "seconds": study.seconds,
        "ended": study.ended,
        "kernels": [_kernel_json(k) for k in study.kernels],
    }


def _kernel_json(kernel: KernelState) -> dict[str, Any]:
    study = kernel.study
    return {
        "kernel": kernel.name,
        "calls": kernel.runs,
        "cycles_before": kernel.before,
        "cycles": kernel.cycles,
        "bound": kernel.bound,
        "scheduled": kernel.is_scheduled,
        "kept": kernel.is_kept,
        "verdict": study.status if study is not None and study.lines else None,
        "candidates": study.trials if study is not None else 0,
        "code": study.code if study is not None else "",
        "message": study.message if study is not None else "",
        "began_with": study.began_with if study is not None else "",
        "database_problem": study.database_problem if study is not None else "",
    }


def _row(kernel: KernelState) -> tuple[str, ...]:
    numbers = (str(kernel.runs), f"{kernel.before:,}", f"{kernel.cycles:,}", f"{kernel.bound:,}")
    return (kernel.name, *numbers, _ratio(kernel.cycles, kernel.bound), _schedule(kernel))


def _schedule(kernel: KernelState) -> str:
    study = kernel.study
    if kernel.is_kept:
        return "kept"
    if study is None:
        return "not searched yet"
    return f"{study.status}, candidates: {study.trials:,}" if study.lines else study.code


def _ratio(cycles: int, bound: int) -> str:
    return f"{cycles / bound:.2f} x" if bound else ""


__all__ = ["progress_text", "study_json", "study_text"]
