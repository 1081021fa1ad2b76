"""Race check: no concurrent iteration may access an element that another one writes."""

from __future__ import annotations

import islpy as isl

from ..ir import BufferLoad, walk
from .errors import Differs, UndecidedError
from .flow import Flow
from .heads import pair_text
from .program import CONCURRENT, Statement, StatementProgram


def require_no_race(flow: Flow) -> None:
    """Raises Differs (Unknown for bound threads) with two concurrent iterations of which one writes an element that the other accesses."""
    program = flow.program
    for writer in program.statements.values():
        concurrent = [n for n, loop in enumerate(writer.loops) if loop.kind in CONCURRENT]
        if not concurrent:
            continue
        for other in program.statements.values():
            for touch in _touches(program, other, writer):
                meet = writer.write.apply_range(touch.reverse())
                for n in concurrent:
                    if n < len(other.loops) and other.loops[n].loop_var is writer.loops[n].loop_var:
                        apart = meet.intersect(_apart(writer, other, n))
                        if not apart.is_empty():
                            raise _race(flow, writer, n, apart)


def _touches(program: StatementProgram, other: Statement, writer: Statement) -> list[isl.Map]:
    buffer = writer.store.buffer
    found = [other.write] if other.store.buffer is buffer else []
    loads = [n for n in walk(other.value) if isinstance(n, BufferLoad) and n.buffer is buffer]
    return [*found, *(program.access(other, load) for load in loads)]


# Pairs of instances that agree on the loops around loop n and differ in n.
def _apart(a: Statement, b: Statement, n: int) -> isl.Map:
    space = isl.Map.from_domain_and_range(a.domain, b.domain)
    for axis in range(n):
        space = space.equate(isl.dim_type.in_, axis, isl.dim_type.out, axis)
    less = space.order_lt(isl.dim_type.in_, n, isl.dim_type.out, n)
    return less.union(space.order_gt(isl.dim_type.in_, n, isl.dim_type.out, n))


def _race(flow: Flow, writer: Statement, n: int, apart: isl.Map) -> Differs | UndecidedError:
    first, second = pair_text(flow, flow, apart)
    loop = writer.loops[n]
    text = (
        f"iterations of the {loop.kind} loop {loop.loop_var.name} access the same elements of {writer.store.buffer.name}: "
        f"{first} writes an element that {second} accesses"
    )
    # Threads of a block may synchronise; that is not modelled.
    return UndecidedError(text) if loop.kind == "thread_binding" else Differs(text)
