"""Lints: unnecessary copies, and copies in pieces that are too small."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import permutations

from ..hwsim import Template
from ..schedule import Schedule, ScheduleError
from .finding import LintFinding, lint_finding
from .subject import Subject, move

PART_OF_COPY, PART_OF_ALL = 4, 20
"""Runs of a copy are too short if they waste a fourth of its time, and a twentieth of the program's."""

BURSTS = 4
"""A copy of fewer bursts in all cannot have long runs."""

MOST_AXES = 4
"""Buffers with more axes have too many orders to try."""


def find_round_trips(subject: Subject) -> Iterator[LintFinding]:
    """An intermediate is copied from an on-chip memory to a farther memory and read back, although it is not visible outside the function.
    The bytes move twice, and the reader waits for both copies. `cache_write` of an intermediate causes such a trip: it adds a buffer and
    keeps the old one in its memory."""
    return map(lint_finding, subject.findings("round-trip"))


def round_trip_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """Inlining of both copies, so that the reader uses the tile in place; otherwise `set_scope` of the intermediate to the nearer memory,
    with the remaining copies inlined where possible."""
    (buffer,) = finding.buffers
    copies = [n for n in (*subject.readers(buffer), *subject.writers(buffer)) if subject.is_copy(n)]
    yield subject.then(lambda sch: [sch.compute_inline(n) for n in copies])
    scope = _nearer(subject, buffer)
    writers = subject.writers(buffer)
    if scope is None or not writers:
        return
    position = subject.write_position(writers[0], buffer)

    def near(sch: Schedule) -> None:
        sch.set_scope(writers[0], position, scope)
        for name in copies:
            _inlined(sch, name)

    yield subject.then(near)
    yield subject.then(lambda sch: sch.set_scope(writers[0], position, scope))


def _inlined(sch: Schedule, block: str) -> None:
    """Inlines a block into its consumers, else into its producer, else leaves it."""
    for inline in (sch.compute_inline, sch.reverse_compute_inline):
        try:
            inline(block)
        except ScheduleError:
            continue
        return


def _nearer(subject: Subject, buffer: str) -> str | None:
    """The scope that the copies of a buffer come from."""
    for name in subject.writers(buffer):
        for read in subject.index.block(name).reads:
            if read.buffer.scope != "global":
                return read.buffer.scope
    return None


def find_short_runs(subject: Subject) -> Iterator[LintFinding]:
    """A DMA copies runs of contiguous bytes that are shorter than a burst of the memory, or that need one descriptor each: much of the
    copy's time goes into unused bytes and set-up."""
    if subject.report is None:
        return
    spent: Counter[Template] = Counter()
    lost: Counter[Template] = Counter()
    copied: Counter[Template] = Counter()
    for template, number, count in subject.tasks():
        cost = subject.report.program.variants[number].cost
        if cost.descriptor is None:
            continue
        spent[template] += cost.duration * count
        copied[template] += cost.descriptor.wanted_bytes * count
        lost[template] += _wasted(subject, template, number) * count
    for template, cycles in lost.most_common():
        share = cycles * PART_OF_COPY >= spent[template] and cycles * PART_OF_ALL >= subject.report.cycles
        if share and copied[template] >= BURSTS * _burst(subject, template):
            yield _short_runs(subject, template, cycles, spent[template])


def _wasted(subject: Subject, template: Template, number: int) -> int:
    """The cycles that a copy would save as one run of the same bytes: if a run is shorter than a burst all of the set-up, else all but one
    descriptor's."""
    assert subject.report is not None
    program = subject.report.program
    cost, engine = program.variants[number].cost, program.machine.engines[template.engine]
    descriptor = cost.descriptor
    assert descriptor is not None
    moved = max(descriptor.read_bytes, descriptor.written_bytes)
    if descriptor.runs == 1 and moved == descriptor.wanted_bytes:
        return 0  # other limits, such as outstanding requests, are none of its form
    asked = max((cycles for _, cycles in cost.demands), default=0) * descriptor.wanted_bytes // moved
    copied = descriptor.wanted_bytes // getattr(engine, "bytes_per_cycle", 1)
    setup = 0 if descriptor.run_bytes < _burst(subject, template) else engine.setup_cycles
    return max(cost.duration - cost.tokens - setup - max(asked, copied, 1), 0)


def _burst(subject: Subject, template: Template) -> int:
    """The largest burst of the memories of the copy, in bytes."""
    assert subject.report is not None
    places = subject.report.program.places.by_buffer
    works = template.choices[0].works
    return max(places[a.buffer].memory.burst_bytes for work in works for a in (*work.reads, *work.writes))


def _short_runs(subject: Subject, template: Template, cycles: int, spent: int) -> LintFinding:
    assert subject.report is not None
    variants = subject.report.program.variants
    found = [variants[n].cost.descriptor for t, n, _ in subject.tasks() if t is template]
    worst = max((d for d in found if d is not None), key=lambda d: d.runs)
    burst = _burst(subject, template)
    takes = f" and {worst.descriptors} descriptors" if worst.descriptors > 1 else ""
    return LintFinding(
        "short-runs", "warning",
        f"{template.name} copies {worst.wanted_bytes} bytes in {_runs(worst.runs)} of {worst.run_bytes} bytes with bursts of "
        f"{burst} bytes{takes}: set-up and unused bytes cost {cycles} of its {spent} cycles",
        tuple(b.name for b in template.blocks if b.name),
        buffers=tuple(dict.fromkeys(a.buffer.name for w in template.choices[0].works for a in w.writes)),
    )  # fmt: skip


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def short_runs_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """The copy in another loop, where its runs are longer, or at its original place; another order of the axes of the on-chip buffer
    (`set_layout`)."""
    for block in finding.blocks:
        if not subject.index.has_block(block) or not subject.is_copy(block):
            continue
        yield from subject.other_placements(block)
        yield from (subject.then(move(block, target)) for target in subject.targets(block))
        write = subject.index.block(block).writes[0]
        rank = len(write.buffer.shape)
        if rank <= MOST_AXES and not subject.index.is_param(write.buffer):
            for order in permutations(range(rank)):
                if order != tuple(range(rank)):
                    yield subject.then(lambda sch, block=block, order=order: sch.set_layout(block, ("write", 0), order))
