"""Rules: engines that work at the same time: double buffers and pipelines."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import SeqStmt, Var
from ..lint.slots import is_doubled
from ..lint.subject import Subject
from ..schedule import Schedule
from .rule import RuleProposal


def double_buffered(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a block that fills an on-chip buffer below a loop, in one slot. Calls: `double_buffer` of all such copies, then of each."""
    single = [
        realize.block.name
        for realize in subject.leaf_blocks()
        if subject.loops_above(realize.block.name)
        and not is_doubled(realize.block.annotations)
        and all(w.buffer.scope != subject.machine.far.scope for w in realize.block.writes)
    ]
    legal = [n for n in single if subject.then(lambda sch, n=n: sch.double_buffer(n)) is not None]
    if len(legal) > 1:
        yield RuleProposal("Double-buffer all copies", subject.then(lambda sch: [sch.double_buffer(n) for n in legal]))
    for name in legal:
        yield RuleProposal(f"Double-buffer {name}", subject.then(lambda sch, name=name: sch.double_buffer(name)))


def pipelined(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a loop around several parts. Calls: `pipeline` of the loop in two stages, split before each part in turn, and in three: the
    copies in and the last part are stages of their own."""
    for loop in subject.index.loops:
        body = loop.body
        if not isinstance(body, SeqStmt) or any(key.startswith("software_pipeline") for key, _ in loop.annotations):
            continue
        for stages in _stages(len(body.seq)):
            parts = 1 + max(stages)
            after = subject.then(lambda sch, loop=loop, stages=stages: _pipeline(sch, loop.loop_var, stages))
            yield RuleProposal(f"Pipeline loop {loop.loop_var.name} in {parts} stages", after)


def _pipeline(sch: Schedule, loop: Var, stages: tuple[int, ...]) -> None:
    last_first = sorted(range(len(stages)), key=lambda n: (-stages[n], n))
    sch.pipeline(loop, stages, [last_first.index(n) for n in range(len(stages))])


def _stages(count: int) -> Iterator[tuple[int, ...]]:
    """The stage of each of `count` parts in order."""
    for cut in range(1, count):
        yield (*(0 for _ in range(cut)), *(1 for _ in range(count - cut)))
    for first in range(1, count - 1):
        for second in range(first + 1, count):
            yield tuple((n >= first) + (n >= second) for n in range(count))
