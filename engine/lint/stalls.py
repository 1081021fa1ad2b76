"""Calls that end a stall of the timeline: tried and simulated on copies of the schedule, as the fixes of lints are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ..hwsim import Report
from ..lower import marks_of
from ..schedule import Schedule
from .finding import LintFinding
from .rule import Lint
from .slots import third_slot
from .subject import Subject

ENDED = 0.5
"""A stall has ended if at most this fraction of its cycles is left."""


class Stall(msgspec.Struct, frozen=True):
    """The stalls of an engine for one cause: on `buffer`, held by `block`; or (as `block`) on a port, a queue, another engine."""

    engine: str
    cause: str
    buffer: str = ""
    block: str = ""

    def cycles(self, report: Report) -> int:
        """The cycles of these stalls over the run."""
        waits = report.engines[self.engine].waits if self.engine in report.engines else ()
        mine = (self.cause, self.buffer, self.block if not self.buffer else "")
        return sum(w.cycles for w in waits if (w.cause, w.buffer, w.block if not w.buffer else "") == mine)


def remedies(subject: Subject, stall: Stall) -> Iterator[LintFinding | None]:
    """Yields the stall as a finding with the calls that end it, if any do; None after each trial, so that the caller can stop."""
    limit = ENDED * stall.cycles(subject.report) if subject.report is not None else 0

    def find(now: Subject) -> Iterable[LintFinding]:
        if now.report is not None and stall.cycles(now.report) > limit:
            yield LintFinding("stall", "warning", reason(now.report, stall), buffers=(stall.buffer,))

    rule = Lint("stall", "warning", "Stall", find, lambda now, _: _candidates(now, stall), requires_speedup=True)
    return rule.linted(subject)


def _candidates(subject: Subject, stall: Stall) -> Iterator[Subject | None]:
    """More slots for the awaited buffers, all together and one by one; other loops for their copies; other divisors of the loops around."""
    buffers = (stall.buffer, *_awaited_too(subject, stall)) if stall.buffer else ()
    writers = tuple(dict.fromkeys(w for b in buffers for w in subject.writers(b)))
    for group in dict.fromkeys((writers, *((w,) for w in writers))):
        yield subject.then(lambda sch, group=group: [_another_slot(sch, w) for w in group])
    for block in writers or (stall.block,):
        if block in subject.index.block_names:
            yield from subject.other_placements(block)
            for loop in subject.loops_above(block):
                yield from subject.other_splits(loop.loop_var)


def _awaited_too(subject: Subject, stall: Stall) -> tuple[str, ...]:
    """Other buffers that the engine waits for, for the same cause."""
    waits = subject.report.engines[stall.engine].waits if subject.report is not None else ()
    return tuple(w.buffer for w in waits if w.cause == stall.cause and w.buffer != stall.buffer)


def _another_slot(sch: Schedule, block: str) -> None:
    if marks_of(sch.index.block(block)):
        third_slot(sch, block)
    else:
        sch.double_buffer(block)


def reason(report: Report, stall: Stall) -> str:
    """The stall in figures: the rate that the engine needs and that of the port, or the cycles that could be hidden."""
    waiting = report.engines[stall.engine]
    filling = next((t.engine for t in report.tasks if t.block == stall.block), "")
    is_copying = waiting.kind == "dma"
    port = next((b for b in report.bounds if b.kind == "port" and b.name == "global port"), None)
    moved = sum(t.bytes for t in report.traffic if "global" in (t.source, t.destination))
    if port is not None and waiting.busy and moved and not is_copying and port.cycles > waiting.busy:
        needs, has = moved / waiting.busy, moved / port.cycles
        return f"{stall.engine} needs {needs:.0f} B/cycle to work without stalls, the {port.name} has {has:.0f}"
    if filling in report.engines and waiting.busy and not is_copying:
        busy = report.engines[filling].busy
        if busy <= waiting.busy:
            return f"{filling} works for {busy:,} cycles, which would fit beside the {waiting.busy:,} of {stall.engine}"
        return f"{filling} works for {busy:,} cycles and {stall.engine} for {waiting.busy:,}: at most the latter can overlap"
    return f"{stall.engine} works for {waiting.busy:,} of {report.cycles:,} cycles"
