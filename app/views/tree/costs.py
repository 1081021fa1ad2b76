"""The cost of each tree row including all rows below it: busy cycles of engines, and bytes copied between memories."""

from __future__ import annotations

from collections import defaultdict

from ....engine.analysis import ProgramIndex
from ....engine.hwsim import Report, Traffic
from ....engine.ir import Block, BlockRealize, For, PrimFunc, loops_and_blocks
from ...state.row_ids import row_ids
from ..labels.numbers import grouped, percent_text, size_text
from ..labels.values import Value
from .iteration_counts import iterations

COMPACT = ((10**9, "G"), (10**6, "M"), (10**3, "k"))


class CostPart(Value, frozen=True):
    """A share from 0 to 1, its amount, and a sentence."""

    share: float
    text: str
    tip: str


class Cost(Value, frozen=True):
    """What a row costs with all rows below it."""

    cycles: CostPart
    bytes: CostPart


def row_costs(func: PrimFunc, report: Report) -> dict[str, Cost]:
    """The cost of each row by its id; rows without cycles and bytes are left out.

    A block has the cycles of its tasks (its part, if a task runs several blocks) and the bytes that it copies; a loop sums the blocks below
    it. `share` is the part of the run's cycles or of all copied bytes. Engines work in parallel, so shares may add up to more than 1.
    """
    busy, moved = report.cycles_by_block, _bytes_of_blocks(func, report)
    index, ids = ProgramIndex(func), row_ids(func)
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for stmt in loops_and_blocks(func.body):
        if not isinstance(stmt, BlockRealize):
            continue
        own = busy.get(stmt.block.name, 0), moved.get(stmt.block.name, 0)
        if not any(own):
            continue
        for row in (stmt, *index.path(stmt)):
            handle = row.loop_var if isinstance(row, For) else row.block.name if isinstance(row, BlockRealize) else None
            if handle is not None and row is not func.body:
                total = sums[ids.of(handle)]
                total[0] += own[0]
                total[1] += own[1]
    all_bytes = report.copied_bytes
    return {row: _cost(cycles, copied, report.cycles, all_bytes) for row, (cycles, copied) in sums.items()}


def compact(number: int) -> str:
    """The number as `41.2k`: three digits and a letter."""
    for scale, letter in COMPACT:
        if number >= scale:
            return f"{number / scale:.3g}{letter}"
    return str(number)


def _cost(cycles: int, copied: int, all_cycles: int, all_bytes: int) -> Cost:
    part, moved = cycles / max(1, all_cycles), copied / max(1, all_bytes)
    busy = f"{grouped(cycles)} busy cycles of engines, {percent_text(part)} of the run"
    size = f"{size_text(copied)} copied, {percent_text(moved)} of all bytes"
    return Cost(
        CostPart(round(min(1.0, part), 4), compact(cycles), busy),
        CostPart(round(min(1.0, moved), 4), size_text(copied), size),
    )


def _bytes_of_blocks(func: PrimFunc, report: Report) -> dict[str, int]:
    """Copied bytes by block. Several blocks that make the same copy share its bytes in proportion to their iteration counts."""
    index = ProgramIndex(func)
    blocks = [s.block for s in loops_and_blocks(func.body) if isinstance(s, BlockRealize) and s is not func.body]
    found: dict[str, int] = defaultdict(int)
    for traffic in report.traffic:
        makers = [block for block in blocks if _copies(block, traffic)]
        weights = [max(1, iterations(index, block.name) or 1) for block in makers]
        for block, weight in zip(makers, weights, strict=True):
            found[block.name] += traffic.bytes * weight // sum(weights)
    return found


def _copies(block: Block, traffic: Traffic) -> bool:
    reads = [r.buffer for r in block.reads if r.buffer.scope == traffic.source]
    writes = [w.buffer for w in block.writes if w.buffer.scope == traffic.destination]
    return bool(reads and writes) and any(b.name == traffic.buffer for b in (*reads, *writes))
