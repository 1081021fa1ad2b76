"""Report of the cache that all cores share: its hits by block and buffer, and by the order in which blocks are handed out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from ..access.ports import total_cycles
from ..caches.shared.contents import CacheReplay
from ..caches.shared.orders import held_blocks, orders_of, tasks_behind
from ..caches.shared.results import CacheContents, SharedCacheRow
from ..caches.shared.results import behind as behind_cache
from ..replay.cores.chip import cycles_of
from ..tasks.tree import TaskProgram
from .finding import Finding

WORTH_TRYING = 0.05
"""Another order is replayed if it moves this part less behind the cache."""

WORTH_SAYING = 0.01
"""Threshold of the finding: the part of the cycles that another order saves."""

TRIED = 2
"""The orders that are replayed: those with the fewest bytes."""

LIMITING = 0.5
"""The memory behind a cache may limit the program if it is busy for this part of the cycles: then other orders are replayed."""


class SharedCacheReport(msgspec.Struct, frozen=True):
    """The cache that all cores share, for blocks in an `order`. `behind` is the port of the memory behind it. The bytes are exact for the
    rule of docs/simulator.md if nothing is `refused` and there are no `reasons`; if it is refused, all accesses count as hits.
    """

    name: str
    size_bytes: int
    behind: str
    order: str
    read_bytes: int
    missed_bytes: int
    returned_bytes: int
    hit_rate: float
    rows: tuple[SharedCacheRow, ...]
    refused: str
    reasons: tuple[str, ...]


class CacheOrder(msgspec.Struct, frozen=True):
    """What the cache does for blocks in an order: the part of the bytes read that hit, and the bytes that move behind it. `panel` and
    `along` are those of the order, `call` the statement of a TileLang kernel; `cycles` are those of the program, if it was replayed.
    """

    order: str
    panel: int
    along: str
    call: str
    hit_rate: float
    behind_bytes: int
    cycles: int | None


def shared_cache_report(program: TaskProgram) -> SharedCacheReport | None:
    """Returns the report of a program's tasks; None without a shared cache."""
    behind = program.behind
    if behind is None:
        return None
    found = behind.contents
    return SharedCacheReport(
        behind.cache.name,
        behind.cache.size_bytes,
        behind.read_port.name,
        found.order.text,
        found.read_bytes,
        found.missed_bytes,
        found.returned_bytes,
        found.hit_rate,
        found.rows,
        found.refused,
        found.reasons,
    )


def is_limiting(program: TaskProgram, counts: Mapping[int, int], cycles: int) -> bool:
    """Returns whether the memory behind the shared cache is busy for so long that it may limit the program; `counts` are of one block's
    variants, on all cores.
    """
    program = program.base or program
    if program.behind is None:
        return False
    ports = program.behind.ports
    work = ((*asked, count) for number, count in counts.items() for asked in program.variants[number].cost.port_work)
    busy = total_cycles(one for one in work if one[0] in ports)
    return max(busy.values(), default=0) >= LIMITING * cycles


def cache_orders(program: TaskProgram, cycles: int, *, replays: bool) -> tuple[CacheOrder, ...]:
    """Returns what the cache does for each order of blocks, the program's own first, the others by the bytes behind the cache. With
    `replays` those with the fewest are replayed.
    """
    program = program.base or program
    behind = program.behind
    if behind is None or behind.contents.refused:
        return ()
    _, *orders = orders_of(program)
    replay = CacheReplay(program, behind.cache, held_blocks(program)) if orders else None
    contents = [replay.contents(order) for order in orders] if replay is not None else []
    contents = sorted((c for c in contents if not c.refused), key=lambda c: c.behind_bytes)
    found = [_order(behind.contents, cycles)]
    for number, other in enumerate(contents):
        is_better = other.behind_bytes < behind.contents.behind_bytes * (1 - WORTH_TRYING)
        replayed = None
        if replays and number < TRIED and is_better:
            replayed = cycles_of(tasks_behind(program, behind_cache(behind.cache, behind.memory, other)))
        found.append(_order(other, replayed))
    return tuple(found)


def _order(found: CacheContents, cycles: int | None) -> CacheOrder:
    order = found.order
    return CacheOrder(order.text, order.panel, order.along, order.call, found.hit_rate, found.behind_bytes, cycles)


def shared_cache_findings(orders: tuple[CacheOrder, ...]) -> Iterator[Finding]:
    """Yields a finding if blocks in another order take fewer cycles, as a replay shows."""
    if not orders:
        return
    own, *others = orders
    assert own.cycles is not None
    best = min((o for o in others if o.cycles is not None), key=lambda o: o.cycles or 0, default=None)
    if best is None or best.cycles is None or own.cycles - best.cycles < WORTH_SAYING * own.cycles:
        return
    saved = own.cycles - best.cycles
    yield Finding(
        "shared-cache-thrash", "warning",
        f"blocks {own.order} reuse little of the shared cache: {100 * own.hit_rate:.1f} % of the bytes read hit, and "
        f"{own.behind_bytes:,} bytes move behind it; in {best.order} {100 * best.hit_rate:.1f} % hit, {best.behind_bytes:,} bytes "
        f"move, and the program takes {saved:,} cycles less ({best.call})",
        saved=saved,
    )  # fmt: skip


__all__ = [
    "CacheOrder",
    "SharedCacheReport",
    "cache_orders",
    "is_limiting",
    "shared_cache_findings",
    "shared_cache_report",
]
