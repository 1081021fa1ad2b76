"""Lint: conditions around the innermost work."""

from __future__ import annotations

from collections.abc import Iterator

from ..arith import prove
from ..ir import BlockRealize, Expr, For, Range, Var, build, substitute, uses_var
from ..schedule import Schedule
from .finding import LintFinding
from .subject import Subject

PART_OF_ALL = 10
"""A block with less than this fraction (one in 10) of the iterations of all blocks is not reported."""

MOST_TURNS = 512
"""Maximum iterations of a loop that are searched for the first one that needs the condition."""


def find_guards(subject: Subject) -> Iterator[LintFinding]:
    """A block in the innermost loop runs under a condition, because a split does not divide its loop: the condition is asked at every
    iteration, though only the last turn needs it, and the iterations beyond the edge do nothing."""
    blocks = [(r, subject.iterations(r.block.name) or 0) for r in subject.leaf_blocks()]
    everything = sum(count for _, count in blocks)
    for realize, count in blocks:
        if build.is_true(realize.predicate) or not count or count * PART_OF_ALL < everything:
            continue
        loops = _loops_of_guard(subject, realize)
        idle = _idle(subject, realize, count)
        if not loops:
            continue
        names = " and ".join(f.loop_var.name for f in loops)
        yield LintFinding(
            "guard", "warning" if idle * PART_OF_ALL >= count else "info",
            f"{realize.block.name} asks at each of {count} iterations whether it is inside: {names} do not divide what they were split "
            f"from, and {idle} iterations do nothing",
            (realize.block.name,), tuple(f.loop_var for f in loops),
        )  # fmt: skip


def _loops_of_guard(subject: Subject, realize: BlockRealize) -> tuple[For, ...]:
    return tuple(f for f in subject.loops_above(realize.block.name) if uses_var(realize.predicate, f.loop_var))


def _idle(subject: Subject, realize: BlockRealize, count: int) -> int:
    """The number of iterations that fail the condition, if it can be counted from the domain, else 0."""
    points = subject.domain(realize.block.name)
    return max(count - points, 0) if points else 0


def remedies_guard(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """The split by a number that divides its loop, the nearest below or above; else `loop_partition` of its outer loop, the turns that need
    no condition apart from the last one."""
    (name,) = finding.blocks
    realize = subject.index.realize(name)
    loops = _loops_of_guard(subject, realize)
    for loop in loops[-1:]:
        yield from subject.split_otherwise(loop.loop_var)
    for loop in loops[:1]:
        full = _full_turns(subject, realize, loop)
        if full:
            yield subject.then(lambda sch, loop=loop.loop_var, full=full: _parted(sch, loop, full))


def _parted(sch: Schedule, loop: Var, full: int) -> None:
    sch.loop_partition(loop, [full])


def _full_turns(subject: Subject, realize: BlockRealize, loop: For) -> int:
    """The number of leading iterations of a loop that provably meet the condition throughout."""
    turns = build.int_value(loop.extent) or 0
    ranges = {f.loop_var: Range(f.min, f.extent) for f in subject.loops_above(realize.block.name) if f is not loop}
    for turn in range(min(turns, MOST_TURNS)):
        here: Expr = substitute(realize.predicate, {loop.loop_var: build.const(turn, loop.loop_var.dtype)})
        if not all(prove(term, ranges) for term in build.conjuncts(here)):
            return turn
    return 0
