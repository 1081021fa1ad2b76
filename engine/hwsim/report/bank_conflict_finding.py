"""Finding "bank conflicts": they cost a block a large share of its time, and the program takes fewer cycles without them; padding helps
column accesses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ...ir import Buffer
from ...ir import dtype as dt
from ..access.bank_conflicts import banking
from ..access.placement import writers_of
from ..replay.counterfactual import cycles_without, without_conflicts
from ..tasks.tree import TaskProgram
from .finding import Finding

WORTH_SAYING = 10
"""Threshold of the finding: conflicts below one in this many of a block's cycles are in the report, but no finding."""


def conflict_findings(program: TaskProgram, counts: Mapping[int, int], makespan: int) -> Iterator[Finding]:
    """Yields one finding for each block and set of conflicting buffers, the most cycles first; `counts` is the number of runs of each
    variant. A replay without the conflicts proves that they cost a part of the `makespan`.
    """
    spent: Counter[int] = Counter()
    lost: Counter[tuple[int, tuple[Buffer, ...]]] = Counter()
    degree: dict[tuple[int, tuple[Buffer, ...]], int] = {}
    for number, count in counts.items():
        variant = program.variants[number]
        spent[variant.template] += count * variant.cost.duration
        for conflict in variant.cost.conflicts:
            key = variant.template, conflict.buffers
            lost[key] += conflict.cycles * count
            degree[key] = max(degree.get(key, 1), conflict.degree)
    for (number, buffers), cycles in lost.most_common():
        if cycles * WORTH_SAYING < spent[number]:
            continue
        template = program.templates[number]
        names = tuple(b.name for b in buffers)
        saved = makespan - cycles_without(program, without_conflicts(number, names))
        if saved <= 0:
            continue
        yield Finding(
            "bank-conflict", "warning",
            f"{template.name} loses {cycles} of {spent[number]} cycles to bank conflicts in {buffers[0].scope}: up to "
            f"{degree[number, buffers]} rows of {' and '.join(names)} are accessed in one bank at once; without them the program takes "
            f"{saved} cycles less",
            blocks=tuple(b.name for b in template.blocks), buffers=names, nodes=(*template.blocks, *buffers),
            fix=_padding(program, buffers[0]) if len(buffers) == 1 else (), cycles=cycles, saved=saved,
        )  # fmt: skip


def _padding(program: TaskProgram, buffer: Buffer) -> tuple[str, ...]:
    """Returns the padding that shifts each row of the buffer by one more bank."""
    placement = program.places.by_buffer[buffer]
    rule = banking(placement.memory)
    writers = writers_of(buffer, program.nest)
    if rule is None or not writers or len(buffer.shape) < 2 or placement.is_param:
        return ()
    written = program.nest.index.block(writers[0]).writes
    place = next(n for n, w in enumerate(written) if w.buffer is buffer)
    size = dt.size_bytes(buffer.dtype)
    period, bank = rule.row_bytes * rule.groups // size, max(1, rule.row_bytes // size)
    return (f"sch.storage_align({writers[0]!r}, {place}, {len(buffer.shape) - 2}, {period}, {bank})",)
