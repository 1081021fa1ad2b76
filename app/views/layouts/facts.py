"""Facts about a buffer: live tile, footprint, reuse, contiguous runs, bank conflicts, readers and writers."""

from __future__ import annotations

from typing import Literal

from ....engine.hwsim import Report, distribution_of
from ..labels.numbers import grouped, percent_text, size_text
from ..labels.sizes import plain_text
from ..labels.values import Value
from .subject import Chosen
from .trials import BufferFigures

Row = tuple[str, str, str]


class BufferUser(Value, frozen=True):
    """A block that writes or reads the buffer, and its row of the tree."""

    row: str
    block: str
    side: Literal["read", "write"]


def fact_rows(chosen: Chosen, figures: BufferFigures | None) -> list[Row]:
    """Rows (name, value, meaning), most important first."""
    buffer, buffer_placement, report = chosen.buffer, chosen.buffer_placement, chosen.report
    shape = " × ".join(plain_text(e) for e in buffer.shape) or "a scalar"
    rows: list[Row] = [("declared", f"{shape} {buffer.dtype}", "Shape in the program")]
    if buffer_placement is None or report is None:
        return rows
    tile = " × ".join(map(str, buffer_placement.shape)) or "1"
    rows.append(("live tile", tile, "Elements that are live at the same time"))
    slots = buffer_placement.placement.slots
    size = buffer_placement.placement.total_bytes
    rows.append(
        (
            "footprint",
            size_text(size),
            f"Allocated in {buffer_placement.placement.memory.name}, {slots} slot{'s' * (slots > 1)}, including padding",
        )
    )
    stored = buffer_placement.placement.stored
    if stored.reason:
        rows.append(("stored", stored.title, f"TileLang's layout: {stored.reason}"))
    rows.append(("address", f"{buffer_placement.placement.address:#x}", "Start address in its memory"))
    share = distribution_of(report.program, report.timeline.counts, buffer_placement)
    rows += _use_rows(share.read_bytes, share.written_bytes, chosen)
    if figures is not None:
        rows += _figure_rows(figures)
    return rows + _traffic_rows(report, buffer.name)


def _use_rows(read: int, written: int, chosen: Chosen) -> list[Row]:
    rows: list[Row] = []
    if written:
        rows.append(("written", size_text(written), "Total of all tasks"))
    if read:
        rows.append(("read", size_text(read), "Total of all tasks"))
    buffer_placement = chosen.buffer_placement
    assert buffer_placement is not None
    packed = buffer_placement.element_bytes
    for extent in buffer_placement.shape:
        packed *= extent
    filled = packed if chosen.is_param else written
    if read and filled:
        what = "Bytes read per byte of the buffer" if chosen.is_param else "Bytes read per byte written"
        rows.append(("reuse", f"×{read / filled:.3g}", what))
    return rows


def _figure_rows(figures: BufferFigures) -> list[Row]:
    rows: list[Row] = []
    if figures.run_bytes:
        rows.append(
            ("run", size_text(figures.run_bytes), "Average contiguous run, of the access with the shortest runs")
        )
    if figures.burst_share is not None:
        share = percent_text(figures.burst_share)
        rows.append(("bursts used", share, "Share of the transferred burst bytes that were requested"))
    if figures.misses is not None:
        rows.append(("cache misses", grouped(figures.misses), "Misses in the nearest cache"))
    lost = f"{grouped(figures.conflict_cycles)} cycles" if figures.conflict_cycles else "none"
    rows.append(("conflicts", lost, "Cycles lost to bank conflicts"))
    if figures.degree > 1:
        rows.append(
            ("degree", f"×{figures.degree}", "Highest conflict degree: accesses to one bank that are serialized")
        )
    return rows


def _traffic_rows(report: Report, name: str) -> list[Row]:
    rows: list[Row] = []
    for moved in report.traffic:
        if moved.buffer == name:
            source, target = moved.source.removeprefix("local."), moved.destination.removeprefix("local.")
            least = f"; lower bound {size_text(moved.least_bytes)}" if moved.least_bytes else ""
            rows.append((f"{source} → {target}", size_text(moved.bytes), f"Copied by DMA{least}"))
    return rows


def accessing_blocks(chosen: Chosen) -> list[BufferUser]:
    """The blocks that write and read the buffer."""
    return list(dict.fromkeys(BufferUser(a.row, a.block, a.side) for a in chosen.accesses))
