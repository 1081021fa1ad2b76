"""Rules: where blocks run: inlined, at a loop of their producer or consumer, on chip; and in which order a scan runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from ..analysis import updates_only_own_element
from ..ir import Var, build
from ..lint.placement import spread
from ..lint.subject import Subject, move
from ..schedule import Schedule
from .rule import RuleProposal

THREADS = 128
"""Threads of a block that runs rows of a scan."""

MOST_TIMES = 1024
"""Blocks are moved to loops whose body runs at most this many times: tiles of fewer iterations cost more in set-up than they save."""


def inlined(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a block that computes an intermediate buffer, not a reduction. Calls: `compute_inline` into its consumers, or
    `reverse_compute_inline` into its producer, so that the buffer disappears."""
    for realize in subject.leaf_blocks():
        name = realize.block.name
        if subject.is_copy(name) and any(w.buffer.scope != "global" for w in realize.block.writes):
            continue
        yield RuleProposal(
            f"Inline {name} into its consumers", subject.then(lambda sch, name=name: sch.compute_inline(name))
        )
        yield RuleProposal(
            f"Inline {name} into its producer", subject.then(lambda sch, name=name: sch.reverse_compute_inline(name))
        )


def moved(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a block that may move to a loop of another one. Calls: `compute_at` or `reverse_compute_at` with up to eight loops, from the
    outermost to the innermost."""
    for realize in subject.leaf_blocks():
        name = realize.block.name
        outer = tuple(t for t in subject.targets(name) if _times(subject, t.loop) <= MOST_TIMES)
        for target in spread(outer):
            verb = "Compute" if target.primitive == "compute_at" else "Continue with"
            yield RuleProposal(f"{verb} {name} at loop {target.loop.name}", subject.then(move(name, target)))


def _times(subject: Subject, loop: Var) -> int:
    """How often the body of a loop runs."""
    own = subject.index.loop(loop)
    around = (*subject.index.loops_above(own), own)
    return prod(build.int_value(f.extent) or 1 for f in around)


def rows_outside(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a block that reads elements which other iterations of it write, as a scan in place does, and a loop whose iterations are
    independent of each other. Calls: `reorder` of this loop to the outermost place; on a machine that executes threads `split` and `bind`
    of it, too."""
    for realize in subject.leaf_blocks():
        name = realize.block.name
        if subject.index.fact(updates_only_own_element, realize.block):
            continue
        chain = subject.loops_above(name)
        for loop in chain:
            rows = loop.loop_var
            order = [rows, *(f.loop_var for f in chain if f is not loop)]
            if loop is not chain[0]:
                after = subject.then(lambda sch, order=order: sch.reorder(*order))
                yield RuleProposal(f"Loop {rows.name} outside of the steps of {name}", after)
            if subject.machine.thread_memories:
                after = subject.then(lambda sch, order=order: _bound(sch, order))
                yield RuleProposal(f"A thread for each iteration of {rows.name}", after)


def _bound(sch: Schedule, order: Sequence[Var]) -> None:
    """Bind the first of these loops, as the outermost one, to threads of several blocks."""
    if sch.index.loops_above(sch.index.loop(order[0])):
        sch.reorder(*order)
    outer, inner = sch.split(order[0], factors=[None, THREADS])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")


def placed_elsewhere(subject: Subject) -> Iterator[RuleProposal]:
    """Requires a block that a call placed at a loop. Replaces the loop of that call by the next one outside or inside; the later calls are
    made again."""
    for realize in subject.leaf_blocks():
        name = realize.block.name
        for after in subject.neighbouring_placements(name):
            assert after.revision is not None and after.revision.step is not None
            yield RuleProposal(f"Move {name} to loop {after.revision.step.argument('loop').name}", after)
