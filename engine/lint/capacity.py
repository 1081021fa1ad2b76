"""Lint: a memory holds more than its capacity."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from ..hwsim import Placement
from ..ir import Var, build
from .finding import LintFinding, bytes_text, lint_finding
from .kernels.values import value_fixes
from .rule import overflow_bytes
from .slots import is_doubled, one_slot
from .subject import Chain, Subject, in_parts, move

DEEPEST = 4
"""Maximum length of a chain of calls; each step extends the best call of the step before."""

MOST_CALLS = 160
"""Maximum number of calls that are tried in all."""

SOURCES = 3
"""Buffers of a memory that are considered, the largest first."""

SPLITS = (2, 4, 8)
"""Numbers of parts into which a loop is split for a smaller tile."""


def find_overflows(subject: Subject) -> Iterator[LintFinding]:
    """The peak use of a memory, or of one of its physical blocks, exceeds its capacity. The program cannot run; its cycles assume a memory
    that is large enough."""
    if subject.report is None:
        return
    by_memory: dict[str, list[LintFinding]] = {}
    for finding in subject.findings("capacity-overflow"):
        by_memory.setdefault(subject.report.memory[finding.memory].scope, []).append(lint_finding(finding))
    for scope, found in by_memory.items():
        buffers = tuple(dict.fromkeys(name for f in found for name in f.buffers))
        writers = tuple(dict.fromkeys(w for name in buffers for w in subject.writers(name)))
        yield replace(
            found[0], message=_message(subject, found, buffers), blocks=writers, buffers=buffers, memory=scope
        )


def _message(subject: Subject, found: list[LintFinding], buffers: tuple[str, ...]) -> str:
    assert subject.report is not None
    rows = [(f.memory, subject.report.memory[f.memory]) for f in found]
    needs = ", ".join(
        f"{row} needs {bytes_text(m.peak_bytes)} but has {bytes_text(m.capacity_bytes)}" for row, m in rows
    )
    tiles = [(name, p.part_bytes * p.cells) for name in buffers if (p := subject.placement(name)) is not None]
    largest = ", ".join(f"{name} {bytes_text(size)}" for name, size in tiles)
    return f"{needs}{f'; largest: {largest}' if largest else ''}"


def overflow_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """Copies deeper in the nest, where the tile is smaller (`compute_at`, `reverse_compute_at`); one slot instead of two; a split of an
    inner loop whose outer part moves out, so that the tile is smaller. Chains of such calls if one is not enough. In the text of a
    TileLang kernel: fewer stages, or a smaller tile with which it computes the same."""
    now, scope, left = subject, finding.memory, MOST_CALLS
    if subject.source:
        yield from value_fixes(subject, lambda after: after.report is not None and not _over(after, scope))
        return
    for _ in range(DEEPEST):
        over = _over(now, scope)
        better: list[Subject] = []
        for after in islice(_smaller(now, scope), left):
            left -= 1
            helps = after.report is not None and _over(after, scope) < over
            better += [after] if helps else []
            yield after if helps and not _over(after, scope) else None
        if not better or any(not _over(after, scope) for after in better):
            return
        now = min(better, key=lambda s, over=over: _remaining_cost(s, scope, over))


def _over(subject: Subject, scope: str) -> int:
    assert subject.report is not None
    return overflow_bytes(subject.report, scope)


def _remaining_cost(subject: Subject, scope: str, before: int) -> float:
    """The cycles, weighted by the remaining overflow: the next step extends a call that frees much memory for few cycles."""
    assert subject.report is not None
    return subject.report.cycles * (1 + _over(subject, scope) / before)


def _smaller(subject: Subject, scope: str) -> Iterator[Subject]:
    """Yields subjects after one call (or a split with its moves) that may reduce the use of a memory."""
    for placement in _largest(subject, scope):
        buffer = placement.buffer.name
        writers = subject.writers(buffer)
        for block in (*writers, *(n for n in subject.readers(buffer) if subject.is_copy(n))):
            for target in subject.targets(block):
                after = subject.then(move(block, target))
                if after is not None:
                    yield after
        for block in writers:
            if is_doubled(subject.index.block(block).annotations):
                after = subject.then(lambda sch, block=block: one_slot(sch, block))
                if after is not None:
                    yield after
            yield from _in_parts(subject, block)


def _largest(subject: Subject, scope: str) -> list[Placement]:
    found = (p for p in subject.placements() if p.memory.scope == scope)
    return sorted(found, key=lambda p: -p.part_bytes * p.cells)[:SOURCES]


def _in_parts(subject: Subject, copy: str) -> Iterator[Subject]:
    """Yields subjects with the copies of a consumer per part of one of its loops: the loop is split, its outer part moves up to the
    copies, and these below it."""
    if not subject.is_copy(copy):
        return
    around = [f.loop_var for f in subject.loops_above(copy)]
    for consumer in subject.index.consumers(copy):
        inside = [f for f in subject.index.loops_of(consumer) if f.loop_var not in around]
        for copies in dict.fromkeys(((copy,), _sibling_copies(subject, copy, consumer))):
            for loop in inside:
                for parts in SPLITS:
                    extent = build.int_value(loop.extent) or 1
                    if extent % parts:
                        continue
                    after = subject.then(_parted(copies, loop.loop_var, inside[0].loop_var, parts))
                    if after is not None:
                        yield after


def _parted(copies: tuple[str, ...], loop: Var, top: Var, parts: int) -> Chain:
    return lambda sch: in_parts(sch, copies, loop, top, parts)


def _sibling_copies(subject: Subject, copy: str, consumer: str) -> tuple[str, ...]:
    """The copies that a consumer reads, under the same loops as one of them."""
    around = subject.index.loops_of(consumer)
    own = [f for f in subject.index.loops_of(copy) if f in around]
    return tuple(
        name
        for name in subject.index.producers(consumer)
        if subject.is_copy(name) and [f for f in subject.index.loops_of(name) if f in around] == own
    )
