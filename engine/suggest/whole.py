"""Rule: a schedule of all blocks of a program that has none."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis import ProgramIndex
from ..explore import DerivedSpace, TilingTargetError, deriving_space
from ..explore.derive.groups import are_plain
from ..ir import replay
from ..lint.subject import Subject
from .rule import RuleProposal
from .tile import changing_steps


def scheduled(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a program in which the iterators of each block are its loops. Calls: those of the derived space (`explore`) with its
    defaults: the engine of each block, tiles, producers tile by tile, padding, copies of operands and results, and a pipeline."""
    if not are_plain(subject.index):
        return
    last = ""
    try:
        for derived in deriving_space(subject.schedule.func, subject.machine, sizes=subject.sizes):
            text = last if derived is None else derived.space.text_at(derived.space.default)
            yield RuleProposal("", None) if derived is None or text == last else _proposed(subject, derived)
            last = text
    except TilingTargetError:
        return


def _proposed(subject: Subject, derived: DerivedSpace) -> RuleProposal:
    steps = changing_steps(derived.space)
    after = subject.then(lambda sch: replay(steps, sch.make))
    blocks = subject.index.block_names[1:]
    changed = blocks if after is None else [name for name in blocks if _is_scheduled(subject, after, name)]
    count = "all" if len(changed) == len(blocks) else f"{len(changed)} of"
    title = f"Schedule {count} {len(blocks)} blocks" if len(blocks) > 1 else f"Schedule {''.join(blocks)}"
    return RuleProposal(title, after, derived.decisions)


def _is_scheduled(before: Subject, after: Subject, block: str) -> bool:
    """Whether calls removed a block, changed its loops, or moved one of its buffers to another memory."""
    return not after.index.has_block(block) or _situation(before.index, block) != _situation(after.index, block)


def _situation(index: ProgramIndex, block: str) -> object:
    """The loops around a block, and the memories of its buffers."""
    node = index.block(block)
    loops = [loop.loop_var for loop in index.loops_of(block)]
    return loops, [region.buffer.scope for region in (*node.reads, *node.writes)]
