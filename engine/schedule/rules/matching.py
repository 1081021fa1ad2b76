"""Matching of a block with an intrinsic's description, and the location of the description's buffers in the program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from ...arith import prove_equal, simplify
from ...ir import (
    EQ,
    NE,
    Add,
    And,
    AssertStmt,
    BinaryOp,
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferStore,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IterVar,
    LetStmt,
    Max,
    Min,
    Mul,
    Node,
    Or,
    Range,
    SeqStmt,
    Stmt,
    Var,
    build,
    children,
    free_vars,
    structural_equal,
    substitute,
    walk,
)
from ...ir import Predicate as Comparison
from ...ir import dtype as dt


class MatchedRegion(msgspec.Struct, frozen=True, eq=False):
    """Element `i` of the description's buffer is element `(*base[:lead], *(base[lead:] + i))` of `buffer`."""

    buffer: Buffer
    base: tuple[Expr, ...]


class Match(msgspec.Struct, frozen=True, eq=False):
    """The mapping from the description to the program: its variables, its own buffers and its parameters."""

    variables: Mapping[Var, Expr] = {}
    own: Mapping[Buffer, Buffer] = {}
    places: Mapping[Buffer, MatchedRegion] = {}
    ranges: Mapping[Var, Range] = {}


class Mismatch(msgspec.Struct, frozen=True, eq=False):
    """The first two nodes that do not match."""

    ours: Node
    description: Node
    why: str


_COMMUTE = (Add, Mul, And, Or, EQ, NE)
_COMMUTE_INTS = (Min, Max)


def match_block(ours: Block, description: Block, params: Sequence[Buffer]) -> Match | Mismatch:
    """The match of both bodies, or the first mismatch. The iterators of `ours` stay unchanged. Loops and blocks inside must agree in order,
    kind and extent. Operands may be swapped, and indices may have another form."""
    matcher = _Matcher(frozenset(params))
    start = Match(ranges={iv.var: iv.dom for iv in ours.iter_vars})
    matcher.outside = frozenset(start.ranges)
    for allocated in matcher.allocations(ours, description, start):
        found = next(matcher.stmt(ours.body, description.body, allocated), None)
        if found is not None:
            return found
    assert matcher.first is not None
    return matcher.first


class _Matcher:
    def __init__(self, params: frozenset[Buffer]) -> None:
        self.params = params
        self.outside: frozenset[Var] = frozenset()
        self.first: Mismatch | None = None

    def miss(self, ours: Node, description: Node, why: str) -> None:
        self.first = self.first or Mismatch(ours, description, why)

    # Statements.

    def stmt(self, ours: Stmt, other: Stmt, so_far: Match) -> Iterator[Match]:
        match ours, other:
            case For(), For():
                yield from self._loop(ours, other, so_far)
            case SeqStmt(), SeqStmt() if len(ours.seq) == len(other.seq):
                yield from self._all(list(zip(ours.seq, other.seq, strict=True)), so_far)
            case BufferStore(), BufferStore():
                for found in self._access(ours, other, so_far):
                    yield from self.expr(ours.value, other.value, found)
            case BlockRealize(), BlockRealize() if len(ours.iter_values) == len(other.iter_values):
                pairs = zip((*ours.iter_values, ours.predicate), (*other.iter_values, other.predicate), strict=True)
                yield from self._all([*pairs, (ours.block, other.block)], so_far)
            case Block(), Block():
                yield from self._block(ours, other, so_far)
            case LetStmt(), LetStmt() if ours.var.dtype == other.var.dtype:
                for found in self.expr(ours.value, other.value, so_far):
                    bound = replace_fields(found, variables={**found.variables, other.var: ours.var})
                    yield from self.stmt(ours.body, other.body, bound)
            case ((IfThenElse() | Evaluate() | AssertStmt()), _) if type(ours) is type(other):
                yield from self._children(ours, other, so_far)
            case _:
                self.miss(ours, other, f"a {type(ours).__name__} for a {type(other).__name__}")

    def _all(self, pairs: Sequence[tuple[Node, Node]], so_far: Match) -> Iterator[Match]:
        if not pairs:
            yield so_far
            return
        (ours, other), rest = pairs[0], pairs[1:]
        if isinstance(ours, Expr) and isinstance(other, Expr):
            found = self.expr(ours, other, so_far)
        elif isinstance(ours, Stmt) and isinstance(other, Stmt):
            found = self.stmt(ours, other, so_far)
        else:
            return
        for each in found:
            yield from self._all(rest, each)

    def _children(self, ours: Node, other: Node, so_far: Match) -> Iterator[Match]:
        mine, theirs = children(ours), children(other)
        if len(mine) != len(theirs) or _plain_fields(ours) != _plain_fields(other):
            self.miss(ours, other, f"a different {type(ours).__name__}")
            return
        yield from self._all(list(zip(mine, theirs, strict=True)), so_far)

    def _loop(self, ours: For, other: For, so_far: Match) -> Iterator[Match]:
        if (ours.kind, ours.thread_tag) != (other.kind, other.thread_tag) or not _same_notes(ours, other):
            self.miss(ours, other, f"a loop that is {ours.kind}, not {other.kind}, or has different annotations")
        elif not self._equal(ours.extent, other.extent, so_far) or not self._equal(ours.min, other.min, so_far):
            self.miss(ours, other, "a loop with a different range")
        else:
            bound = replace_fields(
                so_far,
                variables={**so_far.variables, other.loop_var: ours.loop_var},
                ranges={**so_far.ranges, ours.loop_var: Range(ours.min, ours.extent)},
            )
            yield from self.stmt(ours.body, other.body, bound)

    def _block(self, ours: Block, other: Block, so_far: Match) -> Iterator[Match]:
        if not self._same_iterators(ours.iter_vars, other.iter_vars, so_far):
            self.miss(ours, other, "different iterators")
            return
        if ours.match_buffers or other.match_buffers or (ours.init is None) != (other.init is None):
            self.miss(ours, other, "an init or match_buffer views on one side only")
            return
        pairs = list(zip(ours.iter_vars, other.iter_vars, strict=True))
        bound = replace_fields(
            so_far,
            variables={**so_far.variables, **{b.var: a.var for a, b in pairs}},
            ranges={**so_far.ranges, **{a.var: a.dom for a, _ in pairs}},
        )
        for allocated in self.allocations(ours, other, bound):
            parts: list[tuple[Node, Node]] = [(ours.body, other.body)]
            if ours.init is not None and other.init is not None:
                parts.insert(0, (ours.init, other.init))
            yield from self._all(parts, allocated)

    def _same_iterators(self, ours: Sequence[IterVar], other: Sequence[IterVar], so_far: Match) -> bool:
        return len(ours) == len(other) and all(
            a.iter_type == b.iter_type
            and self._equal(a.dom.min, b.dom.min, so_far)
            and self._equal(a.dom.extent, b.dom.extent, so_far)
            for a, b in zip(ours, other, strict=True)
        )

    def allocations(self, ours: Block, other: Block, so_far: Match) -> Iterator[Match]:
        """The match extended by the blocks' allocated buffers, paired in order."""
        mine, theirs = ours.alloc_buffers, other.alloc_buffers
        same = len(mine) == len(theirs) and all(
            a.dtype == b.dtype
            and a.scope == b.scope
            and len(a.shape) == len(b.shape)
            and all(self._equal(x, y, so_far) for x, y in zip(a.shape, b.shape, strict=True))
            for a, b in zip(mine, theirs, strict=True)
        )
        if same:
            yield replace_fields(so_far, own={**so_far.own, **dict(zip(theirs, mine, strict=True))})
        else:
            self.miss(ours, other, "different local buffers")

    # Expressions.

    def expr(self, ours: Expr, other: Expr, so_far: Match) -> Iterator[Match]:
        if ours.dtype != other.dtype:
            self.miss(ours, other, f"{ours.dtype} for {other.dtype}")
        elif not _touches(ours) and not _touches(other) and (dt.is_int(ours.dtype) or ours.dtype == "bool"):
            if self._equal(ours, other, so_far):
                yield so_far
            else:
                self.miss(ours, other, "a different value")
        elif type(ours) is not type(other):
            self.miss(ours, other, f"a {type(ours).__name__} for a {type(other).__name__}")
        elif isinstance(ours, BufferLoad) and isinstance(other, BufferLoad):
            yield from self._access(ours, other, so_far)
        elif isinstance(ours, BufferData | Var):
            if isinstance(other, Var) and so_far.variables.get(other) is ours:
                yield so_far
            else:
                self.miss(ours, other, "a different variable, or an address")
        elif isinstance(ours, BinaryOp | Comparison) and isinstance(other, BinaryOp | Comparison):
            yield from self._all([(ours.a, other.a), (ours.b, other.b)], so_far)
            if isinstance(ours, _COMMUTE) or (isinstance(ours, _COMMUTE_INTS) and dt.is_int(ours.dtype)):
                yield from self._all([(ours.a, other.b), (ours.b, other.a)], so_far)
        else:
            yield from self._children(ours, other, so_far)

    def _equal(self, ours: Expr, other: Expr, so_far: Match) -> bool:
        other = substitute(other, dict(so_far.variables))
        return structural_equal(ours, other) or prove_equal(ours, other, so_far.ranges)

    def _access(
        self, ours: BufferLoad | BufferStore, other: BufferLoad | BufferStore, so_far: Match
    ) -> Iterator[Match]:
        if other.buffer in so_far.own:
            same = so_far.own[other.buffer] is ours.buffer
            if same and all(self._equal(a, b, so_far) for a, b in zip(ours.indices, other.indices, strict=True)):
                yield so_far
            else:
                self.miss(ours, other, "a different element of a local buffer")
            return
        place = self._place(ours, other, so_far)
        known = so_far.places.get(other.buffer)
        if place is None:
            return
        if known is None:
            yield replace_fields(so_far, places={**so_far.places, other.buffer: place})
        elif known.buffer is place.buffer and all(
            prove_equal(a, b, so_far.ranges) for a, b in zip(known.base, place.base, strict=True)
        ):
            yield so_far
        else:
            self.miss(ours, other, f"another region of {ours.buffer.name!r} than before")

    def _place(
        self, ours: BufferLoad | BufferStore, other: BufferLoad | BufferStore, so_far: Match
    ) -> MatchedRegion | None:
        """The start of the description's buffer, given that this access is its element."""
        lead = len(ours.indices) - len(other.indices)
        if other.buffer not in self.params or lead < 0 or ours.buffer.dtype != other.buffer.dtype:
            self.miss(ours, other, "a buffer of a different rank or dtype")
            return None
        if ours.buffer.scope != other.buffer.scope:
            self.miss(ours, other, f"{ours.buffer.name!r} is in {ours.buffer.scope!r}, not in {other.buffer.scope!r}")
            return None
        values = dict(so_far.variables)
        steps = (build.sub(i, substitute(d, values)) for i, d in zip(ours.indices[lead:], other.indices, strict=True))
        # An iterator of one value outside of the block keeps its name, as in TVM.
        ranges = {v: r for v, r in so_far.ranges.items() if v not in self.outside or not build.is_const(r.extent, 1)}
        base = tuple(simplify(e, ranges) for e in (*ours.indices[:lead], *steps))
        inside = so_far.ranges.keys() - self.outside
        if any(_touches(e) or free_vars(e) & inside for e in base):
            self.miss(ours, other, f"a different index of {ours.buffer.name!r}")
            return None
        return MatchedRegion(ours.buffer, base)


def _touches(expr: Expr) -> bool:
    return any(isinstance(node, BufferLoad | BufferData) for node in walk(expr))


def _plain_fields(node: Node) -> list[object]:
    """The fields that are not nodes."""
    values = (getattr(node, name) for name in node.__struct_fields__)
    return [v for v in values if isinstance(v, str | int | float | bool)]


def _same_notes(ours: For, other: For) -> bool:
    mine, theirs = dict(ours.annotations), dict(other.annotations)
    return mine.keys() == theirs.keys() and all(_same_note(mine[k], theirs[k]) for k in mine)


def _same_note(mine: object, theirs: object) -> bool:
    if isinstance(mine, Node) and isinstance(theirs, Node):
        return structural_equal(mine, theirs)
    if isinstance(mine, tuple) and isinstance(theirs, tuple):
        return len(mine) == len(theirs) and all(map(_same_note, mine, theirs))  # pyright: ignore[reportUnknownArgumentType]
    return mine == theirs
