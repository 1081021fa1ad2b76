"""Two loop nests beside each other: which rows are the same, which moved, which are only in one, and what changed of a row.

Blocks are matched by their names, or by the buffer that they write; loops by their variables where the programs have a common past, else by
their names and the blocks below them. Of the matched rows as many as possible stay in line; the others moved.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ....engine.analysis import ProgramIndex
from ....engine.ir import PrimFunc, Var
from ..labels.sizes import shape_text
from ..tree.rows import BufferChip, Row, row_ids, tree_rows

Status = Literal["same", "changed", "moved", "only_a", "only_b"]


class TreeItem(msgspec.Struct, frozen=True, eq=False):
    """A row of a tree: its place in the text, those of the rows around it (outermost first), the names of the blocks in it. `shapes` are
    those of the buffers that a block names."""

    row: Row
    handle: Var | str
    place: int
    around: tuple[int, ...]
    blocks: frozenset[str]
    shapes: Mapping[str, str] = {}


class Pair(msgspec.Struct, frozen=True, eq=False):
    """A line of the comparison. A row that moved out of line has two lines, one on each side. `words` describe the differences."""

    a: TreeItem | None
    b: TreeItem | None
    status: Status
    words: tuple[str, ...] = ()


def items_of(func: PrimFunc) -> tuple[TreeItem, ...]:
    """The rows of a program's tree with what matching needs."""
    rows, handles, index = tree_rows(func), row_ids(func), ProgramIndex(func)
    places = {row.id: n for n, row in enumerate(rows)}
    around: list[tuple[int, ...]] = []
    below: list[set[str]] = [set() for _ in rows]
    for n, row in enumerate(rows):
        parent = places.get(row.parent)
        around.append(() if parent is None else (*around[parent], parent))
        if row.kind == "block":
            for place in (*around[n], n):
                below[place].add(row.name)
    return tuple(
        TreeItem(row, handles[row.id], n, around[n], frozenset(below[n]), _shapes(index, handles[row.id]))
        for n, row in enumerate(rows)
    )


def _shapes(index: ProgramIndex, handle: Var | str) -> dict[str, str]:
    if isinstance(handle, Var):
        return {}
    block = index.block(handle)
    return {r.buffer.name: shape_text(r.buffer.shape, r.buffer.axis_separators) for r in (*block.reads, *block.writes)}


def aligned(left: Sequence[TreeItem], right: Sequence[TreeItem]) -> tuple[Pair, ...]:
    """The lines of the comparison, in the order of both texts."""
    partner = matched(left, right)
    in_line = _in_line(left, right, partner)
    back = {b: a for a, b in partner.items()}
    moved = _moved_in_line(left, right, partner, in_line)
    lines: list[Pair] = []
    at_a = at_b = 0
    for a, b in [*in_line, (len(left), len(right))]:
        lines += (_alone_a(item, right, partner) for item in left[at_a:a])
        lines += (_alone_b(item, left, back) for item in right[at_b:b])
        if a < len(left):
            lines.append(_matched_pair(left, right, a, b, is_moved=a in moved))
        at_a, at_b = a + 1, b + 1
    return tuple(lines)


def matched(left: Sequence[TreeItem], right: Sequence[TreeItem]) -> dict[int, int]:
    """Place on the left -> place on the right of the same block or loop."""
    partner: dict[int, int] = {}
    _match_by(partner, left, right, lambda item: item.handle)
    _match_by(partner, left, right, _written)
    names = {left[a].row.name: right[b].row.name for a, b in partner.items() if left[a].row.kind == "block"}
    taken = set(partner.values())
    loops_a = [i for i in left if i.row.kind == "loop" and i.place not in partner]
    loops_b = [i for i in right if i.row.kind == "loop" and i.place not in taken]
    found: list[tuple[int, int, int, int]] = []
    for a in loops_a:
        below = {names.get(name, name) for name in a.blocks}
        for b in loops_b:
            common = len(below & b.blocks)
            if a.row.name == b.row.name and (common or not (below or b.blocks)):
                found.append((-common, abs(a.place - b.place), a.place, b.place))
    for _, _, a, b in sorted(found):
        if a not in partner and b not in taken:
            partner[a] = b
            taken.add(b)
    return partner


def _match_by(partner: dict[int, int], left: Sequence[TreeItem], right: Sequence[TreeItem], key: Any) -> None:
    """Match items whose key is unique on each side; items without a key stay unmatched."""
    taken = set(partner.values())
    keys_a = {i.place: k for i in left if i.place not in partner and (k := key(i)) is not None}
    keys_b = {i.place: k for i in right if i.place not in taken and (k := key(i)) is not None}
    once_a, once_b = (Counter(keys.values()) for keys in (keys_a, keys_b))
    places = {k: place for place, k in keys_b.items() if once_b[k] == 1}
    partner |= {a: places[k] for a, k in keys_a.items() if once_a[k] == 1 and k in places}


def _written(item: TreeItem) -> tuple[str, ...] | None:
    """The names of the buffers that a block writes; None for loops."""
    return tuple(b.name for b in item.row.writes) if item.row.kind == "block" else None


def _in_line(left: Sequence[TreeItem], right: Sequence[TreeItem], partner: Mapping[int, int]) -> list[tuple[int, int]]:
    """The pairs that stay in order: those with the most below them, in sum (a heaviest increasing subsequence)."""
    best: list[tuple[int, int]] = []  # (position on the right, sum of weights up to it), both increasing
    chains: dict[int, tuple[int, int] | None] = {}
    heads: dict[int, int] = {}
    for a in sorted(partner):
        b = partner[a]
        at = bisect_left(best, (b, 0))
        before = best[at - 1] if at else None
        weight = 1 + 2 * min(len(left[a].blocks), len(right[b].blocks)) + (before[1] if before else 0)
        chains[a] = None if before is None else (heads[before[0]], before[0])
        heads[b] = a
        end = at
        while end < len(best) and best[end][1] <= weight:
            end += 1
        best[at:end] = [(b, weight)]
    if not best:
        return []
    b = best[-1][0]
    found: list[tuple[int, int]] = []
    link: tuple[int, int] | None = (heads[b], b)
    while link is not None:
        found.append(link)
        link = chains[link[0]]
    return found[::-1]


def _moved_in_line(
    left: Sequence[TreeItem], right: Sequence[TreeItem], partner: Mapping[int, int], in_line: Sequence[tuple[int, int]]
) -> set[int]:
    """Rows that kept their order but are under other loops. Rows inside of such a row moved with it and are not counted."""
    kept = {a for a, _ in in_line}
    others: dict[int, frozenset[int]] = {}
    moved: set[int] = set()
    for a, b in in_line:
        before = frozenset(n for n in left[a].around if n in kept)
        after = frozenset(n for n in kept if partner[n] in right[b].around)
        others[a] = before ^ after
        if others[a] and not any(others[a] <= others[n] for n in before & after):
            moved.add(a)
    return moved


def _matched_pair(left: Sequence[TreeItem], right: Sequence[TreeItem], a: int, b: int, *, is_moved: bool) -> Pair:
    words = tuple(changes(left[a], right[b]))
    if is_moved:
        return Pair(left[a], right[b], "moved", (f"moved {_under(right, b)}, was {_under(left, a)}", *words))
    return Pair(left[a], right[b], "changed" if words else "same", words)


def _alone_a(item: TreeItem, right: Sequence[TreeItem], partner: Mapping[int, int]) -> Pair:
    if item.place not in partner:
        return Pair(item, None, "only_a")
    there = right[partner[item.place]]
    with_it = bool(item.around and there.around) and partner.get(item.around[-1]) == there.around[-1]
    return Pair(item, None, "moved", () if with_it else (f"moved {_under(right, there.place)}",))


def _alone_b(item: TreeItem, left: Sequence[TreeItem], back: Mapping[int, int]) -> Pair:
    if item.place not in back:
        return Pair(None, item, "only_b")
    before = left[back[item.place]]
    with_it = bool(item.around and before.around) and back.get(item.around[-1]) == before.around[-1]
    return Pair(
        None, item, "moved", (*(() if with_it else (f"was {_under(left, before.place)}",)), *changes(before, item))
    )


def _under(items: Sequence[TreeItem], place: int) -> str:
    around = items[place].around
    return f"under {items[around[-1]].row.name}" if around else "at the root"


def changes(left: TreeItem, right: TreeItem) -> Iterator[str]:
    """Descriptions of the differences between two matched rows."""
    a, b = left.row, right.row
    if a.name != b.name:
        yield f"name {a.name} → {b.name}"
    if a.kind == "loop":
        if a.extent != b.extent:
            yield f"extent {a.extent} → {b.extent}"
    else:
        yield from _buffer_changes("reads", a.reads, b.reads)
        yield from _buffer_changes("writes", a.writes, b.writes)
        kinds_a, kinds_b = (" ".join(f"{i.name}:{i.type}" for i in row.iters) for row in (a, b))
        if kinds_a != kinds_b:
            yield f"iterators {kinds_a} → {kinds_b}"
        common = [name for name in left.shapes if right.shapes.get(name, left.shapes[name]) != left.shapes[name]]
        yield from (f"{name} {left.shapes[name]} → {right.shapes[name]}" for name in common)
    if a.detail != b.detail:
        yield f"{a.detail or 'serial'} → {b.detail or 'serial'}"
    badges_a, badges_b = ([badge.text for badge in row.badges] for row in (a, b))
    yield from (f"no longer {text}" for text in badges_a if text not in badges_b)
    yield from (f"now {text}" for text in badges_b if text not in badges_a)


def _buffer_changes(what: str, a: Sequence[BufferChip], b: Sequence[BufferChip]) -> Iterator[str]:
    before, after = ({buffer.name: buffer for buffer in rows} for rows in (a, b))
    gone, new = [n for n in before if n not in after], [n for n in after if n not in before]
    if len(gone) == len(new) == 1:
        yield f"{what} {gone[0]} → {new[0]}"
    else:
        yield from (f"no longer {what} {name}" for name in gone)
        yield from (f"{what} {name}" for name in new)
    for name in before:
        if name in after and before[name].scope != after[name].scope:
            yield f"{name} in {before[name].scope} → {after[name].scope}"
        elif name in after and before[name].bytes != after[name].bytes:
            yield f"{name} {before[name].bytes} → {after[name].bytes}"
