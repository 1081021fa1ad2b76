"""Lints: two slots where one suffices, or where a third one saves cycles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..hwsim import Report
from ..ir import Annotations
from ..lower import DOUBLE_BUFFER_KEY, DOUBLE_BUFFER_KEYS, marks_of
from ..schedule import Schedule
from .finding import LintFinding, lint_finding
from .rule import MIN_SPEEDUP
from .subject import Subject

MIN_GAIN = 0.05
"""The fraction of the cycles that a third slot has to save."""


def find_idle_slots(subject: Subject) -> Iterable[LintFinding]:
    """A double buffer never uses more than one slot at a time: its writer is not ahead of its reader. The second slot needs memory and
    saves no cycles. In a TileLang kernel `num_stages` gives all tiles their slots: it is too large only if none of them uses two."""
    found = [lint_finding(finding) for finding in subject.findings("double-buffer-idle")]
    idle = {name for finding in found for name in finding.buffers}
    slots = [p.buffer.name for p in subject.placements() if p.slots > 1]
    return [] if subject.source and not idle.issuperset(slots) else found


def idle_slots_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """Removal of the annotation of `double_buffer`."""
    for buffer in finding.buffers:
        yield subject.then(lambda sch, buffer=buffer: [one_slot(sch, w) for w in subject.writers(buffer)])


def find_late_loads(subject: Subject) -> Iterator[LintFinding]:
    """Copies wait for a free slot of a double buffer while another engine waits for their data: a load and the latency of its memory last
    longer than one step of the computation. With a third slot, two loads run during one step; a simulation of it proves that."""
    report = subject.report
    if report is None:
        return
    doubled = [p.buffer.name for p in subject.placements() if p.slots == 2 and p.site.slot_loop is not None]
    loads, uses = (_waits(report, cause, doubled) for cause in ("slot", "data"))
    names = [name for name in doubled if loads[name] or uses[name]]
    lost = sum(uses.values())
    if min(lost, sum(loads.values())) < report.cycles * MIN_SPEEDUP:
        return
    trials = (_with_third_slots(subject, group) for group in _groups(names))
    after = next((trial for trial in trials if trial is not None and _is_worth_memory(report, trial)), None)
    if after is not None and after.report is not None:
        saved = report.cycles - after.report.cycles
        yield LintFinding(
            "late-loads", "warning",
            f"computation waits {lost} of {report.cycles} cycles for {' and '.join(names)}, while the copies wait for a free "
            f"slot; with a third slot the program takes {saved} cycles less",
            tuple(dict.fromkeys(w for name in names for w in subject.writers(name))), buffers=tuple(names), saved=saved,
        )  # fmt: skip


def late_loads_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """A third slot for all of these buffers (`double_buffer(slots=3)`), then for one of them, if it saves 5 % of the cycles."""
    for names in _groups(finding.buffers):
        after = _with_third_slots(subject, names)
        yield after if _is_worth_memory(subject.report, after) else None


def _groups(names: Sequence[str]) -> list[tuple[str, ...]]:
    """All of the buffers together, then each."""
    return [tuple(names), *((name,) for name in names if len(names) > 1)]


def _with_third_slots(subject: Subject, names: Sequence[str]) -> Subject | None:
    marking = [w for n in names for w in subject.writers(n) if marks_of(subject.index.block(w))]
    return subject.then(lambda sch: [third_slot(sch, w) for w in marking])


def _is_worth_memory(before: Report | None, after: Subject | None) -> bool:
    if before is None or after is None or after.report is None:
        return False
    return after.report.cycles <= before.cycles * (1 - MIN_GAIN)


def _waits(report: Report, cause: str, buffers: list[str]) -> dict[str, int]:
    """The cycles that engines wait for each buffer."""
    waits = [w for engine in report.engines.values() for w in engine.waits if w.cause == cause]
    return {name: sum(w.cycles for w in waits if w.buffer == name) for name in buffers}


def third_slot(sch: Schedule, block: str) -> None:
    """Gives the buffer of a block three slots in place of two."""
    banks = next((slots.banks for slots in marks_of(sch.index.block(block)).values()), ())
    one_slot(sch, block)
    sch.double_buffer(block, banks=(*banks, banks[0]) if banks else None, slots=3)


def is_doubled(annotations: Annotations) -> bool:
    return any(key == DOUBLE_BUFFER_KEY for key, _ in annotations)


def one_slot(sch: Schedule, block: str) -> None:
    """Removes the annotations of `double_buffer` from a block."""
    for key, _ in sch.index.block(block).annotations:
        if key in DOUBLE_BUFFER_KEYS:
            sch.unannotate(block, key)
