"""The cores of a chip in the inspector: waves of blocks, occupancy, and what one more block on a core needs."""

from __future__ import annotations

from collections.abc import Iterator

from ....engine.hwsim import CacheOrder, ChipReport, Report, SharedCacheRow
from ..labels.numbers import grouped, percent_text, size_text
from ..labels.section import Section


def cores_section(chip: ChipReport) -> Section:
    """The waves of each launch, and the blocks on a core with their limits."""
    held = chip.occupancy
    rows = list(_launches(chip))
    if held.share is not None:
        limits = ", ".join(f"{name} {grouped(count)}" for name, count in held.limits.items())
        registers, shared = grouped(held.thread_registers), size_text(held.shared_bytes)
        about = f"{grouped(held.threads)} threads of {registers} registers, and {shared} of shared memory"
        held_text = (
            f"{grouped(held.blocks)} block{'s' if held.blocks != 1 else ''}, {percent_text(held.share)} of its threads"
        )
        rows.append((f"on each {chip.level}", held_text, f"A block has {about}"))
        rows.append(("limited by", ", ".join(held.limiters), f"Blocks by each limit: {limits}"))
    note = f"{held.one_more}." if held.share is not None and held.one_more else ""
    return Section("Cores", f"{grouped(chip.cores)} × {chip.level}", None, rows, note)


def cache_sections(report: Report) -> list[Section]:
    """The hit rate of the cache that all cores share by buffer, and by the order of blocks."""
    cache = None if report.chip is None else report.chip.cache
    if cache is None:
        return []
    title = f"Shared cache {cache.name}"
    if cache.refused:
        return [
            Section(title, "", None, [], f"Its contents are not known, so all accesses count as hits: {cache.refused}.")
        ]
    rows = [
        (
            f"{'writes' if row.written else 'reads'} of {row.buffer}",
            size_text(row.behind_bytes) + " written back" if row.written else f"{percent_text(_hit_rate(row))} hit",
            f"{row.block}: {size_text(row.bytes)}, of which {size_text(row.behind_bytes)} move behind the cache",
        )
        for row in cache.rows
        if row.bytes
    ]
    own = f"{percent_text(cache.hit_rate)} of reads hit"
    found = [Section(title, own, None, rows)]
    orders = report.cache_orders
    if len(orders) > 1:
        found.append(
            Section(
                "Order of blocks",
                "hit rate, behind the cache",
                None,
                [_order_row(orders[0], " (now)"), *map(_order_row, orders[1:])],
            )
        )
    return found


def _hit_rate(row: SharedCacheRow) -> float:
    return 1 - row.behind_bytes / row.bytes


def _order_row(order: CacheOrder, mark: str = "") -> tuple[str, str, str]:
    cycles = "" if order.cycles is None else f", {grouped(order.cycles)} cycles"
    value = f"{percent_text(order.hit_rate)}, {size_text(order.behind_bytes)}{cycles}"
    return f"{order.order}{mark}", value, f"In TileLang: {order.call}"


def _launches(chip: ChipReport) -> Iterator[tuple[str, str, str]]:
    for launch in chip.launches:
        grid = " × ".join(map(grouped, launch.extents)) or "outside of a grid"
        places = grouped(chip.cores * max(chip.occupancy.blocks, 1))
        waves = "1 wave" if launch.waves == 1 else f"{grouped(launch.waves)} waves"
        cores = ", ".join(f"{grouped(c.count)} × {grouped(c.blocks)}" for c in launch.classes)
        hint = f"Blocks {grid}. The last wave has {grouped(launch.last_blocks)} blocks on {places} places. Cores × blocks: {cores}"
        yield (
            f"{grouped(launch.blocks)} block{'s' if launch.blocks != 1 else ''}",
            f"{waves}, {percent_text(launch.filled)} filled",
            hint,
        )


__all__ = ["cache_sections", "cores_section"]
