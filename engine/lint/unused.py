"""Lints: blocks and buffers that nothing reads, and copied elements of which a part is never read, such as a box of which every second
element is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd, prod

from ..arith import linear
from ..ir import (
    Block,
    BlockRealize,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    IfThenElse,
    ScheduleCall,
    addressed_buffers,
    allocated_buffers,
    build,
    substitute,
    walk,
)
from ..schedule import Schedule, gathered_places, single_values
from .finding import LintFinding
from .subject import Subject

MOST_READ = 0.7
"""Copies of which a larger part is read are not reported."""

ORDINALS = {2: "2nd", 3: "3rd"}


def find_skipped(subject: Subject) -> Iterator[LintFinding]:
    """A copy moves a box of elements, but its readers use only every second or third along an axis, such as a convolution with a stride.
    The other elements cost copy time and on-chip memory."""
    for placement in subject.placements():
        name, shape = placement.buffer.name, [build.int_value(n) for n in placement.buffer.shape]
        copies, readers = subject.writers(name), subject.readers(name)
        loads = [_loads(name, subject.index.block(reader)) for reader in readers]
        if len(copies) != 1 or not subject.is_copy(copies[0]) or not loads or not all(loads) or None in shape:
            continue
        read_steps = _steps([load for of_reader in loads for load in of_reader])
        stored_steps = _steps(_stored(subject.index.block(copies[0])))
        axes = [n for n, (t, g) in enumerate(zip(read_steps, stored_steps, strict=True)) if t > g == 1]
        sizes = [n for n in shape if n is not None]
        read = prod(-(-n // read_steps[axis]) if axis in axes else n for axis, n in enumerate(sizes))
        if read <= MOST_READ * prod(sizes):
            each = " and ".join(
                f"every {ORDINALS.get(read_steps[n], f'{read_steps[n]}th')} along axis {n}" for n in axes
            )
            yield LintFinding(
                "skipped", "warning",
                f"{copies[0]} copies {prod(sizes)} elements at a time, of which {' and '.join(readers)} "
                f"{'reads' if len(readers) == 1 else 'read'} {read}: {each}",
                (*copies, *readers), buffers=(name,),
            )  # fmt: skip


def skipped_fixes(subject: Subject, finding: LintFinding) -> Iterator[Subject | None]:
    """`reindex_cache_read` instead of the `cache_read` that created the copy: it copies only the elements that are read, indexed by the
    iterators of the reader."""
    copy = finding.blocks[0]
    (read,) = subject.index.block(copy).reads

    def gathered(sch: Schedule, step: ScheduleCall) -> None:
        stored_steps = step.argument("block"), step.argument("read_buffer_index"), step.argument("storage_scope")
        sch.reindex_cache_read(*stored_steps, gathered_places(sch.index.block(stored_steps[0]), read.buffer.name)[0])

    yield from subject.other_creation(copy, "cache_read", gathered)


def _loads(name: str, block: Block) -> list[tuple[Expr, ...]]:
    """The elements of a buffer that a block loads, with the values of single-valued iterators; empty if it may read others, through a view
    or an address."""
    nodes = list(walk(block))
    views = {m.source.buffer.name for b in nodes if isinstance(b, Block) for m in b.match_buffers}
    if name in views | {b.name for b in addressed_buffers(block)}:
        return []
    found = (n for n in nodes if isinstance(n, BufferLoad) and n.buffer.name == name)
    return [tuple(substitute(i, single_values(block)) for i in load.indices) for load in found]


def _stored(block: Block) -> list[tuple[Expr, ...]]:
    assert isinstance(block.body, BufferStore)
    return [tuple(substitute(i, single_values(block)) for i in block.body.indices)]


def _steps(elements: Sequence[tuple[Expr, ...]]) -> list[int]:
    """For each axis, a number that divides the distance of any two of the elements; 1 if none is known, or all are equal."""
    return [_step(list(axis)) for axis in zip(*elements, strict=True)]


def _step(indices: list[Expr]) -> int:
    sums = [linear(i) for i in indices]
    known = [s for s in sums if s is not None]
    factors = [factor for s in known for _, factor in s.terms]
    apart = [s.constant - known[0].constant for s in known]
    return gcd(*factors, *apart) or 1 if len(known) == len(sums) else 1


def find_unused_blocks(subject: Subject) -> Iterator[LintFinding]:
    """A block writes only intermediate buffers whose values never reach an output. No schedule call removes a block; remove it from the
    program."""
    needed = _needed(subject)
    for realize in subject.leaf_blocks():
        name, written = realize.block.name, [w.buffer.name for w in realize.block.writes]
        if name not in needed and written:
            runs = subject.iterations(name)
            often = "" if runs is None else f" ({runs} iterations)"
            yield LintFinding(
                "unused-block", "warning",
                f"{name} writes {' and '.join(dict.fromkeys(written))}, which is never read{often}",
                (name,), buffers=tuple(dict.fromkeys(written)),
            )  # fmt: skip


def _needed(subject: Subject) -> set[str]:
    """Blocks whose results reach a parameter."""
    blocks = {r.block.name: r.block for r in subject.leaf_blocks()}
    params = {b.name for b in subject.func.buffers}
    wanted, needed = params | _deciding(subject), set[str]()
    while True:
        found = {
            n
            for n, b in blocks.items()
            if n not in needed and (not b.writes or any(w.buffer.name in wanted for w in b.writes))
        }
        if not found:
            return needed
        needed |= found
        wanted |= {r.buffer.name for n in found for r in blocks[n].reads}


def _deciding(subject: Subject) -> set[str]:
    """The buffers that conditions and trip counts read."""
    found: set[str] = set()
    for node in walk(subject.func.body):
        match node:
            case IfThenElse():
                parts = (node.condition,)
            case For():
                parts = (node.min, node.extent)
            case BlockRealize():
                parts = (node.predicate, *node.iter_values)
            case _:
                continue
        found |= {load.buffer.name for part in parts for load in walk(part) if isinstance(load, BufferLoad)}
    return found


def find_unused_buffers(subject: Subject) -> Iterator[LintFinding]:
    """A buffer is allocated, but no block accesses it. It needs no memory in the lowered program."""
    if not isinstance(subject.func.body, BlockRealize):
        return  # statements outside of blocks declare no accesses
    used = {region.buffer for r in subject.leaf_blocks() for region in (*r.block.reads, *r.block.writes)}
    names = {b.name for b in used}
    for buffer in allocated_buffers(subject.func.body):
        if buffer.name not in names:
            yield LintFinding("unused-buffer", "info", f"no block accesses {buffer.name}", buffers=(buffer.name,))
