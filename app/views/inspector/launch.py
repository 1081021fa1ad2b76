"""The launch of a TileLang kernel, on a machine for which its compiler is known: the threads of a block, and its shared memory."""

from __future__ import annotations

from ....engine.hwsim import Report
from ....engine.hwsim.tile_layouts import MergedShared, matrix_unit, merged_shared, producer_threads, threads_of_kernel
from ....engine.ir import PrimFunc
from ....engine.lower import Plan
from ..labels.numbers import grouped, size_text

Rows = list[tuple[str, str, str]]


def launch_rows(func: PrimFunc, plan: Plan | None, report: Report | None) -> Rows:
    """The rows of a loop of the grid; none for another program or machine."""
    unit = None if report is None else matrix_unit(report.program.machine)
    threads = threads_of_kernel(func)
    if unit is None or report is None or threads is None:
        return []
    added = producer_threads(func, unit)
    if added is None:
        rows = [("threads", grouped(threads), "Threads of a block, with the groups of warps that the text has")]
    elif added:
        hint = f"{threads} of the text, and {added} that the compiler adds to make the bulk copies of a pipelined loop"
        rows = [("threads", f"{threads} + {added}", hint)]
    else:
        rows = [("threads", grouped(threads), "Threads of a block; the compiler adds none")]
    if plan is None:
        return rows
    stored = {p.buffer.name: p.stored for p in report.program.places.placements}
    return [*rows, _shared_row(merged_shared(func, plan.piped.func, unit, stored))]


def _shared_row(merged: MergedShared) -> tuple[str, str, str]:
    if merged.reason:
        return "shared memory", "not known", f"The compiler's one allocation: {merged.reason}"
    places = ", ".join(f"{name} at {at:,}" for name, at in sorted(merged.offsets.items(), key=lambda item: item[1]))
    hint = f"The compiler's one allocation, in bytes: {places}" if places else "The kernel has no dynamic shared memory"
    return "shared memory", size_text(merged.size_bytes), hint
