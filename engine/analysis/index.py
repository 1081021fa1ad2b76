"""Index of one function: parents, loops above a block, producers and consumers.

An index is built once for a PrimFunc and answers by lookups. Programs are immutable, so it never becomes stale.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

from msgspec.structs import replace as replace_fields
from propcache.api import cached_property

from ..ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferStore,
    Evaluate,
    For,
    IntImm,
    Node,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    addressed_buffers,
    build,
    child_stmts,
    children,
    map_stmts,
    structural_equal,
    uses_var,
    walk,
)

S = TypeVar("S", bound=Stmt)
T = TypeVar("T")


class ProgramIndex:
    """Facts about the block program `func`.

    Block names must be unique in `func` (`unique_block_names` makes them so). Lookups of unknown names raise KeyError.
    """

    def __init__(self, func: PrimFunc, before: ProgramIndex | None = None) -> None:
        """`before`: the index of a program that shares statements with this one; cached facts of shared statements are reused."""
        self.func = func
        known = before._facts if before is not None else {}
        self._facts: dict[Stmt, dict[Callable[..., object], object]] = {}
        self._facts_here: dict[tuple[object, ...], object] = {}
        self._parent: dict[Stmt, Stmt] = {}
        self._scope: dict[Stmt, Block] = {}
        self._above: dict[Stmt, tuple[For, ...]] = {}
        self._realizes: dict[str, BlockRealize] = {}
        self._loops: dict[Var, For] = {}
        self._loose: dict[Block, set[Buffer]] = {}
        self._producers: dict[str, tuple[str, ...]] = {}
        self._consumers: dict[str, tuple[str, ...]] = {}
        stack: list[Stmt] = [func.body]
        while stack:
            stmt = stack.pop()
            scope = self._scope.get(stmt)
            if type(stmt) is BlockRealize:
                self._realizes[stmt.block.name] = stmt
            elif type(stmt) is For:
                self._loops[stmt.loop_var] = stmt
            elif type(stmt) is Block:
                scope = stmt
            if stmt in known:
                self._facts[stmt] = known[stmt]
            below: list[Any] = child_stmts(stmt)
            for child in below:
                self._parent[child] = stmt
                if scope is not None:
                    self._scope[child] = scope
            below.reverse()
            stack += below

    def fact(self, find: Callable[[S], T], stmt: S) -> T:
        """`find(stmt)`, cached: for properties that depend only on the statement itself, not on its context."""
        facts = self._facts.setdefault(stmt, {})
        if find not in facts:
            facts[find] = find(stmt)
        return cast("T", facts[find])

    def fact_here(self, find: Callable[..., T], *given: object) -> T:
        """`find(index, *given)`, cached: for properties of nodes that depend on their positions in this program."""
        key = (find, *given)
        if key not in self._facts_here:
            self._facts_here[key] = find(self, *given)
        return cast("T", self._facts_here[key])

    # Positions.

    @property
    def root(self) -> BlockRealize:
        """The realize of the root block."""
        assert isinstance(self.func.body, BlockRealize), "a block program needs a root block"
        return self.func.body

    @property
    def block_names(self) -> tuple[str, ...]:
        """All blocks in text order, the root first."""
        return tuple(self._realizes)

    @property
    def loops(self) -> tuple[For, ...]:
        """All loops in text order."""
        return tuple(self._loops.values())

    def realize(self, name: str) -> BlockRealize:
        return self._realizes[name]

    def block(self, name: str) -> Block:
        return self._realizes[name].block

    def has_block(self, name: str) -> bool:
        return name in self._realizes

    def loop(self, var: Var) -> For:
        return self._loops[var]

    def has_loop(self, var: Var) -> bool:
        return var in self._loops

    def parent(self, stmt: Stmt) -> Stmt | None:
        """The statement directly around `stmt`; None for the root."""
        return self._parent.get(stmt)

    def path(self, stmt: Stmt) -> Iterator[Stmt]:
        """The statements around `stmt`, from the nearest to the root."""
        parent = self._parent.get(stmt)
        while parent is not None:
            yield parent
            parent = self._parent.get(parent)

    def is_inside(self, stmt: Stmt, outer: Stmt) -> bool:
        """Whether `outer` is `stmt` or contains it."""
        return stmt is outer or any(s is outer for s in self.path(stmt))

    def scope_of(self, stmt: Stmt) -> Block:
        """The block whose body contains `stmt`. KeyError for the root, which has no scope around it."""
        return self._scope[stmt]

    def loops_above(self, stmt: Stmt) -> tuple[For, ...]:
        """The loops around `stmt` within its scope, outermost first."""
        found = self._above.get(stmt)
        if found is None:
            parent = self._parent.get(stmt)
            above = () if parent is None or type(parent) is Block else self.loops_above(parent)
            found = self._above[stmt] = (*above, parent) if type(parent) is For else above
        return found

    def position(self, name: str) -> int:
        """The number of blocks before `name` in the text."""
        return self._positions[name]

    def loops_of(self, name: str) -> tuple[For, ...]:
        """The loops around block `name` within its scope, outermost first."""
        return self.loops_above(self._realizes[name])

    def child_blocks(self, stmt: Stmt) -> tuple[BlockRealize, ...]:
        """The blocks below `stmt` in text order, without nested blocks; for a block, those in its init and its body."""
        top = stmt.block if isinstance(stmt, BlockRealize) else stmt
        return self.fact(_blocks_below, top)

    def siblings(self, name: str) -> tuple[BlockRealize, ...]:
        """The blocks in the scope of block `name`, including itself, in text order."""
        return self.child_blocks(self.scope_of(self._realizes[name]))

    # Producers and consumers.

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """All buffers: parameters first, then the blocks' allocations in text order."""
        owned = [b for r in self._realizes.values() for b in r.block.alloc_buffers]
        return (*self.func.buffers, *owned)

    def is_param(self, buffer: Buffer) -> bool:
        return any(b is buffer for b in self.func.buffers)

    def producers(self, name: str) -> tuple[str, ...]:
        """Blocks of the same scope, before `name` in the text, that write buffers which block `name` reads or updates."""
        if name not in self._producers:
            block, position = self.block(name), self._positions[name]
            makers = {n for r in (*block.reads, *block.writes) for n in self.writers(r.buffer)}
            before = (n for n in self._in_scope_of(name, makers) if self._positions[n] < position)
            self._producers[name] = tuple(before)
        return self._producers[name]

    def consumers(self, name: str) -> tuple[str, ...]:
        """Blocks of the same scope, after `name` in the text, that read or update buffers which block `name` writes."""
        if name not in self._consumers:
            written, position = {w.buffer for w in self.block(name).writes}, self._positions[name]
            users = {n for b in written for n in (*self.readers(b), *self.writers(b))}
            behind = (n for n in self._in_scope_of(name, users) if self._positions[n] > position)
            self._consumers[name] = tuple(behind)
        return self._consumers[name]

    def writers(self, buffer: Buffer) -> tuple[str, ...]:
        """All blocks except the root that write `buffer`, in text order."""
        return tuple(self._users[1].get(buffer, ()))

    def readers(self, buffer: Buffer) -> tuple[str, ...]:
        """All blocks except the root that read `buffer`, in text order."""
        return tuple(self._users[0].get(buffer, ()))

    @cached_property
    def _users(self) -> tuple[dict[Buffer, list[str]], dict[Buffer, list[str]]]:
        """(readers, writers) of each buffer."""
        found: tuple[dict[Buffer, list[str]], dict[Buffer, list[str]]] = {}, {}
        for name, realize in self._realizes.items():
            if realize is self.func.body:
                continue
            for users, regions in zip(found, (realize.block.reads, realize.block.writes), strict=True):
                for buffer in {r.buffer for r in regions}:
                    users.setdefault(buffer, []).append(name)
        return found

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The position of each block in the text, from 0."""
        return {name: position for position, name in enumerate(self._realizes)}

    def _in_scope_of(self, name: str, others: Iterable[str]) -> Iterator[str]:
        """The `others` directly in the scope of block `name`, in text order."""
        if self._realizes[name] is self.root:
            return  # it has no scope
        scope = self.scope_of(self._realizes[name])
        for other in sorted(others, key=self._positions.__getitem__):
            if self.scope_of(self._realizes[other]) is scope:
                yield other

    @cached_property
    def addressed(self) -> set[Buffer]:
        """The buffers whose address the program uses."""
        return {b for stmt in (self.func.body, *self._parent) for b in self.fact(_addressed_here, stmt)}

    def touched_loosely(self, scope: Block, apart: Container[Node] = ()) -> set[Buffer]:
        """The buffers that the scope accesses outside of the blocks' declared regions: in conditions, loop bounds, bindings and bare
        stores. Also buffers that some blocks access by name and others through an outer view.

        Accesses in the nodes `apart` do not count.
        """
        if apart:
            return self._touched_loosely(scope, apart)
        if scope not in self._loose:
            self._loose[scope] = self._touched_loosely(scope, ())
        return self._loose[scope]

    def _touched_loosely(self, scope: Block, apart: Container[Node]) -> set[Buffer]:
        found = self._aliased(scope)
        for nest in scope.body.seq if isinstance(scope.body, SeqStmt) else (scope.body,):
            found |= _touched_below(nest, apart) if apart else self.fact(_touched_below, nest)
        return found

    @cached_property
    def _viewed(self) -> dict[Buffer, Buffer]:
        """The source buffer of each view."""
        found = {m.buffer: m.source.buffer for r in self._realizes.values() for m in r.block.match_buffers}
        return {view: self._source_of(view, found) for view in found}

    @staticmethod
    def _source_of(view: Buffer, direct: Mapping[Buffer, Buffer]) -> Buffer:
        while view in direct:
            view = direct[view]
        return view

    def _aliased(self, scope: Block) -> set[Buffer]:
        """The buffers that the blocks of a scope access under more than one name."""
        if not self._viewed:
            return set()
        stack: list[Node] = [scope.body] if scope.init is None else [scope.init, scope.body]
        names: dict[Buffer, set[Buffer]] = {}
        while stack:
            node = stack.pop()
            if isinstance(node, BlockRealize):
                for region in (*node.block.reads, *node.block.writes):
                    names.setdefault(self._viewed.get(region.buffer, region.buffer), set()).add(region.buffer)
            else:
                stack.extend(child_stmts(node))
        return {b for group in names.values() if len(group) > 1 for b in group}

    def is_bare(self, stmt: Stmt) -> bool:
        """Whether a store or call below `stmt` is outside of blocks, or `stmt` contains no blocks."""
        stack: list[Node] = [stmt]
        while stack:
            node = stack.pop()
            if isinstance(node, BufferStore) or (isinstance(node, Evaluate) and not isinstance(node.value, IntImm)):
                return True
            stack += [stmt for stmt in child_stmts(node) if type(stmt) is not BlockRealize]
        return not self.child_blocks(stmt)

    def is_output(self, name: str) -> bool:
        """Whether block `name` writes a buffer allocated outside of its scope (a parameter, for the root's blocks)."""
        local = self.scope_of(self._realizes[name]).alloc_buffers
        return any(all(w.buffer is not b for b in local) for w in self.block(name).writes)

    # Block kinds by TVM's definitions.

    def is_dominant(self, name: str) -> bool:
        """Whether the block is the only writer of its buffers in its scope."""
        writers = {n for w in self.block(name).writes for n in self.writers(w.buffer)}
        return all(n == name for n in self._in_scope_of(name, writers))

    def is_complete(self, name: str) -> bool:
        """TVM's complete block: dominant, with spatial iterators only, and no reads of its written buffers."""
        block = self.block(name)
        spatial = all(iv.iter_type == "spatial" for iv in block.iter_vars)
        return self.is_dominant(name) and spatial and not self.updates_in_place(name)

    def is_reduction(self, name: str) -> bool:
        """A reduction block whose init sets everything that the body accumulates into. An init that reads the block's output, or omits a
        part of it, belongs to the computation."""
        return self.has_separate_init(name) and self.fact(init_starts_afresh, self.block(name))

    def has_separate_init(self, name: str) -> bool:
        """TVM's reduction block: dominant, with an init, spatial and reduction iterators only, its output not indexed by the latter. The
        init reads of the output at most the elements of its own instance."""
        block = self.block(name)
        if block.init is None or not self.is_dominant(name) or not self.fact(init_reads_own_elements, block):
            return False
        if any(iv.iter_type not in ("spatial", "reduce") for iv in block.iter_vars):
            return False
        reduce_vars = [iv.var for iv in block.iter_vars if iv.iter_type == "reduce"]
        ranges = [r for w in block.writes for r in w.region]
        return not any(uses_var(r, v) for r in ranges for v in reduce_vars)

    def updates_in_place(self, name: str) -> bool:
        """Whether the block reads a buffer that it writes (a reduction does)."""
        block = self.block(name)
        return any(r.buffer is w.buffer for r in block.reads for w in block.writes)


def _blocks_below(stmt: Stmt) -> tuple[BlockRealize, ...]:
    found: list[BlockRealize] = []
    stack = child_stmts(stmt)[::-1]
    while stack:
        node = stack.pop()
        if type(node) is BlockRealize:
            found.append(node)
        else:
            stack += reversed(child_stmts(node))
    return tuple(found)


def _touched_below(stmt: Stmt, apart: Container[Node] = ()) -> set[Buffer]:
    """The buffers that the statement accesses outside of blocks, without the nodes `apart`."""
    found: set[Buffer] = set()
    stack: list[Node] = [stmt]
    while stack:
        node = cast("Stmt", stack.pop())
        if type(node) is not Block:
            found |= _touched_here(node, apart)
            stack += child_stmts(node)
    return found


def _touched_here(stmt: Stmt, apart: Container[Node] = ()) -> set[Buffer]:
    """The buffers that the statement itself accesses, without nested statements and the nodes `apart`."""
    found: set[Buffer] = {stmt.buffer} if isinstance(stmt, BufferStore) else set()
    stack: list[Node] = _own_parts(stmt)
    while stack:
        node = stack.pop()
        if node.__class__ in _LEAVES or node in apart:
            continue
        if type(node) is BufferLoad or type(node) is BufferData:
            found.add(node.buffer)
        stack += children(node)
    return found


_LEAVES = frozenset((Var, IntImm, Buffer))


def _addressed_here(stmt: Stmt) -> set[Buffer]:
    """The buffers whose address the statement itself uses."""
    return {b for part in _own_parts(stmt) for b in addressed_buffers(part)}


def _own_parts(stmt: Stmt) -> list[Node]:
    """The children of the statement that are neither statements nor buffers."""
    below = set(child_stmts(stmt))
    return [part for part in children(stmt) if type(part) is not Buffer and part not in below]


def init_starts_afresh(block: Block) -> bool:
    """Whether the block's init sets every value that the body accumulates into, independent of earlier contents."""
    return not _init_reads_output(block) and _init_is_whole(block)


def _init_reads_output(block: Block) -> bool:
    """Whether the block's init reads a buffer that the block writes."""
    if block.init is None:
        return False
    written = {w.buffer for w in block.writes}
    return any(isinstance(n, BufferLoad) and n.buffer in written for n in walk(block.init))


def init_reads_own_elements(block: Block) -> bool:
    """Whether the init reads of the buffers that the block writes only single elements that are this instance's output."""
    written = {w.buffer: w for w in block.writes}
    loads = [n for n in walk(block.init) if isinstance(n, BufferLoad) and n.buffer in written] if block.init else []
    return all(
        build.is_const(r.extent, 1) and structural_equal(i, r.min)
        for n in loads
        for i, r in zip(n.indices, written[n.buffer].region, strict=True)
    )


def _init_is_whole(block: Block) -> bool:
    """Whether the init stores each element of the block's output that the body loads."""
    if block.init is None:
        return False
    written = {w.buffer for w in block.writes}
    stored = [n for n in walk(block.init) if isinstance(n, BufferStore)]
    loaded = [n for n in walk(block.body) if isinstance(n, BufferLoad) and n.buffer in written]
    if any(isinstance(n, For | Block) for part in (block.init, block.body) for n in walk(part)):
        return {n.buffer for n in loaded} <= {n.buffer for n in stored}
    return all(
        any(
            s.buffer is n.buffer and all(structural_equal(a, b) for a, b in zip(s.indices, n.indices, strict=True))
            for s in stored
        )
        for n in loaded
    )


def unique_block_names(func: PrimFunc) -> PrimFunc:
    """`func` with unique block names: the second "X_local" becomes "X_local_1". A block without a name is called "block"."""
    used: set[str] = set()

    def visit(node: Node) -> Node:
        if isinstance(node, Block):
            name = fresh_name(node.name or "block", used)
            used.add(name)
            if name != node.name:
                node = replace_fields(node, name=name)
        return map_stmts(node, visit)

    return cast("PrimFunc", map_stmts(func, visit))


def fresh_name(base: str, used: Container[str]) -> str:
    """`base`, or the first unused name of `base_1`, `base_2`…"""
    name, n = base, 0
    while name in used:
        n += 1
        name = f"{base}_{n}"
    return name
