"""Facts about integer parameters that a program declares by `T.assume`: bounds, an order, distinct elements."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ..arith import simplify
from ..ir import (
    GE,
    GT,
    LE,
    LT,
    NE,
    Buffer,
    BufferLoad,
    Call,
    Contents,
    Evaluate,
    Expr,
    PrimFunc,
    build,
    structural_equal,
    walk,
)
from ..ir import dtype as dt
from ..ir.contents import Fact


def assumed_facts(func: PrimFunc) -> dict[Buffer, Contents]:
    """Returns what the assumptions of a program say about its integer parameters."""
    found: dict[Buffer, Contents] = {}
    for node in walk(func.body):
        if isinstance(node, Evaluate) and isinstance(node.value, Call) and node.value.op == "assume":
            for condition in build.conjuncts(node.value.args[0]):
                for buffer, contents in _facts(condition):
                    if buffer in func.buffers and dt.is_int(buffer.dtype):
                        found[buffer] = _joined(found.get(buffer), contents)
    return found


def _facts(condition: Expr) -> Iterator[tuple[Buffer, Contents]]:
    """Yields what a comparison of two elements of a buffer, or of an element and a number, says about the buffer."""
    match condition:
        case LT(a=a, b=b):
            small, large, gap = a, b, 1
        case GT(a=a, b=b):
            small, large, gap = b, a, 1
        case LE(a=a, b=b):
            small, large, gap = a, b, 0
        case GE(a=a, b=b):
            small, large, gap = b, a, 0
        case NE(a=BufferLoad() as a, b=BufferLoad() as b) if a.buffer is b.buffer:
            yield a.buffer, Contents(a.buffer.name, facts=("distinct",))
            return
        case _:
            return
    if isinstance(small, BufferLoad) and isinstance(large, BufferLoad):
        if small.buffer is large.buffer and _is_next(small, large):
            facts: tuple[Fact, ...] = ("sorted", "distinct") if gap else ("sorted",)
            yield small.buffer, Contents(small.buffer.name, facts=facts)
    elif isinstance(small, BufferLoad) and (high := build.int_value(large)) is not None:
        yield small.buffer, Contents(small.buffer.name, high=high - gap)
    elif isinstance(large, BufferLoad) and (low := build.int_value(small)) is not None:
        yield large.buffer, Contents(large.buffer.name, low=low + gap)


def _is_next(first: BufferLoad, second: BufferLoad) -> bool:
    """Whether the second element follows the first along the last axis."""
    *outer, last = zip(first.indices, second.indices, strict=True)
    step = build.int_value(simplify(build.sub(last[1], last[0])))
    return step == 1 and all(structural_equal(a, b) for a, b in outer)


def _joined(known: Contents | None, other: Contents) -> Contents:
    if known is None:
        return other
    lows = [n for n in (known.low, other.low) if n is not None]
    highs = [n for n in (known.high, other.high) if n is not None]
    facts = tuple(dict.fromkeys((*known.facts, *other.facts)))
    return replace(known, facts=facts, low=max(lows, default=None), high=min(highs, default=None))


__all__ = ["assumed_facts"]
