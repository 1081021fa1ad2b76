"""Lints: blocks that leave cores of a chip without work, and what all cores share."""

from __future__ import annotations

from collections.abc import Iterator

from ..hwsim import VectorEngine
from ..ir import For, TilewrightError, Var
from .finding import LintFinding, lint_finding
from .kernels.texts import statements_of, with_text
from .subject import Subject

AXES = ("blockIdx.x", "blockIdx.y", "blockIdx.z")


def find_block_too_large(subject: Subject) -> Iterator[LintFinding]:
    """A core has no room for the threads, registers or shared memory of one block: the kernel cannot start."""
    return map(lint_finding, subject.findings("block-too-large"))


def find_endless_barriers(subject: Subject) -> Iterator[LintFinding]:
    """A barrier of all blocks of a grid waits for blocks that begin only when others have ended: it never ends."""
    return map(lint_finding, subject.findings("barrier-too-many-blocks"))


def find_idle_cores(subject: Subject) -> Iterator[LintFinding]:
    """There are fewer blocks than cores, or work outside of loops over blocks, which runs on one core."""
    return map(lint_finding, subject.findings("idle-cores"))


def find_uneven_tail(subject: Subject) -> Iterator[LintFinding]:
    """The blocks do not fill their waves: in the last one, cores are idle while others still run blocks."""
    return map(lint_finding, subject.findings("uneven-tail"))


def find_saturated_ports(subject: Subject) -> Iterator[LintFinding]:
    """A port that all cores share is busy for nearly all cycles: more cores save no time, fewer bytes per operation do."""
    return map(lint_finding, subject.findings("port-saturated"))


def find_cache_thrash(subject: Subject) -> Iterator[LintFinding]:
    """Blocks that run together, or one after the other, need different data: the cache that all cores share loses lines before they are
    used again, and the memory behind it limits the program. Blocks in another order (rasterisation) take fewer cycles."""
    return map(lint_finding, subject.findings("shared-cache-thrash"))


def find_unknown_contents(subject: Subject) -> Iterator[LintFinding]:
    """The contents of the cache that all cores share are not known: the cycles count all accesses as hits."""
    return map(lint_finding, subject.findings("shared-cache-unknown"))


def order_fixes(subject: Subject, _: LintFinding) -> Iterator[Subject | None]:
    """`T.use_swizzle` with the order of blocks that takes the fewest cycles, in the text of a TileLang kernel."""
    statements, report = statements_of(subject), subject.report
    if statements is None or report is None:
        return
    replayed = [order for order in report.cache_orders[1:] if order.cycles is not None]
    for order in sorted(replayed, key=lambda o: o.cycles or 0):
        try:
            yield with_text(subject, statements.with_panel(order.panel, order.along))
        except TilewrightError:
            yield None


def find_bounded_cores(subject: Subject) -> Iterator[LintFinding]:
    """The cores of a chip do not do the same, and are too many to replay all: the cycles are an estimate between two bounds."""
    return map(lint_finding, subject.findings("cores-bounded"))


def find_unbound(subject: Subject) -> Iterator[LintFinding]:
    """A scheduled program for a machine whose work is done by threads has no loop that is bound to threads: TVM refuses to build it for
    CUDA."""
    machine = subject.machine
    direct = any(isinstance(e, VectorEngine) and machine.far.name in e.reads for e in machine.engines)
    is_scheduled = any(step.changes for step in subject.schedule.trace.steps)
    if machine.thread_memories and direct and is_scheduled and not any(f.thread_tag for f in subject.index.loops):
        message = (
            "no loop is bound to threads: TVM does not build the program for CUDA, and a GPU would run it on one thread"
        )
        yield LintFinding("no-threads", "warning", message)


def grid_fixes(subject: Subject, _: LintFinding) -> Iterator[Subject | None]:
    """`bind` of the loop below the loops over blocks to the next axis of the grid; the nearest smaller or larger divisor in the split that
    created a loop over blocks, or the loop below: tiles of another size."""
    grid = [loop for loop in subject.index.loops if (loop.thread_tag or "").startswith("blockIdx")]
    free = [axis for axis in AXES if axis not in {loop.thread_tag for loop in grid}]
    below = [child for loop in grid[-1:] for child in _below(subject, loop)]
    for loop in below if free else ():
        yield subject.then(lambda sch, var=loop.loop_var: sch.bind(var, free[0]))
    tried: set[Var] = set()
    for loop in (*grid, *below):
        if loop.loop_var not in tried:
            tried.add(loop.loop_var)
            yield from subject.other_splits(loop.loop_var)


def _below(subject: Subject, loop: For) -> Iterator[For]:
    """Yields the loop that is perfectly nested in a loop."""
    if isinstance(loop.body, For) and loop.body.thread_tag is None:
        yield loop.body
