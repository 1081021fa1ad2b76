"""Bounds checks: whether a block stays inside of its buffers over its iterators' domains, and its iterators in these domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..arith import Analyzer, interval, prove, simplify
from ..ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    IntImm,
    LaunchThread,
    Node,
    Range,
    Var,
    build,
    children,
    structural_equal,
)
from .joins import joined_splits
from .regions import hull

Ranges = Mapping[Var, Range]


def stays_inside(block: Block) -> bool:
    """Whether each access is within its buffer for all iterator values that satisfy the surrounding conditions."""
    return _stays(block, Analyzer(), ())


def keeps_domains(realize: BlockRealize, loops: Ranges) -> bool:
    """Whether each iterator provably stays in its domain in all iterations that satisfy the predicate."""
    realize, loops = joined_splits(realize, loops)
    terms = [simplify(term) for term in build.conjuncts(realize.predicate)]
    known = Analyzer(loops)

    def holds(*forms: Expr) -> bool:
        return known.proves(forms[0]) or any(structural_equal(term, simplify(form)) for term in terms for form in forms)

    return all(
        holds(build.ge(value, iv.dom.min), build.le(iv.dom.min, value))
        and holds(build.lt(value, build.add(iv.dom.min, iv.dom.extent)))
        for iv, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
    )


def _stays(node: Node, known: Analyzer, conditions: Sequence[Expr]) -> bool:
    if type(node) is Var or type(node) is IntImm:
        return True
    match node:
        case IfThenElse(condition=condition, then_case=then, else_case=otherwise):
            return (
                _stays(condition, known, conditions)
                and _stays(then, known, (*conditions, *build.conjuncts(condition)))
                and (otherwise is None or _stays(otherwise, known, (*conditions, build.logical_not(condition))))
            )
        case Call(op="if_then_else", args=(condition, yes, no)):
            return (
                _stays(condition, known, conditions)
                and _stays(yes, known, (*conditions, *build.conjuncts(condition)))
                and _stays(no, known, (*conditions, build.logical_not(condition)))
            )
        case For():
            known = Analyzer({**known.ranges, node.loop_var: Range(node.min, node.extent)})
        case LaunchThread():
            known = Analyzer({**known.ranges, node.var: build.make_range(0, node.extent)})
        case BlockRealize():
            # The analysis assumes that inner iterators cover their whole domains, independent of the predicate.
            return all(_stays(v, known, conditions) for v in node.iter_values) and _stays(node.block, known, conditions)
        case Block():
            known = Analyzer({**known.ranges, **{iv.var: iv.dom for iv in node.iter_vars}})
            return all(_stays(part, known, conditions) for part in (node.init, node.body) if part is not None)
        case BufferLoad() | BufferStore():
            if not _is_within(node.buffer, node.indices, known, conditions):
                return False
        case _:
            pass
    return all(_stays(child, known, conditions) for child in children(node) if not isinstance(child, Buffer))


def _is_within(buffer: Buffer, indices: Sequence[Expr], known: Analyzer, conditions: Sequence[Expr]) -> bool:
    """Whether the indices are within the buffer. Bounds alone often suffice; otherwise the hull under the conditions decides."""
    ends = list(zip(indices, buffer.shape, strict=True))
    if all(known.proves(build.ge(i, 0)) and known.proves(build.lt(i, extent)) for i, extent in ends):
        return True
    if not conditions:
        return False
    if any(interval(i, known.ranges) is None for i in indices):
        return False  # the hull would fall back to the whole axis
    box = hull([BufferRegion(buffer, tuple(map(build.point, indices)))], known.ranges, {}, conditions)
    return all(
        prove(build.ge(r.min, 0)) and prove(build.le(build.add(r.min, r.extent), extent))
        for r, extent in zip(box.region, buffer.shape, strict=True)
    )
