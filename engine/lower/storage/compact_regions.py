"""Live regions of buffers at their allocation: the hull of a buffer's accesses as the loops further in run.

Source: TVM src/s_tir/transform/compact_buffer_region.cc, BufferAccessRegionCollector.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from ...analysis import hull_over
from ...arith import Analyzer, Relaxer, least_of
from ...cancellation import checkpoint
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Call,
    Expr,
    For,
    IfThenElse,
    IntImm,
    LaunchThread,
    Let,
    LetStmt,
    Node,
    Not,
    Or,
    PrimFunc,
    Range,
    Var,
    addressed_buffers,
    build,
    children,
    substitute,
    walk,
)
from ..bounded_sums import bounded_sums
from ..scopes import is_shared_over

Box = tuple[Range, ...]


def live_regions(func: PrimFunc) -> dict[Buffer, Box]:
    """The used box of each buffer that a block allocates and the program accesses, in one run of the block.

    Mins may use the loops around the allocation, extents may not; both stay within the buffer's shape. An axis without known bounds is
    whole.
    """
    collector = _Collector()
    collector.visit(func.body)
    return collector.boxes


class _Collector:
    """A visitor that tracks the loops, the values of iterators, and the conditions that hold."""

    def __init__(self) -> None:
        self.loops: list[For] = []
        self.ranges: dict[Var, Range] = {}
        # An analyzer for the current ranges, and cached relaxers by relaxed loops.
        self.known = Analyzer()
        self.hulls: dict[tuple[Var, ...], Relaxer] = {}
        self.values: dict[Var, Expr] = {}
        self.conditions: list[Expr] = []
        self.depth: dict[Buffer, int] = {}
        self.explicit: dict[Buffer, BufferRegion] = {}
        self.found: dict[Buffer, list[BufferRegion]] = {}
        self.boxes: dict[Buffer, Box] = {}

    def visit(self, node: Node) -> None:
        if isinstance(node, Var | IntImm):
            return None
        match node:
            case For():
                return self._loop(node)
            case LaunchThread():
                return self._loop(build.serial(node.var, node.extent, node.body))
            case BlockRealize():
                return self._realize(node)
            case Block():
                return self._block(node)
            case IfThenElse():
                return self._branches(node.condition, node.then_case, node.else_case)
            case Call(op="if_then_else", args=(condition, yes, no)):
                return self._branches(condition, yes, no)
            case BufferData(buffer=buffer) | Call(op="address_of", args=(BufferLoad(buffer=buffer), *_)):
                self._access(build.full_region(buffer))  # code with the address may access any element
            case Let() | LetStmt():
                self.visit(node.value)
                self.values[node.var] = self._bound(node.value)
                return self.visit(node.body)
            case BufferLoad() | BufferStore():
                point = BufferRegion(node.buffer, tuple(build.point(i) for i in node.indices))
                self._access(self.explicit.get(node.buffer, point) if isinstance(node, BufferLoad) else point)
            case Buffer():
                return None
            case _:
                pass
        for child in children(node):
            self.visit(child)
        return None

    # Context of an access.

    def _loop(self, loop: For) -> None:
        self.visit(loop.min)
        self.visit(loop.extent)
        self.loops.append(loop)
        self.ranges[loop.loop_var] = Range(self._bound(loop.min), self._bound(loop.extent))
        self.known, self.hulls = Analyzer(dict(self.ranges)), {}
        self.visit(loop.body)
        self.loops.pop()

    def _realize(self, realize: BlockRealize) -> None:
        for value in (*realize.iter_values, realize.predicate):
            self.visit(value)
        for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            self.values[iter_var.var] = self._bound(value)
        with self._under(realize.predicate):
            self.visit(realize.block)

    def _block(self, block: Block) -> None:
        checkpoint()
        for buffer in block.alloc_buffers:
            self.depth[buffer] = len(self.loops)
        outer, self.explicit = self.explicit, _explicit_regions(block)
        addressed = addressed_buffers(block) if block.match_buffers else set[Buffer]()
        for match in block.match_buffers:
            self._access(build.full_region(match.source.buffer) if match.buffer in addressed else match.source)
        for part in (block.init, block.body):
            if part is not None:
                self.visit(part)
        self.explicit = outer
        for buffer in block.alloc_buffers:
            if buffer in self.found:
                self.boxes[buffer] = self._box(buffer)

    def _branches(self, condition: Expr, yes: Node, no: Node | None) -> None:
        self.visit(condition)
        with self._under(condition):
            self.visit(yes)
        if no is not None:
            with self._under(build.logical_not(condition)):
                self.visit(no)

    @contextmanager
    def _under(self, condition: Expr) -> Generator[None]:
        known = len(self.conditions)
        self.conditions.extend(_terms(self._bound(condition)))
        yield
        del self.conditions[known:]

    def _bound(self, expr: Expr) -> Expr:
        """`expr` in terms of loops only."""
        return substitute(expr, self.values)

    # Accesses.

    def _access(self, region: BufferRegion) -> None:
        depth = self.depth.get(region.buffer)
        if depth is None:
            return
        relaxed = {
            f.loop_var: self.ranges[f.loop_var]
            for i, f in enumerate(self.loops)
            if i >= depth or is_shared_over(region.buffer.scope, f)
        }
        axes = tuple(Range(self._bound(axis.min), self._bound(axis.extent)) for axis in region.region)
        bound, sums = bounded_sums(BufferRegion(region.buffer, axes), relaxed, self.conditions)
        if sums:
            hulls = Relaxer({**relaxed, **sums}, Analyzer({**self.ranges, **sums}))
        else:
            hulls = self.hulls.setdefault(tuple(relaxed), Relaxer(relaxed, self.known))
        self.found.setdefault(region.buffer, []).append(hull_over(hulls, [bound], self.conditions))

    def _box(self, buffer: Buffer) -> Box:
        around = [f for f in self.loops if not is_shared_over(buffer.scope, f)]
        fixed = Analyzer({f.loop_var: self.ranges[f.loop_var] for f in around})
        box = hull_over(Relaxer({}, fixed), self.found[buffer])
        axes = zip(box.region, buffer.shape, strict=True)
        return tuple(_within(axis, size, fixed, self.ranges) for axis, size in axes)


def _terms(condition: Expr) -> list[Expr]:
    """The separate conditions that all must hold; `not (a or b)` gives two."""
    found: list[Expr] = []
    for term in build.conjuncts(condition):
        if isinstance(term, Not) and isinstance(term.a, Or):
            found += [*_terms(build.logical_not(term.a.a)), *_terms(build.logical_not(term.a.b))]
        else:
            found.append(term)
    return found


def _explicit_regions(block: Block) -> dict[Buffer, BufferRegion]:
    """Regions that the block declares for its reads (TVM's "explicit_read_region": positions in `reads`), which override those of its
    body."""
    for key, value in block.annotations:
        if key == "explicit_read_region":
            positions = value if isinstance(value, tuple) else (value,)
            chosen = [block.reads[p.value] for p in positions if isinstance(p, IntImm) and p.value < len(block.reads)]
            return {region.buffer: region for region in chosen}
    return {}


def _within(axis: Range, size: Expr, fixed: Analyzer, loops: Mapping[Var, Range]) -> Range:
    """`axis` cut to `0 … size`, with an extent independent of all loops; the whole axis if that is not possible.

    Of the program's `loops`, those known to `fixed` have one value at the allocation.
    """
    around = fixed.ranges
    whole = Range(build.const(0, size.dtype), size)
    used = [n for end in (axis.min, axis.extent) for n in walk(end)]
    if any((n in loops and n not in around) or isinstance(n, BufferLoad | Call) for n in used):
        return whole
    extent = fixed.simplify(axis.extent)
    if any(n in around for n in walk(extent)):
        # The extent is at most each of the cases of its clamps.
        highs = [high for case in least_of(extent) if (high := fixed.bounds(case).high) is not None]
        if not highs:
            return whole
        extent = build.const(min(highs), size.dtype)
    if fixed.proves(build.ge(extent, size)):
        return whole
    start = axis.min if fixed.proves(build.le(0, axis.min)) else build.maximum(axis.min, 0)
    return Range(fixed.simplify(start), extent)
