"""PlanAndUpdateBufferAllocationLocation: allocates each intermediate buffer at its innermost possible place.

Source: TVM src/s_tir/transform/plan_update_buffer_allocation_location.cc, src/tirx/analysis/buffer_access_lca_detector.cc.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from msgspec.structs import replace as replace_fields

from ...analysis import ProgramIndex, is_covered, reads_own_results, unique_block_names
from ...cancellation import checkpoint
from ...ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferData,
    BufferLoad,
    BufferRegion,
    BufferStore,
    For,
    IntImm,
    IterVar,
    Node,
    PrimFunc,
    Var,
    allocated_buffers,
    children,
    map_stmts,
    uses_var,
    walk,
)
from ...script.tilelang.sync.slots import slot_axes
from ..positions import Alignment, alignments_of, annotations_for
from ..scopes import is_global
from .owning import owning_block

N = TypeVar("N", bound=Node)

Site = For | Block
Path = tuple[Site, ...]
"""The loops and blocks around a place, outermost first."""


def plan_buffer_allocation(func: PrimFunc) -> PrimFunc:
    """Move each buffer to the innermost loop or block around all its accesses, and remove unused buffers.

    Under a loop, an opaque block "" around the loop's body owns the buffer. A reduction's output stays outside of its reduction loops, and
    a global buffer outside of a grid of threads. A buffer stays at its place if an iteration reads values from an earlier one.
    """
    func = unique_block_names(func)
    sites = find_sites(func)
    owned: dict[Site, list[Buffer]] = {}
    for buffer, site in sites.items():
        owned.setdefault(site, []).append(buffer)

    body = _Placer(owned, func.buffers).visit(func.body)
    return func if body is func.body else replace_fields(func, body=body)


def find_sites(func: PrimFunc) -> dict[Buffer, Site]:
    """The allocation site of each accessed intermediate buffer, in the order of the allocations. Block names must be unique."""
    accesses = _AccessPaths()
    accesses.visit(func.body, ())
    index = ProgramIndex(func)
    sites: dict[Buffer, Site] = {}
    divided = slot_axes(func)
    for buffer in allocated_buffers(func.body):
        path = accesses.paths.get(buffer)
        owner = accesses.owners.get(buffer)
        if path is None or owner is None:
            continue  # unused, or allocated by a statement inside of a block
        if buffer.name in divided:
            # Its slots outlive an iteration.
            path = _down_to_grid(path)
        if is_global(buffer.scope):
            # Device code cannot allocate global memory: it stays outside of every kernel's grid.
            path = _up_to_grid(path)
        # Each run of the owner has a new buffer, so the buffer never moves further out.
        site = path[-1] if len(path) > len(owner) else owner[-1]
        sites[buffer] = site if site is owner[-1] or _is_filled_anew(index, site, buffer) else owner[-1]
    return sites


class _AccessPaths:
    """For each buffer, the common prefix of the paths to its accesses, and the path to the block that owns it."""

    def __init__(self) -> None:
        self.paths: dict[Buffer, Path] = {}
        self.owners: dict[Buffer, Path] = {}
        # The number of sites around the outermost loop on which a loop or iterator variable depends.
        self.depth: dict[Var, int] = {}

    def visit(self, node: Node, path: Path) -> None:
        if isinstance(node, Var | IntImm):
            return
        inner = path
        match node:
            case For():
                self.depth[node.loop_var] = len(path)
                inner = (*path, node)
            case BlockRealize():
                self._enter(node, path)
            case Block():
                inner = (*path, node)
                self.owners.update((b, inner) for b in node.alloc_buffers)
                for match in node.match_buffers:
                    self._access(match.source.buffer, inner)
                for body in (node.init, node.body):
                    if body is not None:
                        self.visit(body, inner)
                return
            case BufferData() | BufferLoad() | BufferStore():
                self._access(node.buffer, path)
            case Buffer():
                return
            case _:
                pass
        for child in children(node):
            self.visit(child, inner)

    def _access(self, buffer: Buffer, path: Path) -> None:
        known = self.paths.get(buffer)
        self.paths[buffer] = path if known is None else _common(known, path)

    def _enter(self, realize: BlockRealize, path: Path) -> None:
        """Register a reduction's writes, and the buffers that an opaque iterator indexes, as accessed in all iterations of the iterator's
        loops."""
        checkpoint()
        block = realize.block
        for iter_var, value in zip(block.iter_vars, realize.iter_values, strict=True):
            depth = min((self.depth.get(n, len(path)) for n in walk(value) if isinstance(n, Var)), default=len(path))
            self.depth[iter_var.var] = depth
            if iter_var.iter_type != "spatial":
                for buffer in _carried(block, iter_var):
                    self._access(buffer, path[:depth])


def _carried(block: Block, iter_var: IterVar) -> list[Buffer]:
    """Buffers of `block` whose values outlive one step of the non-spatial `iter_var`."""
    if iter_var.iter_type == "reduce":
        return [w.buffer for w in block.writes]
    regions = (*block.reads, *block.writes)
    return [r.buffer for r in regions if any(uses_var(axis, iter_var.var) for axis in r.region)]


def _down_to_grid(path: Path) -> Path:
    """The path down to the last loop of a grid of threads, including that loop; of no loop if there is no grid."""
    last = max(
        (
            n
            for n, site in enumerate(path, 1)
            if isinstance(site, For) and (site.thread_tag or "").startswith("blockIdx")
        ),
        default=0,
    )
    return path[:last]


def _up_to_grid(path: Path) -> Path:
    """The path down to the first loop of a grid of threads, including that loop."""
    for depth, site in enumerate(path, 1):
        if isinstance(site, For) and site.thread_tag is not None and site.thread_tag.startswith("blockIdx"):
            return path[:depth]
    return path


def _common(a: Path, b: Path) -> Path:
    same = 0
    for x, y in zip(a, b, strict=False):
        if x is not y:
            break
        same += 1
    return a[:same]


def _is_filled_anew(index: ProgramIndex, site: Site, buffer: Buffer) -> bool:
    """Whether each run of `site` reads only elements of `buffer` that the same run wrote before.

    TVM assumes this; here a buffer that carries values between iterations stays outside of their loop.
    """
    scope = site if isinstance(site, Block) else index.scope_of(site)
    below = index.child_blocks(scope)
    if not below:
        # Plain statements in the body of one block use the buffer.
        return all(r.buffer is not buffer for r in scope.reads)
    writers: list[BlockRealize] = []
    for realize in below:
        block = realize.block
        writes = any(w.buffer is buffer for w in block.writes)
        reads = any(r.buffer is buffer for r in block.reads)
        starts_itself = writes and block.init is not None
        if reads and not starts_itself and not any(is_covered(index, w, realize, buffer) for w in writers):
            if not writes or not _is_scan(index, site, realize, buffer):
                return False
            writers.append(realize)
        elif writes and not (reads and block.init is None):
            writers.append(realize)
    return True


def _is_scan(index: ProgramIndex, site: Site, realize: BlockRealize, buffer: Buffer) -> bool:
    """Whether a block reads only those elements of its output that it wrote before in the same run of `site`."""
    loops = index.loops_above(realize)
    inside = [loop for loop in loops if loop is not site and index.is_inside(loop, site)]
    return bool(reads_own_results(realize, buffer, inside, [loop for loop in loops if loop not in inside]))


class _Placer:
    """A rewriter that places the allocations at their sites and removes regions of buffers that are now allocated further in."""

    def __init__(self, owned: Mapping[Site, Sequence[Buffer]], params: Sequence[Buffer]) -> None:
        self.owned = owned
        self.known = set(params)
        self.asked: dict[Buffer, Alignment] = {}  # alignments requested by outer blocks for buffers that are now inside

    def visit(self, node: N) -> N:
        match node:
            case For() if node in self.owned:
                buffers = tuple(self.owned[node])
                self.known.update(buffers)
                body = owning_block(self.visit(node.body), buffers)
                self.known.difference_update(buffers)
                return replace_fields(node, body=body)
            case Block():
                return cast("N", self._block(node))
            case _:
                return cast("N", map_stmts(node, self.visit))

    def _block(self, block: Block) -> Block:
        buffers = tuple(self.owned.get(block, ()))
        inside = {*buffers, *(m.buffer for m in block.match_buffers)}
        reads, writes = self._known(block.reads), self._known(block.writes)
        taken = {w.buffer: self.asked.pop(w.buffer) for w in writes if w.buffer in self.asked}
        gone = {w.buffer for w in block.writes} - {w.buffer for w in writes}
        annotations = block.annotations
        if taken or gone:
            self.asked.update((b, axes) for b, axes in alignments_of(block).items() if b in gone)
            annotations = annotations_for(block, writes, taken)
        self.known |= inside
        parts = {"body": self.visit(block.body), "init": None if block.init is None else self.visit(block.init)}
        self.known -= inside
        return _changed(block, alloc_buffers=buffers, reads=reads, writes=writes, annotations=annotations, **parts)

    def _known(self, regions: tuple[BufferRegion, ...]) -> tuple[BufferRegion, ...]:
        return tuple(r for r in regions if r.buffer in self.known)


def _changed(block: Block, **fields: object) -> Block:
    """`block` with these fields; the same object if nothing changes."""
    new = {k: v for k, v in fields.items() if not _same(v, getattr(block, k))}
    return replace_fields(block, **new) if new else block


def _same(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        left, right = cast("tuple[object, ...]", a), cast("tuple[object, ...]", b)
        return len(left) == len(right) and all(x is y for x, y in zip(left, right, strict=True))
    return a is b
