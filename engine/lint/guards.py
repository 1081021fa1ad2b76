"""Lint: conditions around the innermost work."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from ..arith import prove
from ..ir import BlockRealize, For, Range, Var, build, uses_var
from ..schedule import Schedule
from .finding import LintFinding
from .subject import Subject

PART_OF_ALL = 10
"""A block with less than this fraction (one in 10) of the iterations of all blocks is not reported."""


def find_guards(subject: Subject) -> Iterator[LintFinding]:
    """A block in the innermost loop runs under a condition, because a split does not divide its loop: every iteration checks the condition,
    although only the last outer iteration needs it, and the iterations beyond the bound do nothing."""
    blocks = [(r, subject.iterations(r.block.name) or 0) for r in subject.leaf_blocks()]
    everything = sum(count for _, count in blocks)
    for realize, count in blocks:
        if build.is_true(realize.predicate) or not count or count * PART_OF_ALL < everything:
            continue
        loops = _loops_of_guard(subject, realize)
        idle = _idle(subject, realize, count)
        if not loops or (subject.source and not idle):
            continue  # a copy of a TileLang kernel has bounds, which its compiler leaves out where they hold
        names = " and ".join(f.loop_var.name for f in loops)
        yield LintFinding(
            "guard", "warning" if idle * PART_OF_ALL >= count else "info",
            f"{realize.block.name} checks its bounds in each of {count} iterations, because the split into {names} is uneven, "
            f"and {idle} iterations do nothing",
            (realize.block.name,), tuple(f.loop_var for f in loops),
        )  # fmt: skip


def _loops_of_guard(subject: Subject, realize: BlockRealize) -> tuple[For, ...]:
    return tuple(f for f in subject.loops_above(realize.block.name) if uses_var(realize.predicate, f.loop_var))


def _idle(subject: Subject, realize: BlockRealize, count: int) -> int:
    """The number of iterations that fail the condition, if it can be counted from the domain, else 0."""
    points = subject.domain(realize.block.name)
    return max(count - points, 0) if points else 0


def guard_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """The split by the nearest smaller or larger divisor; otherwise `loop_partition` of its outer loop, which separates the iterations
    that need no condition."""
    (name,) = finding.blocks
    realize = subject.index.realize(name)
    loops = _loops_of_guard(subject, realize)
    for loop in loops[-1:]:
        yield from subject.other_splits(loop.loop_var)
    for loop in loops[:1]:
        full = _full_iterations(subject, realize, loop)
        if 0 < full < (build.int_value(loop.extent) or 0):
            yield subject.then(lambda sch, loop=loop.loop_var, full=full: _parted(sch, loop, full))


def _parted(sch: Schedule, loop: Var, full: int) -> None:
    sch.loop_partition(loop, [full])


def _full_iterations(subject: Subject, realize: BlockRealize, loop: For) -> int:
    """The number of leading iterations of a loop that provably meet the condition."""
    ranges = {f.loop_var: Range(f.min, f.extent) for f in subject.loops_above(realize.block.name)}

    def is_guarded(count: int) -> bool:
        leading = {**ranges, loop.loop_var: Range(loop.min, build.const(count, loop.loop_var.dtype))}
        return not all(prove(term, leading) for term in build.conjuncts(realize.predicate))

    return bisect_left(range(1, 1 + (build.int_value(loop.extent) or 0)), True, key=is_guarded)
