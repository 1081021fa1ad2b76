"""What the readers of TileLang's statements share: blocks in the loops around them, and what is known of the kernel that is read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...ir import (
    Annotations,
    Buffer,
    BufferLoad,
    BufferRegion,
    BufferStore,
    Expr,
    IfThenElse,
    IntImm,
    Node,
    Place,
    Range,
    Stmt,
    StringImm,
    Var,
    build,
    substitute,
    walk,
)
from ..reading.blocks import unique_name
from ..reading.reader import Item, compose
from ..reading.source import Source
from ..reading.statements.bodies import StatementReader
from ..subset.scope import Value
from .blocks import Axis, Lanes, block, guarded, on_lanes, outside, ranges_of, seen_through
from .expressions import Synchroniser, TileExpressions
from .names import ASYNC, WARP_GROUP
from .sync.statement import ANY_SIDE, Synchronised


class TileBase(StatementReader):
    """Makes the blocks of a kernel."""

    exprs: TileExpressions

    def __init__(self, source: Source, *, current: bool) -> None:
        super().__init__(source, current=current)
        self.exprs = TileExpressions(source, self.positions)

    def begin_function(self) -> None:
        super().begin_function()
        self.axes: set[Var] = set()  # those of all operations
        self.layouts: dict[str, str] = {}  # those that the text gives to buffers, by the names of their variables
        self.panels: Annotations = ()  # the order of blocks that the text gives
        self.allocated: dict[str, Buffer] = {}  # the buffers of a kernel, by the names of their variables
        self.launch: Annotations = ()  # the number of threads of the printed kernel that is read
        self.following: list[list[ast.stmt]] = []  # the bodies around the statement that is read
        self.at: ast.stmt | None = None
        self.made: dict[ast.stmt, Stmt] = {}  # what each statement became
        self.tensors: dict[str, Buffer] = {}  # those that an eager kernel declares in its body
        self.outputs: list[Buffer] = []
        self.pending: list[Stmt] = []  # statements that an expression needs before the one that is read
        self.named_groups: list[str] = []  # groups of threads that the text names
        self.grid_body: list[ast.stmt] = []  # the statements of the kernel outside of loops and branches
        self.group = ""  # the group whose statements are read
        self.agent = ""  # what runs the block that is read beside the threads
        self.barriers: dict[str, tuple[int | None, ...]] = {}  # the arrivals that each barrier expects
        self.synchronised: list[Synchronised] = []
        self.divergent: set[str] = set()  # names that may differ between threads
        self.lanes: Lanes | None = None  # the threads of the kernel, if code for single threads names them
        self.private: dict[Buffer, Buffer] = {}  # the buffers of each thread, with the buffers of their copies
        self.masks: list[Expr] = []  # conditions that hold for some threads only
        self.safe: dict[Buffer, Expr] = {}  # what copies read outside of a buffer, if it is not 0
        self.reducers: dict[Buffer, str] = {}  # what each reducer combines its updates by
        self.views: dict[Buffer, Buffer] = {}  # the buffers whose elements others name in another shape
        self.constants: Mapping[str, Value] = {}  # values of the sizes that an eager kernel takes from its tensors

    # --- blocks

    def block(
        self, hint: str, axes: Sequence[Axis], body: Stmt, *, conditions: Sequence[Expr] = (), sums: bool = False, each: bool = False,
        notes: Annotations = (),
    ) -> Stmt:  # fmt: skip
        """Return the block of an operation in its loops. It runs once, unless it concerns single threads or runs in `each` of them."""
        name = unique_name(hint, self.block_names)
        notes = (*notes, *self._beside())
        if self.views:
            body, conditions = seen_through(body, self.views), [seen_through(c, self.views) for c in conditions]
        once = self.lanes is None or self.runs_once(body, [*conditions, *self.masks])
        if self.lanes is None or once:
            conditions = [*self.masks, *conditions]
        else:
            each = self.in_each(each=each, sums=sums) or any(map(self.differs, (body, *conditions)))
            conditions = [*self.conditions(body, is_own=each), *conditions]
            mine, body, conditions = on_lanes(self.lanes, self.private, body, conditions, updates=each)
            axes = [*mine, *axes]
        body, conditions = _under(body, conditions)
        self.axes |= {a.var for a in axes}
        return block(name, self.loops, axes, body, conditions=conditions, sums=sums, notes=notes)

    def declared(
        self, hint: str, body: Stmt, reads: Sequence[BufferRegion], writes: Sequence[BufferRegion]
    ) -> Stmt:  # fmt: skip
        """Return the block of an operation that only declares its regions."""
        name = unique_name(hint, self.block_names)
        axes: list[Axis] = []
        masks = self.masks
        regions = [[self._owned(r) for r in reads], [self._owned(r) for r in writes]]
        if self.lanes is not None:
            each = any(self.differs(r) or r.buffer in self.private for r in (*reads, *writes))
            masks = self.conditions(body, is_own=each)
            if each or any(map(self.differs, masks)):
                axes, body, masks = on_lanes(self.lanes, self.private, body, masks, updates=True)
            numbers = {v: a.var for v, a in zip(self.lanes.vars, axes, strict=bool(axes))}
            regions = [[substitute(r, numbers) for r in side] for side in regions]
        body, masks = _under(body, masks)
        sides = tuple(regions[0]), tuple(regions[1])
        return block(name, self.loops, axes, body, conditions=masks, regions=sides, notes=self._beside())

    def _beside(self) -> Annotations:
        """Return the annotations of a block with the threads that run it, and what runs it beside them."""
        given = ((WARP_GROUP, self.group), (ASYNC, self.agent))
        return tuple((key, StringImm(value)) for key, value in given if value)

    def _owned(self, region: BufferRegion) -> BufferRegion:
        """Return a region of the buffer that holds its elements: the whole one that a view shows, and the part of a thread."""
        buffer = region.buffer
        if buffer in self.views:
            while buffer in self.views:
                buffer = self.views[buffer]
            region = build.full_region(buffer)
        if self.lanes is None or buffer not in self.private:
            return region
        return BufferRegion(self.private[buffer], (*map(build.point, self.lanes.vars), *region.region))

    def conditions(self, body: Stmt, *, is_own: bool) -> list[Expr]:
        """Return the conditions under which a statement runs: in each thread that has the masks, or once if some thread has them."""
        if is_own or not self.masks:
            return self.masks
        found = self.groups(self.masks)
        written = {node.buffer for node in walk(body) if isinstance(node, BufferStore)}
        if found is None and any(isinstance(node, BufferLoad) and node.buffer in written for node in walk(body)):
            assert self.at is not None
            raise self.source.error(self.at, "unsupported", "this runs once for a group of threads that is not known when the text is read",
                                    expected="a condition on the numbers of the threads")  # fmt: skip
        return self.masks if found is None else found

    def groups(self, masks: Sequence[Expr]) -> list[Expr] | None:
        """Return the conditions under which some thread has all masks; None if that is not known."""
        raise NotImplementedError

    def keep(self, buffer: Buffer, name: ast.Name) -> None:
        """Allocate a buffer, and give it its name."""
        raise NotImplementedError

    def read_here(self, value: Expr) -> Stmt | None:
        """Return that the elements in a value are read at this place, if that matters."""
        raise NotImplementedError

    def store(self, buffer: Buffer, value: Expr, indices: tuple[Expr, ...], place: Place) -> Stmt:
        ranges = self.ranges()
        kept = outside(buffer, indices, ranges) if buffer.scope == "global" else []
        value = guarded(value, ranges)
        return self.placed(self.block(buffer.name, (), BufferStore(buffer, value, indices), conditions=kept), place)

    def ranges(self, axes: Iterable[Axis] = ()) -> dict[Var, Range]:
        """Return the values of the loops and units around the statement, and of axes."""
        found = ranges_of(self.loops, axes)
        if self.lanes is not None:
            found |= {
                v: Range(build.const(0, v.dtype), e) for v, e in zip(self.lanes.vars, self.lanes.extents, strict=True)
            }
        return found

    def safe_value(self, buffer: Buffer) -> Expr:
        """Return what a copy reads outside of a buffer."""
        return self.safe.get(buffer, build.const(0, buffer.dtype))

    def placed(self, stmt: Stmt, place: Place) -> Stmt:
        """Record the place of a statement and of all blocks and loops in it."""
        for node in walk(stmt):
            if isinstance(node, Stmt):
                self.positions.add(node, place)
        return stmt

    def when(self, condition: ast.expr, make: Callable[[], Stmt]) -> list[Stmt]:
        """Return a statement under a condition, which may be a constant."""
        test = self.exprs.value(condition)
        if isinstance(test, Expr) and not isinstance(test, IntImm):
            return [IfThenElse(self.exprs.as_condition(test, condition), make())]
        return [make()] if (test.value if isinstance(test, IntImm) else test) else []

    # --- barriers

    @property
    def side(self) -> int:
        """The position of the group of threads that is read."""
        return self.named_groups.index(self.group) if self.group else ANY_SIDE

    def barrier(self, node: ast.expr | None) -> tuple[str, Expr] | None:
        """Return a barrier with the number of its part; None for something else."""
        found = None if node is None else self.exprs.value(node)
        if not isinstance(found, Synchroniser) or found.barrier is None:
            return None
        return found.barrier, IntImm(0) if found.number is None else found.number

    def running_threads(self) -> int:
        """Return how many threads run the statement that is read."""
        raise NotImplementedError

    def allocated_barrier(self, name: ast.Name, counts: tuple[int | None, ...]) -> None:
        own = unique_name(name.id, self.block_names)
        self.barriers[own] = counts
        self.exprs.define(name.id, Synchroniser(own), name)

    # --- sequences

    def body(self, nodes: list[ast.stmt]) -> Stmt:
        self.following.append(nodes)
        try:
            return super().body(nodes)
        finally:
            self.following.pop()

    def statement(self, node: ast.stmt, *, is_last: bool) -> Item | None:
        self.at = node
        outer, self.pending = self.pending, []
        try:
            item = super().statement(node, is_last=is_last)
            if self.pending:
                parts = [*self.pending, *([] if item is None else [item])]
                item = (
                    build.seq([p for p in parts if isinstance(p, Stmt)])
                    if item is None or isinstance(item, Stmt)
                    else compose(parts)
                )
        finally:
            self.pending = outer
        if isinstance(item, Stmt):
            self.made[node] = item
        return item

    def same_scope(self, nodes: list[ast.stmt]) -> Stmt | None:
        """Read statements that run in the scope around them: the branch of a condition that is known, or the body of a macro."""
        self.following.append(nodes)
        found = [self.statement(node, is_last=False) for node in nodes]
        self.following.pop()
        stmts = [item for item in found if isinstance(item, Stmt)]
        if len(stmts) != len([item for item in found if item is not None]):
            raise self.source.error(
                nodes[0], "unsupported", "a declaration is not supported here", expected="tile operations"
            )
        return build.seq(stmts) if stmts else None

    # --- units

    def runs_once(self, body: Stmt, conditions: Sequence[Expr]) -> bool:
        """Whether a statement runs on no unit in particular."""
        return False

    def in_each(self, *, each: bool, sums: bool) -> bool:
        """Whether a statement that names no unit runs in each of them."""
        return each and not any(loop.kind == "parallel" for loop in self.loops.values())

    def differs(self, code: Node) -> bool:
        """Whether a value or a statement differs between threads: it names one, or memory that each thread has for itself."""
        lanes, private = self.lanes, self.private
        return lanes is not None and any(
            (isinstance(n, Var) and n in lanes.vars)
            or (isinstance(n, BufferLoad | BufferStore) and n.buffer in private)
            for n in walk(code)
        )


def _under(body: Stmt, conditions: Sequence[Expr]) -> tuple[Stmt, list[Expr]]:
    """Return a statement under the conditions that load memory, which are part of a block, and the other conditions, which are its
    predicate."""
    on_memory = [c for c in conditions if any(isinstance(node, BufferLoad) for node in walk(c))]
    inside = IfThenElse(build.logical_and(*on_memory), body) if on_memory else body
    return inside, [c for c in conditions if c not in on_memory]


__all__ = ["TileBase"]
