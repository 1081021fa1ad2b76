"""Lints: recomputed blocks, and intermediate buffers without tiling."""

from __future__ import annotations

from collections.abc import Iterator

from ..hwsim import Placement
from ..ir import Var
from ..schedule import Schedule, Target
from .capacity import find_overflows
from .finding import LintFinding, bytes_text
from .subject import Chain, Subject, move

TIMES = 1.5
"""A block is recomputed if it runs at least this many times as often as it has elements."""

MOST_TARGETS = 8
"""Places for a block that are tried."""

MOST_WHOLE = 6
"""Buffers that are considered, the largest first."""


def find_recomputed(subject: Subject) -> Iterator[LintFinding]:
    """A block computes each of its elements several times, because successive iterations of the loop that it was moved into compute the
    same elements. Reported only if another place makes the program faster, as recomputation can be cheaper than storage. Copies are not
    reported: whether a tile is loaded again depends on the capacity of the memory."""
    if subject.report is None:
        return
    for realize in subject.leaf_blocks():
        name = realize.block.name
        runs, points = subject.iterations(name), subject.domain(name)
        if runs is None or not points or runs < TIMES * points or subject.is_copy(name):
            continue
        loop = _placed_under(subject, name)
        under = f" in loop {loop.name}" if loop is not None else ""
        yield LintFinding(
            "recompute", "warning",
            f"{name} computes each element {runs / points:.1f} times{under}: {runs} iterations for {points} elements",
            (name,), () if loop is None else (loop,),
            tuple(dict.fromkeys(w.buffer.name for w in realize.block.writes)),
        )  # fmt: skip


def _placed_under(subject: Subject, block: str) -> Var | None:
    """The innermost loop that a block shares with a consumer."""
    own = [f.loop_var for f in subject.index.loops_of(block)]
    shared = [f.loop_var for n in subject.index.consumers(block) for f in subject.index.loops_of(n)]
    return next((v for v in reversed(own) if v in shared), None)


def recompute_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """Another loop in the `compute_at` that moved the block, or no such call, as the block cannot be moved out of the loop afterwards;
    `rolling_buffer`, which keeps the rows that the next iteration needs."""
    for block in finding.blocks:
        runs = subject.iterations(block) or 0
        yield subject.then(lambda sch, block=block: sch.rolling_buffer(block, 0))
        for after in subject.other_placements(block):
            yield after if (after.iterations(block) or runs) < runs else None


def find_whole(subject: Subject) -> Iterator[LintFinding]:
    """An intermediate buffer is stored as a whole although a tile of it suffices, as its writer and its readers can share a loop. Reported
    only if a tile makes the program faster, or relieves a memory that is at least half full."""
    if subject.report is None:
        return
    full = {f.memory for f in find_overflows(subject)}  # overflows are already reported
    whole = [p for p in subject.placements() if _is_whole(p) and p.slots == 1 and p.memory.scope not in full]
    for placement in sorted(whole, key=lambda p: -p.total_bytes)[:MOST_WHOLE]:
        name = placement.buffer.name
        writers, readers = subject.writers(name), subject.readers(name)
        if len(writers) == 1 and readers:
            size = bytes_text(placement.total_bytes)
            yield LintFinding(
                "whole-buffer", "warning",
                f"{name} occupies {size} in {placement.memory.scope}: {writers[0]} and {readers[0]} can share a loop, so that a "
                "tile suffices",
                (*writers, *readers), buffers=(name,),
            )  # fmt: skip


def _is_whole(placement: Placement) -> bool:
    return all(loop.extent == 1 for loop in placement.site.loops)


def whole_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`compute_at` of its writer in a loop of the reader, or `reverse_compute_at` of the reader in a loop of the writer; for a buffer in
    the far memory also `set_scope` to a nearer one."""
    (buffer,) = finding.buffers
    before = subject.placement(buffer)
    assert before is not None
    scope = _near_scope(subject, before)
    for block in finding.blocks:
        targets = subject.targets(block)
        wanted = "compute_at" if block in subject.writers(buffer) else "reverse_compute_at"
        for target in spread(tuple(t for t in targets if t.primitive == wanted)):
            after = subject.then(move(block, target))
            if after is None:
                continue
            yield after if _held(after) <= _held(subject) else None
            if scope is not None:
                yield after.then(_scoped(subject, buffer, scope))


def _held(subject: Subject) -> int:
    """The sum of the peaks of the memories, each at its own time, without the largest one."""
    if subject.report is None:
        return 0
    far = subject.machine.far
    return sum(m.peak_bytes for m in subject.report.memory.values() if m.scope != far.scope)


def _scoped(subject: Subject, buffer: str, scope: str) -> Chain:
    writer = subject.writers(buffer)[0]
    position = subject.write_position(writer, buffer)

    def call(sch: Schedule) -> None:
        sch.set_scope(writer, position, scope)

    return call


def _near_scope(subject: Subject, placement: Placement) -> str | None:
    """For a buffer in the largest memory, the scope of the largest of the others; else None."""
    far = subject.machine.far
    if placement.memory is not far:
        return None
    others = [m for m in subject.machine.memories if m is not far]
    return max(others, key=lambda m: m.capacity_bytes).scope if others else None


def spread(targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """Some of many places, from the outermost to the innermost."""
    if len(targets) <= MOST_TARGETS:
        return targets
    return tuple(targets[n * len(targets) // MOST_TARGETS] for n in range(MOST_TARGETS))
