"""Lint: two slots where one suffices."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import Annotations
from ..lower import BANKS_KEY, DOUBLE_BUFFER_KEY
from ..schedule import Schedule
from .finding import LintFinding, lint_finding
from .subject import Subject


def find_idle_slots(subject: Subject) -> Iterator[LintFinding]:
    """A double buffer never uses more than one slot at a time: its writer is not ahead of its reader. The second slot needs memory and
    saves no cycles."""
    return map(lint_finding, subject.findings("double-buffer-idle"))


def idle_slots_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """Removal of the annotation of `double_buffer`."""
    for buffer in finding.buffers:
        yield subject.then(lambda sch, buffer=buffer: [one_slot(sch, w) for w in subject.writers(buffer)])


def is_doubled(annotations: Annotations) -> bool:
    return any(key == DOUBLE_BUFFER_KEY for key, _ in annotations)


def one_slot(sch: Schedule, block: str) -> None:
    """Removes the annotations of `double_buffer` from a block."""
    for key, _ in sch.index.block(block).annotations:
        if key in (DOUBLE_BUFFER_KEY, BANKS_KEY):
            sch.unannotate(block, key)
