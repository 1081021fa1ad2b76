"""Finding "uncoalesced access": a block moves far more bytes than it requests, because neighbouring lanes are apart in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ...ir import Buffer
from ..access.ports import memory_port
from ..tasks.tree import TaskProgram
from .finding import Finding

TWICE = 2
"""Threshold of the finding: the ratio of moved to requested bytes."""

WORTH_SAYING = 10
"""Threshold of the finding: a loss below one in this many of its block's cycles is in the report, but no finding."""


def uncoalesced_findings(program: TaskProgram, counts: Mapping[int, int]) -> Iterator[Finding]:
    """Yields one finding for each block and buffer, the most bytes first; `counts` is the number of runs of each variant."""
    spent: Counter[int] = Counter()
    wanted: Counter[tuple[int, Buffer, bool]] = Counter()
    moved: Counter[tuple[int, Buffer, bool]] = Counter()
    for number, count in counts.items():
        variant = program.variants[number]
        spent[variant.template] += count * variant.cost.duration
        for spread in variant.cost.spreads:
            key = variant.template, spread.buffer, spread.written
            wanted[key] += spread.wanted_bytes * count
            moved[key] += spread.moved_bytes * count
    for (number, buffer, written), size in moved.most_common():
        least, memory = wanted[number, buffer, written], program.places.by_buffer[buffer].memory
        lost = (size - least) // memory_port(memory, written=written).bytes_per_cycle
        if size < TWICE * least or lost * WORTH_SAYING < spent[number]:
            continue
        template = program.templates[number]
        yield Finding(
            "uncoalesced", "warning",
            f"{template.name} {'writes' if written else 'reads'} {least} bytes of {buffer.name} but transfers {size}: neighbouring lanes "
            f"do not access neighbouring addresses in {memory.scope}, which transfers bursts of {memory.burst_bytes} bytes",
            blocks=tuple(b.name for b in template.blocks), buffers=(buffer.name,), nodes=(*template.blocks, buffer),
            cycles=lost,
        )  # fmt: skip
