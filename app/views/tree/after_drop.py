"""The tree after a drop, as differences to the displayed rows: the rows that appear between them, and the rows that leave their place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ....engine.analysis import ProgramIndex
from ....engine.ir import BlockRealize, Buffer, BufferRegion, Expr, For, Node, PrimFunc, Var, children
from ...state.row_ids import Handle, row_ids
from ..labels.palette import colours_by_name
from ..labels.sizes import plain_text
from ..labels.values import Answer, Value


class AppearingRow(Value, frozen=True):
    """A row that a drop adds or moves; `colour` is that of the written buffer."""

    kind: Literal["loop", "block"]
    name: str
    extent: str
    depth: int
    colour: int | None
    new: bool


class AppearingRows(Value, frozen=True):
    """Consecutive rows that appear below the displayed row `above`, "" at the top."""

    above: str
    rows: list[AppearingRow]


class TreeAfter(Answer, frozen=True, tag="tree_after"):
    """The tree after a drop of `rows` on `loop`: the rows that appear, and the displayed rows that end or move."""

    rows: Sequence[str]
    loop: str
    primitive: str
    groups: list[AppearingRows]
    leaving: list[str]


class _Row(NamedTuple):
    """A loop or block below the root, the number of rows around it, and the loops around it."""

    handle: Handle
    node: For | BlockRealize
    depth: int
    above: tuple[Var, ...]


def tree_after(before: PrimFunc, after: PrimFunc, dragged: Sequence[str], loop: str, primitive: str) -> TreeAfter:
    """The tree after a drop of the rows `dragged`."""
    ids = row_ids(before)
    moved = {ids[row] for row in dragged if row in ids}
    old, new = {row.handle: row for row in _rows(before)}, list(_rows(after))
    known = _counterparts(before, after, moved)
    kept = set(known.values())
    names = colours_by_name(after)
    groups: list[AppearingRows] = []
    staying: set[Handle] = set()
    above, is_open = "", False
    for row in new:
        handle = known.get(row.handle)
        if handle is not None and handle not in moved and _stays(old[handle], row, known, kept):
            staying.add(handle)
            above, is_open = ids.of(handle), False
            continue
        if not is_open:
            groups.append(AppearingRows(above, []))
        is_open = True
        groups[-1].rows.append(_appearing(row, names, new=handle is None))
    leaving = [row for row, handle in ids.items() if handle not in staying]
    return TreeAfter(dragged, loop, primitive, groups, leaving)


def _rows(func: PrimFunc) -> Iterator[_Row]:
    """The rows of the tree in text order."""

    def below(node: Node, depth: int, above: tuple[Var, ...]) -> Iterator[_Row]:
        for child in children(node):
            if isinstance(child, For):
                yield _Row(child.loop_var, child, depth, above)
                yield from below(child, depth + 1, (*above, child.loop_var))
            elif isinstance(child, BlockRealize):
                yield _Row(child.block.name, child, depth, above)
                yield from below(child, depth + 1, above)
            elif not isinstance(child, Expr | Buffer | BufferRegion):
                yield from below(child, depth, above)

    return below(func.body, 0, ())


def _counterparts(before: PrimFunc, after: PrimFunc, moved: set[Handle]) -> dict[Handle, Handle]:
    """Row of the later program -> the same row of the earlier one. Calls that are applied again make their loops anew: these are matched by
    name, extent and the blocks below. The loops of moved blocks alone are new."""
    old, new = (dict.fromkeys(row.handle for row in _rows(func)) for func in (before, after))
    found = {handle: handle for handle in new if handle in old}
    left: dict[object, list[Handle]] = {}
    for handle, key in _loop_keys(before, moved):
        if handle not in new:
            left.setdefault(key, []).append(handle)
    for handle, key in _loop_keys(after, moved):
        if handle not in old and left.get(key):
            found[handle] = left[key].pop(0)
    return found


def _loop_keys(func: PrimFunc, moved: set[Handle]) -> Iterator[tuple[Var, object]]:
    index = ProgramIndex(func)
    for loop in index.loops:
        blocks = frozenset(realize.block.name for realize in index.child_blocks(loop)) - moved
        if blocks:
            yield loop.loop_var, (loop.loop_var.name, plain_text(loop.extent), blocks)


def _stays(old: _Row, new: _Row, known: dict[Handle, Handle], kept: set[Handle]) -> bool:
    """Whether a row keeps its place among the loops that both programs have; the order matters for a loop only."""
    before = [loop for loop in old.above if loop in kept]
    now = [known[loop] for loop in new.above if loop in known]
    return before == now if isinstance(old.node, For) else set(before) == set(now)


def _appearing(row: _Row, colours: dict[str, int], *, new: bool) -> AppearingRow:
    node = row.node
    if isinstance(node, For):
        return AppearingRow("loop", node.loop_var.name, plain_text(node.extent), row.depth, None, new)
    written = next((region.buffer.name for region in node.block.writes), "")
    return AppearingRow("block", node.block.name, "", row.depth, colours.get(written), new)
