"""Findings on a schedule for a machine, as data: the problem, its severity, and schedule calls that address it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping

from ...ir import Buffer
from ...lower import marks_of
from ..access.placement import Placement
from ..cost.model import Cost
from ..machine.parts import DmaEngine, ScalarEngine
from ..replay.occupancy import Column, Occupancy
from ..replay.timeline import ReplayTimeline
from ..tasks.tree import TaskProgram, Template
from .chip import ChipReport, chip_findings
from .finding import Finding, by_severity
from .model import MemoryReport
from .uncoalesced_finding import uncoalesced_findings

HEAVY_OPERATIONS = 256
"""A block with more operations than this is too large for a scalar engine."""


def find(
    program: TaskProgram,
    timeline: ReplayTimeline,
    counts: Mapping[int, int],
    memory: Mapping[str, MemoryReport],
    held: Occupancy,
    chip: ChipReport | None = None,
) -> tuple[Finding, ...]:
    """Returns the findings that need no further replay, the worst first; `counts` is the number of runs of each variant."""
    found = [
        *_overflows(program, memory),
        *_scalar_work(program, counts),
        *_scalar_padding(program, counts),
        *_round_trips(program, counts),
        *_idle_slots(program, held),
        *_wrapped_parts(program),
        *uncoalesced_findings(program, counts),
        *_left_out(program),
        *_unknown_contents(program),
        *_bounded(program, counts),
        *_assumed(program),
        *(chip_findings(chip, timeline.cycles) if chip is not None else ()),
    ]
    return by_severity(found)


def _left_out(program: TaskProgram) -> Iterator[Finding]:
    """Yields a finding if the cycles exclude the misses of caches."""
    refused = program.cached.refused
    if refused is not None:
        more = "; `tilewright run` has a higher limit" if program.cached.has_default_limit else ""
        yield Finding(
            "caches-left-out", "warning",
            f"the cycles exclude cache misses: {refused.refusal.message}{more}",
        )  # fmt: skip


def _unknown_contents(program: TaskProgram) -> Iterator[Finding]:
    """Yields a finding if the contents of the shared cache are not known."""
    behind = program.behind
    if behind is not None and behind.contents.refused:
        yield Finding(
            "shared-cache-unknown", "info",
            f"the cycles exclude what misses in {behind.cache.name}, which all cores share: {behind.contents.refused}",
        )  # fmt: skip


def _bounded(program: TaskProgram, counts: Mapping[int, int]) -> Iterator[Finding]:
    """Yields a finding if the iterations of a block are too many to count."""
    variants = [program.variants[n] for n in counts]
    names = dict.fromkeys(program.templates[v.template].name for v in variants if v.cost.is_bound)
    if names:
        yield Finding(
            "iterations-bounded", "warning",
            f"the cycles are an upper bound: the conditions of {', '.join(names)} leave out iterations that are too many to count",
            tuple(names),
        )  # fmt: skip


def _assumed(program: TaskProgram) -> Iterator[Finding]:
    """Yields a finding for each parameter whose contents the cycles assume."""
    for contents in program.source.data:
        if contents.is_known:
            yield Finding(
                "data-assumed", "info", f"the cycles assume data: {contents.about}", buffers=(contents.buffer,)
            )


def _overflows(program: TaskProgram, memory: Mapping[str, MemoryReport]) -> Iterator[Finding]:
    for row, m in memory.items():
        if not m.overflow_bytes:
            continue
        largest = [(program.places.placements[n].buffer.name, size) for n, size in program.places.use[row].live[:3]]
        listed = ", ".join(f"{name} ({size} bytes)" for name, size in largest)
        yield Finding(
            "capacity-overflow", "error",
            f"{row} needs {m.peak_bytes} bytes, but has {m.capacity_bytes}; largest: {listed}",
            buffers=tuple(name for name, _ in largest), memory=row,
        )  # fmt: skip


def _scalar_work(program: TaskProgram, counts: Mapping[int, int]) -> Iterator[Finding]:
    operations = _totals(program, counts, lambda cost: cost.operations)
    for template in program.templates:
        engine = program.machine.engines[template.engine]
        missed = [m for choice in template.choices for m in choice.missed[:1]]
        if (
            not isinstance(engine, ScalarEngine)
            or operations[template.number] <= HEAVY_OPERATIONS
            or not missed
            or _pads(template)
        ):
            continue
        where = ", ".join(dict.fromkeys(f"{b.name} in {b.scope}" for m in missed for b in m.operands))
        better = " and ".join(dict.fromkeys(m.engine for m in missed))
        yield Finding(
            "scalar-engine", "warning",
            f"{template.name} runs on the scalar engine, {operations[template.number]} operations one by one: "
            f"{better} {'do' if ' and ' in better else 'does'} not reach {where}",
            blocks=tuple(b.name for b in template.blocks),
            buffers=tuple(dict.fromkeys(b.name for m in missed for b in m.operands)),
            fix=tuple(dict.fromkeys(call for m in missed for call in m.fix)),
            nodes=template.blocks,
        )  # fmt: skip


def _totals(program: TaskProgram, counts: Mapping[int, int], amount: Callable[[Cost], int]) -> Counter[int]:
    """An amount of all tasks of each template, by its number."""
    found: Counter[int] = Counter()
    for number, count in counts.items():
        variant = program.variants[number]
        found[variant.template] += amount(variant.cost) * count
    return found


def _pads(template: Template) -> bool:
    return all(work.kind == "pad" for choice in template.choices for work in choice.works)


def _scalar_padding(program: TaskProgram, counts: Mapping[int, int]) -> Iterator[Finding]:
    cycles = _totals(program, counts, lambda cost: cost.duration)
    for template in program.templates:
        engine = program.machine.engines[template.engine]
        if not isinstance(engine, ScalarEngine) or not _pads(template) or not cycles[template.number]:
            continue
        padded = dict.fromkeys(a.buffer.name for c in template.choices for w in c.works for a in w.reads)
        missed = [m for choice in template.choices for m in choice.missed[:1]]
        yield Finding(
            "scalar-padding", "warning",
            f"the padding of {', '.join(padded)} is done by the scalar engine, element by element: {cycles[template.number]} cycles",
            blocks=tuple(b.name for b in template.blocks),
            buffers=tuple(padded),
            fix=tuple(dict.fromkeys(call for m in missed for call in m.fix)),
            nodes=template.blocks,
        )  # fmt: skip


def _round_trips(program: TaskProgram, counts: Mapping[int, int]) -> Iterator[Finding]:
    """Finds intermediates that a DMA copies out of a memory, and that are read again from there."""
    out: dict[Buffer, list[tuple[Template, int]]] = defaultdict(list)
    back: dict[Buffer, list[tuple[Template, int]]] = defaultdict(list)
    for number, count in counts.items():
        variant = program.variants[number]
        template = program.templates[variant.template]
        copies = isinstance(program.machine.engines[template.engine], DmaEngine)
        for t in variant.cost.touched:
            if not program.places.by_buffer[t.buffer].is_param and (copies or not t.written):
                (out if t.written else back)[t.buffer].append((template, t.size_bytes * count))
    for buffer in out:
        placement = program.places.by_buffer[buffer]
        nearer = _nearer(program, placement, [t for t, _ in out[buffer]])
        if buffer not in back or nearer is None:
            continue
        size_out, size_back = sum(s for _, s in out[buffer]), sum(s for _, s in back[buffer])
        templates = [t for t, _ in (*out[buffer], *back[buffer])]
        writer = out[buffer][0][0].blocks[0].name
        yield Finding(
            "round-trip", "warning",
            f"intermediate {buffer.name} is copied from {nearer} to {buffer.scope} ({size_out} bytes) and back ({size_back} bytes)",
            blocks=tuple(dict.fromkeys(b.name for t in templates for b in t.blocks)),
            buffers=(buffer.name,),
            fix=(f"sch.set_scope({writer!r}, 0, {nearer!r})",),
            nodes=(buffer, *dict.fromkeys(b for t in templates for b in t.blocks)),
        )  # fmt: skip


def _nearer(program: TaskProgram, placement: Placement, writers: list[Template]) -> str | None:
    """Returns the scope that the intermediate is copied from, if that memory is smaller."""
    for template in writers:
        for work in template.choices[0].works:
            for access in work.reads:
                memory = program.places.by_buffer[access.buffer].memory
                if memory.capacity_bytes < placement.memory.capacity_bytes:
                    return memory.scope
    return None


def _idle_slots(program: TaskProgram, held: Occupancy) -> Iterator[Finding]:
    """Finds double buffers with never more than one live slot: with one slot the program would be equally fast."""
    for placement in program.places.placements:
        buffer = placement.buffer
        if placement.slots == 1 or _take_turns(held.tiles.of(placement)):
            continue
        index, loop = program.nest.index, placement.site.slot_loop
        writers = index.writers(buffer)
        marking = [] if placement.site.indexed else [w for w in writers if w and buffer in marks_of(index.block(w))]
        yield Finding(
            "double-buffer-idle", "warning",
            f"{buffer.name} has {placement.slots} slots, but no two of them are live at the same time in "
            f"{loop.name if loop else 'its loop'}: one slot suffices",
            blocks=writers, buffers=(buffer.name,), nodes=(buffer,),
            fix=tuple(f'sch.unannotate({w!r}, "double_buffer_scope")' for w in marking),
        )  # fmt: skip


def _take_turns(lives: Column) -> bool:
    """Returns whether two slots are ever live at a time; rows (start, end, slot) in the order of their starts. True without rows."""
    until: dict[int, int] = {}
    rows: list[list[int]] = lives.tolist()
    for start, end, slot in rows:
        if any(other > start for at, other in until.items() if at != slot):
            return True
        until[slot] = max(until.get(slot, 0), end)
    return not until


def _wrapped_parts(program: TaskProgram) -> Iterator[Finding]:
    """Finds buffers laid out over more blocks than the memory has."""
    for placement in program.places.placements:
        cells = placement.cells
        blocks = placement.memory.blocks
        if placement.buffer.axis_separators and cells > blocks > 1 and not placement.site.banks:
            yield Finding(
                "more-parts-than-blocks", "info",
                f"{placement.buffer.name} has {cells} parts, but {placement.memory.scope} has {blocks} physical blocks: "
                f"part i is in block i % {blocks}",
                buffers=(placement.buffer.name,), nodes=(placement.buffer,),
            )  # fmt: skip
