"""Multiplicity and order of a block's iterations: whether each occurs once, and whether a sum begins with its init."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace as replace_fields

from ..arith import bounds, detect_iter_map, linear, prove, prove_equal, simplify
from ..ir import (
    LT,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    FloorDiv,
    FloorMod,
    For,
    LaunchThread,
    Range,
    Stmt,
    Var,
    While,
    build,
    children,
    free_vars,
    structural_equal,
    substitute,
    uses_var,
    walk,
)
from .cover import has_iterations, only_guards_domain
from .instances import UNKNOWN, Decision, Elements, Instances, begins_with_init, reads_written, runs_once
from .joins import joined_splits
from .regions import Guard, loads_of
from .separation import is_injective, without_outer

Ranges = Mapping[Var, Range]


def is_update(block: Block) -> bool:
    """Whether the block's result depends on the earlier contents of its output, or on its init."""
    written = {w.buffer for w in block.writes}
    views = {m.buffer for m in block.match_buffers if m.source.buffer in written}
    loaded = {n.buffer for n in walk(block.body) if isinstance(n, BufferLoad)}
    return block.init is not None or bool(loaded & (written | views)) or any(r.buffer in written for r in block.reads)


def reads_own_results(
    realize: BlockRealize, buffer: Buffer, loops: Sequence[For], outer: Sequence[For] = ()
) -> Decision:
    """Whether each element of `buffer` that the block reads, its output, was written by an earlier iteration of `loops`, as in a scan; in
    one iteration of the loops `outer`."""
    block = realize.block
    body = block.body
    if not isinstance(body, BufferStore) or body.buffer is not buffer or block.init is not None:
        return UNKNOWN
    own = [(load, guards) for load, guards in loads_of(body.value) if load.buffer is buffer]
    if not own or any(loop.kind not in ("serial", "unrolled") for loop in loops):
        return UNKNOWN
    if any(not guards and all(map(structural_equal, load.indices, body.indices)) for load, guards in own):
        return Decision(False, f"{block.name!r} updates elements of {buffer.name!r}")
    bound = dict(zip((iv.var for iv in block.iter_vars), realize.iter_values, strict=True))
    ranges, around = ({f.loop_var: Range(f.min, f.extent) for f in some} for some in (loops, outer))
    every = Instances.of(realize, ranges, around)

    def at(indices: Sequence[Expr], guards: Sequence[Guard] = ()) -> Elements:
        holds = (substitute(g if wanted else build.logical_not(g), bound) for g, wanted in guards)
        conditions = (*every.conditions, *(c for g in holds for c in build.conjuncts(g)))
        region = tuple(Range(substitute(i, bound), build.const(1, i.dtype)) for i in indices)
        return Elements(replace_fields(every, conditions=conditions), (BufferRegion(buffer, region),))

    return reads_written(at(body.indices), [at(load.indices, guards) for load, guards in own])


def stores_once(block: Block) -> bool:
    """Whether one run of the block stores at most one value in an element, so that no intermediate value is visible."""
    return _stores_once(block.body, {}, {})


def _stores_once(stmt: Stmt, seen: dict[Buffer, int], loops: Ranges) -> bool:
    """`loops` are those around the statement, or the iterators of the nested block around it; each block instance must run once."""
    if isinstance(stmt, BlockRealize):
        iterators = {v.var: v.dom for v in stmt.block.iter_vars if not build.is_const(v.dom.extent, 1)}
        return stmt.block.init is None and is_once(stmt, loops) and _stores_once(stmt.block.body, seen, iterators)
    if isinstance(stmt, While):
        return False
    if isinstance(stmt, BufferStore):
        seen[stmt.buffer] = seen.get(stmt.buffer, 0) + 1
        return seen[stmt.buffer] == 1 and is_injective(stmt.indices, loops)
    if isinstance(stmt, For):
        loops = {**loops, stmt.loop_var: Range(stmt.min, stmt.extent)}
    elif isinstance(stmt, LaunchThread):
        loops = {**loops, stmt.var: Range(build.const(0, stmt.var.dtype), stmt.extent)}
    return all(_stores_once(child, seen, loops) for child in children(stmt) if isinstance(child, Stmt))


def is_once(realize: BlockRealize, loops: Ranges, outer: Ranges | None = None) -> bool:
    """Whether no two iterations of the loops give the iterators the same values, in one iteration of the loops `outer`."""
    joined, inner = joined_splits(*_trimmed(realize, loops), once=True)
    if is_injective(joined.iter_values, inner) or runs_once(joined, inner):
        return True
    return bool(outer) and is_once(realize, {**outer, **loops})


def _trimmed(realize: BlockRealize, loops: Ranges) -> tuple[BlockRealize, Ranges]:
    """The block with loops shortened to the trips that the predicate allows (`i < 3`), without these terms or loops of one trip."""
    realize, loops = _without_single_trips(realize, loops)
    kept: list[Expr] = []
    shorter: dict[Var, Range] = {}
    for term in build.conjuncts(realize.predicate):
        loop = loops.get(term.a) if isinstance(term, LT) and isinstance(term.a, Var) else None
        if isinstance(term, LT) and isinstance(term.a, Var) and loop is not None and build.is_const(loop.min, 0):
            trips, end = build.int_value(loop.extent), build.int_value(term.b)
            if trips is not None and end is not None and 0 < end <= trips and term.a not in shorter:
                shorter[term.a] = Range(loop.min, term.b)
                continue
        kept.append(term)
    return replace_fields(realize, predicate=build.logical_and(*kept)), {**loops, **shorter}


def _without_single_trips(realize: BlockRealize, loops: Ranges) -> tuple[BlockRealize, Ranges]:
    """The block without loops of one trip: each is replaced by its start."""
    single: dict[Var, Expr] = {v: r.min for v, r in loops.items() if build.is_const(r.extent, 1)}
    if not single:
        return realize, loops
    values = tuple(simplify(substitute(value, single)) for value in realize.iter_values)
    predicate = simplify(substitute(realize.predicate, single))
    rest = {v: r for v, r in loops.items() if v not in single}
    return replace_fields(realize, iter_values=values, predicate=predicate), rest


def reduction_loops(realize: BlockRealize, loops: Ranges) -> list[Var]:
    """The loops that drive iterators which are not spatial."""
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    used = {var for iv, value in pairs if iv.iter_type != "spatial" for var in free_vars(value)}
    return [v for v in loops if v in used]


def _holds_at_start(realize: BlockRealize, loops: Ranges, reducing: Sequence[Var]) -> bool:
    """Whether the predicate is the same for all terms of a sum (independent of the loops), or provably true for the first term of each
    sum."""
    terms = [t for t in build.conjuncts(realize.predicate) if any(uses_var(t, v) for v in loops)]
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    if terms and any(iv.iter_type == "spatial" and uses_var(value, v) for iv, value in pairs for v in reducing):
        return False
    first = {v: loops[v].min for v in reducing}
    ranges = {v: r for v, r in loops.items() if v not in first}
    return all(prove(substitute(t, first), ranges) for t in terms)


def starts_with_init(
    realize: BlockRealize, loops: Ranges, *, partly: bool = False, before: Ranges | None = None
) -> bool:
    """Whether, for each element, the first iteration of the loops (outermost first) that reaches it runs the init, and such an iteration
    exists.

    `partly`: a sum that loops further out also drive needs to start only at the lowest value that these loops reach. `before`: the loops
    in the order that they had.
    """
    if _starts_by_digits(realize, loops, partly=partly):
        return True
    if not all(has_iterations(loops[v].extent, loops) for v in reduction_loops(realize, loops)):
        return False
    orders = (loops,) if before is None else (loops, before)
    return all(begins_with_init(realize, order, partly=partly) for order in orders)


def order_fault(realize: BlockRealize, loops: Ranges, *, partly: bool = False) -> str:
    """Why a block may repeat terms of its sum or start without its init: a witness, or why that is undecided."""
    decisions = (runs_once(realize, loops), begins_with_init(realize, loops, partly=partly))
    faults = sorted((d for d in decisions if not d), key=lambda d: d.holds is None)
    return faults[0].detail if faults else ""


def _starts_by_digits(realize: BlockRealize, loops: Ranges, *, partly: bool) -> bool:
    """Whether the sums start at the lowest digit of each of their loops."""
    realize, loops = _trimmed(realize, loops)
    if _is_mixed(realize, loops) and not _digits_rise(realize, loops):
        return False  # decided before the join, which loses the order of the loops
    realize, loops = joined_splits(realize, loops, once=True)
    reducing = reduction_loops(realize, loops)
    if not only_guards_domain(realize) and not _holds_at_start(realize, loops, reducing):
        return False
    if not all(has_iterations(loops[v].extent, loops) for v in reducing):
        return False
    first = {v: r.min for v, r in loops.items()}
    pairs = list(zip(realize.block.iter_vars, realize.iter_values, strict=True))
    reduced = [(iv, v) for iv, v in pairs if iv.iter_type == "reduce"]
    if not all(_starts_low(v, iv.dom.min, first, loops, partly=partly) for iv, v in reduced):
        return False
    if not _is_mixed(realize, loops):
        return True
    # The digits of the sum and of the elements belong to the same loops: every combination occurs, the least first.
    values = [without_outer(v, loops) for v in realize.iter_values]
    used = {v: r for v, r in loops.items() if any(value is not None and uses_var(value, v) for value in values)}
    found = None if None in values else detect_iter_map([v for v in values if v is not None], used)
    return found is not None and found.bijective


def _is_mixed(realize: BlockRealize, loops: Ranges) -> bool:
    """Whether a loop drives both an element and the terms of its sum."""
    reducing = reduction_loops(realize, loops)
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    return any(iv.iter_type != "reduce" and not free_vars(value).isdisjoint(reducing) for iv, value in pairs)


def _digits_rise(realize: BlockRealize, loops: Ranges) -> bool:
    """Whether the sums behind the iterators' digits (`(i * 4 + j) // 3`) and the guarded sums increase in loop order: no outer loop has a
    smaller factor than an inner one."""
    places = {v: n for n, v in enumerate(loops)}
    digits = (n.a for value in realize.iter_values for n in walk(value) if isinstance(n, FloorDiv | FloorMod))
    reducing = reduction_loops(realize, loops)
    terms = (t for t in build.conjuncts(realize.predicate) if isinstance(t, LT))
    guarded = (t.a for t in terms if any(uses_var(t.a, v) for v in reducing))
    for whole in (*digits, *guarded):
        form = linear(whole)
        if form is None:
            return False
        steps = sorted((places[a], f) for a, f in form.terms if isinstance(a, Var) and a in places)
        if any(f < 0 for _, f in steps) or any(outer[1] < inner[1] for outer, inner in pairwise(steps)):
            return False
    return True


def _starts_low(value: Expr, low: Expr, first: Mapping[Var, Expr], loops: Ranges, *, partly: bool) -> bool:
    start = substitute(value, first)
    if prove_equal(start, low):
        return True
    mine = without_outer(value, loops)
    if mine is None or not partly or not free_vars(start):
        return False
    lowest = bounds(mine, loops).low
    return lowest is not None and prove_equal(substitute(mine, first), build.const(lowest, mine.dtype))
