"""Rule: other tile sizes."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import ScheduleCall, Var
from ..lint.subject import Subject
from .rule import RuleProposal


def resized(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a `split` into two. Replaces its factor by the next smaller or larger divisor; the later calls are made again."""
    for step in subject.schedule.trace.steps:
        loop = step.results[0] if step.results else None
        if step.method != "split" or not isinstance(loop, Var):
            continue
        for after in subject.other_splits(loop):
            assert after.revision is not None and after.revision.step is not None
            yield RuleProposal(
                f"Split {step.argument('loop').name} by {_factor(after.revision.step)}, not {_factor(step)}", after
            )


def _factor(step: ScheduleCall) -> object:
    return next((f for f in step.argument("factors") if f is not None), "")
