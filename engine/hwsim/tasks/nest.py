"""Loop nest of a planned program without views: loops with known trip counts, and leaves, each a block with its stores.

Iterators and let values are substituted, so every index is an expression over loop variables. Each store has the conditions around it
(predicates, ifs, uneven loops).

Threads of a block run in parallel: a loop that is bound to threads and contains several leaves runs inside of each of them. Loops with one
tag are the same threads, so the work of the inner one happens once, not once for each iteration of the outer one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import prod

import msgspec

from ...analysis import ProgramIndex
from ...arith import Analyzer
from ...cancellation import checkpoint
from ...data import DataError, GivenData, Lookup, data_use
from ...ir import (
    Allocate,
    Annotations,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Evaluate,
    Expr,
    For,
    IfThenElse,
    IntImm,
    LaunchThread,
    LetStmt,
    Node,
    PrimFunc,
    Range,
    SeqStmt,
    Stmt,
    StringImm,
    Var,
    build,
    free_vars,
    rewrite,
    substitute,
    walk,
    walk_stmts,
)
from ...ir import dtype as dt
from ...lower import Banks, banks_noted, is_fragment, is_shared_over, marked_buffers
from ...script.tilelang.names import AWAITS, GRID_BARRIER, SIGNALS
from ...script.tilelang.sync.slots import slot_axes
from ..errors import MachineError, refuse
from .grid import UnknownValueError, axes, values
from .threads import THREAD, grid_axis, is_grid, is_threads, launched, require_equal_extents

ENGINE = "engine"
MAX_EVALUATED = 1 << 16
"""Limit on the iterations at which a trip count is evaluated."""
EXAMPLE_TRIPS = 16
"""Example of a mean trip count in the error for one that is not known."""
VECTORIZED = "vectorized"


class Loop(msgspec.Struct, frozen=True, eq=False):
    """`var` runs from 0 to `extent`, exclusive; `name` is its name in the program. Each iteration of a `grid` is a block of threads; `axis`
    is the axis of the grid: "x", "y" or "z". A grid behind a `barrier` begins when all blocks of the one before have reached it.
    """

    var: Var
    extent: int
    name: str
    grid: bool = False
    axis: str = ""
    barrier: bool = False


class Piece(msgspec.Struct, frozen=True, eq=False):
    """One store and its loops and conditions: the loops around it in its leaf, those of threads first, and conditions over loop variables.

    `store` is None for an opaque evaluation; `touches` are then the regions that its block declares. `lanes` are the loops that the program
    binds to threads, the fastest first: those of x, y and z, preceded by the loops that are vectorized in each thread; none if whole
    warps execute it. `given` are the loads of given data, which is substituted in the store.
    """

    store: BufferStore | None
    loops: tuple[Loop, ...] = ()
    conditions: tuple[Expr, ...] = ()
    touches: tuple[tuple[BufferRegion, bool], ...] = ()
    lanes: tuple[Var, ...] = ()
    vectorized: tuple[Var, ...] = ()  # the fastest first, with or without threads
    given: tuple[BufferLoad, ...] = ()


def nodes_of(piece: Piece) -> Iterator[Node]:
    """Yields the nodes of all expressions of a piece."""
    exprs: list[Expr] = list(piece.conditions)
    exprs += [e for region, _ in piece.touches for r in region.region for e in (r.min, r.extent)]
    if piece.store is not None:
        exprs += [piece.store.value, *piece.store.indices]
    return (node for expr in exprs for node in walk(expr))


def buffers_of(piece: Piece) -> set[Buffer]:
    """Returns the buffers that a piece accesses."""
    loaded = {node.buffer for node in nodes_of(piece) if isinstance(node, BufferLoad)}
    stored = {piece.store.buffer} if piece.store is not None else set[Buffer]()
    return loaded | stored | {region.buffer for region, _ in piece.touches}


Token = tuple[str, Expr]
"""What a flag or barrier of the program orders: a name and a number."""


class ComputeBlock(msgspec.Struct, frozen=True, eq=False):
    """A block without nested blocks (or statements outside of such). `engine` is the annotated one, if any. It awaits tokens that other
    blocks signal when they end."""

    block: Block
    pieces: tuple[Piece, ...]
    engine: str | None = None
    awaits: tuple[Token, ...] = ()
    signals: tuple[Token, ...] = ()


class LoopNode(msgspec.Struct, frozen=True, eq=False):
    loop: Loop
    children: tuple[NestNode, ...]


NestNode = LoopNode | ComputeBlock


def leaves_of(nodes: Iterable[NestNode]) -> Iterator[ComputeBlock]:
    """Yields the leaves of a tree, in text order."""
    for node in nodes:
        if isinstance(node, ComputeBlock):
            yield node
        else:
            yield from leaves_of(node.children)


class AllocationSite(msgspec.Struct, frozen=True, eq=False):
    """The allocation of a buffer: loops around it, outermost first, and the number of slots that rotate over the `slot_loop`.

    With one slot the buffer lives for one run of the innermost loop's body; with more, for all of the slot loop. A buffer with several
    versions from a software pipeline has `indexed` slots instead: the first axis of the buffer is the slot. `banks` has the physical block
    of each slot in turn, if the schedule sets them. Each iteration of `threads` has a private copy, as each thread has registers.
    """

    buffer: Buffer
    loops: tuple[Loop, ...] = ()
    slots: int = 1
    slot_loop: Loop | None = None
    indexed: bool = False
    banks: Banks = ()
    threads: tuple[Loop, ...] = ()
    slot_axis: int | None = None  # the axis of slots that the text of a kernel divides the buffer into

    @property
    def depth(self) -> int:
        """Returns the number of loops around the memory: with slots, it is outside of the loop over which they rotate."""
        if self.slot_loop is None:
            return len(self.loops)
        return next(n for n, loop in enumerate(self.loops) if loop.var is self.slot_loop.var)

    @property
    def lead(self) -> int:
        """Returns the number of leading axes that select a separately placed part."""
        separators = self.buffer.axis_separators
        return separators[0] if separators else int(self.indexed)

    @property
    def own_axis(self) -> int | None:
        """Returns the axis of the slots that the text divides the buffer into, behind that of its versions."""
        return None if self.slot_axis is None or self.buffer.axis_separators else self.slot_axis + int(self.indexed)


class Nest(msgspec.Struct, frozen=True, eq=False):
    """A function as loops and leaves. `sites` has parameters first, then allocations, in text order."""

    func: PrimFunc
    children: tuple[NestNode, ...]
    sites: tuple[AllocationSite, ...]
    index: ProgramIndex
    analyzer: Analyzer


def read_nest(func: PrimFunc, versioned: Collection[Buffer] = ()) -> Nest:
    """Returns the nest of a planned program (`lower.plan`), its pipelines injected; `versioned` are the buffers that these gave slots.

    Raises MachineError for loops whose trip count is unknown.
    """
    reader = _Reader(func, versioned)
    children = reader.read(func.body, _Around())
    return Nest(
        func,
        tuple(children),
        (*map(AllocationSite, func.buffers), *reader.sites),
        ProgramIndex(func),
        Analyzer(reader.ranges),
    )


class _Around(msgspec.Struct, frozen=True, eq=False):
    """The context of a statement."""

    loops: tuple[Loop, ...] = ()
    turning: Loop | None = None  # the innermost that runs more than once, if its iterations run in sequence
    conditions: tuple[Expr, ...] = ()
    block: Block | None = None
    engine: str | None = None
    threads: tuple[tuple[For, Loop], ...] = ()  # loops of threads, which run inside of the leaves
    tagged: tuple[tuple[str, Loop], ...] = ()  # loops that are vectorized or bound, threads among them

    @property
    def lanes(self) -> tuple[Var, ...]:
        tagged = [(tag, loop.var) for tag, loop in self.tagged if loop.extent > 1]
        threads = [v for axis in "xyz" for tag, v in tagged if tag == f"{THREAD}.{axis}"]
        return (*self.vectorized, *threads) if threads else ()

    @property
    def vectorized(self) -> tuple[Var, ...]:
        return tuple(loop.var for tag, loop in reversed(self.tagged) if tag == VECTORIZED and loop.extent > 1)


class _Reader:
    def __init__(self, func: PrimFunc, versioned: Collection[Buffer]) -> None:
        self.values: dict[Var, Expr] = {}
        self.sites: list[AllocationSite] = []
        self.ranges: dict[Var, Range] = {}
        self.func = func
        try:
            self.data = GivenData(func)
        except DataError as error:
            raise MachineError(error.refusal) from error
        self.doubled = marked_buffers(func)
        self.versioned = versioned
        self.slot_axes = slot_axes(func)

    def read(self, stmt: Stmt, around: _Around) -> list[NestNode]:
        checkpoint()
        match stmt:
            case SeqStmt(seq=seq):
                return [node for s in seq for node in self.read(s, around)]
            case For():
                return self._loop(stmt, around)
            case LaunchThread():
                return self._loop(launched(stmt), around)
            case BlockRealize():
                return self._realize(stmt, around)
            case IfThenElse(condition=condition, then_case=then, else_case=otherwise):
                found = self.read(then, self._under(around, condition))
                return found + (
                    [] if otherwise is None else self.read(otherwise, self._under(around, build.logical_not(condition)))
                )
            case LetStmt(var=var, value=value, body=body):
                self.values[var] = self._expr(value)
                return self.read(body, around)
            case AssertStmt(body=body) | AttrStmt(body=body):
                return self.read(body, around)
            case Allocate(buffers=buffers, body=body):
                self._own(buffers, around, stmt.annotations)
                return self.read(body, around)
            case BufferStore() | Evaluate():
                return (
                    [] if build.is_noop(stmt) else [self._leaf(around, (self._piece(stmt, around, len(around.loops)),))]
                )
            case _:
                raise refuse(
                    "unknown-statement", f"the simulator does not support {type(stmt).__name__} statements", stmt
                )

    def _loop(self, stmt: For, around: _Around) -> list[NestNode]:
        inside, loop = self._inside(stmt, around)
        if loop.extent <= 0:
            return []
        if is_threads(stmt):
            return self.read(stmt.body, msgspec.structs.replace(inside, threads=(*around.threads, (stmt, loop))))
        inside = msgspec.structs.replace(
            inside,
            loops=(*around.loops, loop),
            turning=around.turning if loop.extent == 1 else loop if stmt.kind in ("serial", "unrolled") else None,
            engine=requested_engine(stmt.annotations) or around.engine,
        )
        children = self.read(stmt.body, inside)
        return [LoopNode(loop, tuple(children))] if children else []

    def _inside(self, stmt: For, around: _Around) -> tuple[_Around, Loop]:
        """Returns the context of the body of a loop, and the loop itself."""
        loop, condition = self._enter(stmt)
        tag = VECTORIZED if stmt.kind == "vectorized" else stmt.thread_tag
        if stmt.thread_tag is not None:
            outer = next((n for tag, n in reversed(around.tagged) if tag == stmt.thread_tag), loop)
            require_equal_extents(stmt, (outer.name, outer.extent), loop.extent)
        inside = msgspec.structs.replace(
            around,
            conditions=(*around.conditions, *condition),
            tagged=around.tagged if tag is None else (*around.tagged, (tag, loop)),
        )
        return inside, loop

    def _enter(self, stmt: For) -> tuple[Loop, tuple[Expr, ...]]:
        """Returns the loop from 0 to its largest trip count, and the remaining condition if the count varies."""
        start, extent = self._expr(stmt.min), self._expr(stmt.extent)
        most = build.int_value(extent)
        if most is None:
            most = self._largest(extent)
        if most is None:
            raise self._unknown_count(stmt)
        var = Var(stmt.loop_var.name, stmt.loop_var.dtype)
        self.values[stmt.loop_var] = build.add(start, var)
        self.ranges[var] = build.make_range(build.const(0, var.dtype), build.const(max(most, 1), var.dtype))
        condition = () if isinstance(extent, IntImm) else (build.lt(var, extent),)
        barrier = any(key == GRID_BARRIER for key, _ in stmt.annotations)
        return Loop(var, max(most, 0), stmt.loop_var.name, is_grid(stmt), grid_axis(stmt), barrier), condition

    def _unknown_count(self, stmt: For) -> MachineError:
        """Returns the error for a loop whose trip count is not known; it names the parameters that decide it."""
        name = stmt.loop_var.name
        loops = data_use(self.func).loops
        known = {c.buffer for c in self.func.data if c.is_known}
        needed = [b.name for loop in loops if loop.name == name for b in loop.parameters if b.name not in known]
        line = ", ".join(f'"{parameter}": {EXAMPLE_TRIPS}' for parameter in needed)
        return refuse("unknown-trip-count", f"the trip count of loop {name!r} depends on data that is not given", stmt,
                      found=", ".join(needed) or name, expected="a mean, or the elements" if needed else "a constant extent",
                      fix=(f"data = {{{line}}}",) if needed else ())  # fmt: skip

    def _largest(self, extent: Expr) -> int | None:
        """Returns the largest trip count: the maximum over the loops around if their iterations are few, else an upper bound."""
        high = self._bound(extent)
        used = {v: build.int_value(self.ranges[v].extent) or 0 for v in free_vars(extent) if v in self.ranges}
        if not 0 < prod(used.values()) <= MAX_EVALUATED:
            return high
        try:
            found = int(values(extent, axes(used)).max())
        except UnknownValueError:
            return high
        return found if high is None else min(found, high)

    def _bound(self, extent: Expr) -> int | None:
        """Returns an upper bound of a trip count; an element of given data is between the least and the largest of them."""
        ranges = dict(self.ranges)

        def leave(node: Node) -> Node:
            if not isinstance(node, Lookup):
                return node
            element, low = Var("element", node.dtype), min(node.table)
            ends = build.const(low, node.dtype), build.const(max(node.table) - low + 1, node.dtype)
            ranges[element] = build.make_range(*ends)
            return element

        return Analyzer(ranges).bounds(rewrite(extent, leave)).high

    def _realize(self, realize: BlockRealize, around: _Around) -> list[NestNode]:
        block = realize.block
        for iter_var, value in zip(block.iter_vars, realize.iter_values, strict=True):
            self.values[iter_var.var] = self._expr(value)
        around = self._under(around, realize.predicate)
        self._own(block.alloc_buffers, around, block.annotations)
        around = msgspec.structs.replace(
            around,
            block=block if block.name else around.block,
            engine=requested_engine(block.annotations) or around.engine,
        )
        if any(isinstance(s, BlockRealize) for s in walk_stmts(block.body)):
            return self.read(block.body, around)
        pieces = self._pieces(block.body, around, len(around.loops))
        return [self._leaf(around, tuple(pieces))] if pieces else []

    def _pieces(self, stmt: Stmt, around: _Around, outer: int) -> list[Piece]:
        """Returns the stores in the body of a leaf block."""
        match stmt:
            case SeqStmt(seq=seq):
                return [p for s in seq for p in self._pieces(s, around, outer)]
            case LaunchThread():
                return self._pieces(launched(stmt), around, outer)
            case For():
                inside, loop = self._inside(stmt, around)
                inside = msgspec.structs.replace(inside, loops=(*around.loops, loop))
                return self._pieces(stmt.body, inside, outer) if loop.extent > 0 else []
            case IfThenElse(condition=condition, then_case=then, else_case=otherwise):
                found = self._pieces(then, self._under(around, condition), outer)
                negated = self._under(around, build.logical_not(condition))
                return found + ([] if otherwise is None else self._pieces(otherwise, negated, outer))
            case LetStmt(var=var, value=value, body=body):
                self.values[var] = self._expr(value)
                return self._pieces(body, around, outer)
            case AssertStmt(body=body) | AttrStmt(body=body):
                return self._pieces(body, around, outer)
            case Allocate(buffers=buffers, body=body):
                self._own(buffers, around, stmt.annotations)
                return self._pieces(body, around, outer)
            case Evaluate(value=Call(op="assume")):
                return []
            case _:
                return [] if build.is_noop(stmt) else [self._piece(stmt, around, outer)]

    def _piece(self, stmt: Stmt, around: _Around, outer: int) -> Piece:
        loops = (*(loop for _, loop in around.threads), *around.loops[outer:])
        if isinstance(stmt, BufferStore) and not dt.is_vector(stmt.value.dtype):
            exprs, given = zip(*(self._known(e) for e in (stmt.value, *stmt.indices)), strict=True)
            store = BufferStore(stmt.buffer, exprs[0], exprs[1:])
            self.data.store(store)
            piece = Piece(
                store, loops, around.conditions, lanes=around.lanes, vectorized=around.vectorized, given=sum(given, ())
            )
            if _is_of_warps(piece, around):
                piece = msgspec.structs.replace(piece, lanes=(), vectorized=())
            return self._in_threads(piece, around)
        block = around.block
        regions = [] if block is None else [(r, False) for r in block.reads] + [(w, True) for w in block.writes]
        touches = tuple((self._region(r), written) for r, written in regions)
        return self._in_threads(Piece(None, loops, around.conditions, touches), around)

    def _leaf(self, around: _Around, pieces: tuple[Piece, ...]) -> ComputeBlock:
        block = around.block or Block("", (), (), (), Evaluate(IntImm(0)))
        return ComputeBlock(block, pieces, around.engine, self._tokens(block, AWAITS), self._tokens(block, SIGNALS))

    def _tokens(self, block: Block, key: str) -> tuple[Token, ...]:
        found = next((value for name, value in block.annotations if name == key), ())
        assert isinstance(found, tuple)
        return tuple((name.value, self._expr(index)) for name, index in found)

    def _in_threads(self, piece: Piece, around: _Around) -> Piece:
        """Drops the loops of threads that a piece does not depend on: virtual ones, and those that an inner loop repeats."""
        innermost = dict(around.tagged)
        own = {s.buffer: s.threads for s in self.sites}
        idle = {
            loop
            for tag, loop in around.tagged
            if loop in piece.loops and tag != VECTORIZED and (innermost[tag] is not loop or not tag.startswith(THREAD))
            and not _concerns(piece, loop, own)
        }  # fmt: skip
        return msgspec.structs.replace(piece, loops=tuple(n for n in piece.loops if n not in idle)) if idle else piece

    def _own(self, buffers: Sequence[Buffer], around: _Around, annotations: Annotations) -> None:
        placed = banks_noted(annotations)
        for buffer in buffers:
            banks = placed.get(buffer.name, ())
            threads = tuple(loop for stmt, loop in around.threads if not is_shared_over(buffer.scope, stmt))
            own = self.slot_axes.get(buffer.name)
            site = AllocationSite(buffer, around.loops, banks=banks, threads=threads, slot_axis=own)
            if buffer in self.versioned:
                slots = build.int_value(buffer.shape[0]) or 1
                site = msgspec.structs.replace(site, slots=slots, indexed=True)
            elif buffer in self.doubled and around.turning is not None:
                asked = self.doubled[buffer]
                site = msgspec.structs.replace(site, slots=asked.count, slot_loop=around.turning, banks=asked.banks)
            self.sites.append(site)

    def _under(self, around: _Around, condition: Expr) -> _Around:
        terms = [Analyzer(self.ranges).simplify(t) for t in build.conjuncts(self._expr(condition))]
        kept = tuple(t for t in terms if not build.is_true(t))
        return msgspec.structs.replace(around, conditions=(*around.conditions, *kept)) if kept else around

    def _expr(self, expr: Expr) -> Expr:
        return self._known(expr)[0]

    def _known(self, expr: Expr) -> tuple[Expr, tuple[BufferLoad, ...]]:
        """Returns an expression over loop variables, and the loads of given data in it."""
        return self.data.replaced(substitute(expr, self.values))

    def _region(self, region: BufferRegion) -> BufferRegion:
        axes = tuple(Range(self._expr(r.min), self._expr(r.extent)) for r in region.region)
        return BufferRegion(region.buffer, axes)


def requested_engine(annotations: Annotations) -> str | None:
    """The engine that a block's `engine` annotation names; None if it has none."""
    for key, value in annotations:
        if key == ENGINE and isinstance(value, StringImm):
            return value.value
    return None


def _is_of_warps(piece: Piece, around: _Around) -> bool:
    """Whether whole warps execute a piece: it accesses a fragment, and no loop around it is bound to their lanes."""
    has_lanes = any(tag == f"{THREAD}.x" and loop.extent > 1 for tag, loop in around.tagged)
    return not has_lanes and any(is_fragment(b.scope) for b in buffers_of(piece))


def _concerns(piece: Piece, loop: Loop, own: Mapping[Buffer, tuple[Loop, ...]]) -> bool:
    """Returns whether a piece depends on the iterations of a loop, or accesses a buffer that is private to each of them."""
    return any(n is loop.var for n in nodes_of(piece)) or any(loop in own.get(b, ()) for b in buffers_of(piece))
