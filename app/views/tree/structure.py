"""The structural changes of a step: blocks and loops added, moved, reordered and removed, buffers with another scope or shape. Found by
comparing the two programs: a loop is identified by its variable and a block by its name, and both survive a rewrite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from ....engine.ir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    For,
    Node,
    PrimFunc,
    Stmt,
    Var,
    build,
    children,
    walk,
)
from ....engine.lower import DOUBLE_BUFFER_KEY
from ...state.derived import Store
from ...state.model import State
from ...state.row_ids import row_ids
from ..labels.sizes import annotation_text, plain_text, shape_text
from .rows import Badge, Row

Sign = Literal["+", "−", "→", "~"]


TONES: dict[Sign, Literal["good", "bad", "accent", "warn"]] = {"+": "good", "−": "bad", "→": "accent", "~": "warn"}
WORDS: dict[Sign, str] = {"+": "new", "−": "removed", "→": "moved", "~": "changed"}


class StructureChange(msgspec.Struct, frozen=True):
    """A change. `text` describes it in one line; `rows` are the affected rows in the later program's tree."""

    sign: Sign
    text: str
    rows: tuple[str, ...] = ()


def structure_changes(before: PrimFunc, after: PrimFunc) -> tuple[StructureChange, ...]:
    """The changes from `before` to `after`: blocks first, then loops, then buffers."""
    if before is after:
        return ()
    old, new = _Shape(before), _Shape(after)
    found = [*_blocks(old, new), *_loops(old, new), *_buffers(old, new)]
    return tuple(found)


def chosen_changes(state: State, store: Store) -> tuple[StructureChange, ...]:
    """The changes of the step that the user selected; empty without a selection."""
    count = state.chosen_step
    if not count or state.shown is None or count >= len(state.shown.states):
        return ()
    before, after = (state.shown.states[n].schedule.func for n in (count - 1, count))
    return store.once(structure_changes, before, after)


def marked_rows(rows: list[Row], state: State, store: Store) -> list[Row]:
    """The tree's rows; those that the selected step added, moved or changed have a badge."""
    changes = chosen_changes(state, store)
    return store.once(with_change_badges, rows, changes) if changes else rows


def with_change_badges(rows: list[Row], changes: tuple[StructureChange, ...]) -> list[Row]:
    """The rows, each with the badge of the first change that affects it."""
    badges: dict[str, Badge] = {}
    for change in changes:
        for row in change.rows:
            text = f"{change.sign} {WORDS[change.sign]}"
            badges.setdefault(row, Badge(text, TONES[change.sign], f"This step: {change.text}"))
    return [replace(row, badges=(badges[row.id], *row.badges)) if row.id in badges else row for row in rows]


class _Shape:
    """The loops and blocks of a program with the loops around each."""

    def __init__(self, func: PrimFunc) -> None:
        self.func = func
        self.ids = row_ids(func)
        self.loops: dict[Var, For] = {}
        self.above: dict[Var | str, tuple[Var, ...]] = {}
        self.blocks: dict[str, BlockRealize] = {}
        self._walk(func.body, ())
        self.buffers = {buffer.name: buffer for buffer in _allocated(func)}

    def _walk(self, node: Node, above: tuple[Var, ...]) -> None:
        if isinstance(node, For):
            self.loops[node.loop_var] = node
            self.above[node.loop_var] = above
            above = (*above, node.loop_var)
        elif isinstance(node, BlockRealize) and self.ids.has(node.block.name):
            self.blocks[node.block.name] = node
            self.above[node.block.name] = above
        for child in children(node):
            if isinstance(child, Stmt):
                self._walk(child, above)

    def row(self, handle: Var | str) -> str:
        return self.ids.of(handle)


def _allocated(func: PrimFunc) -> Iterator[Buffer]:
    for node in walk(func.body):
        if isinstance(node, Block):
            yield from node.alloc_buffers


def _blocks(old: _Shape, new: _Shape) -> Iterator[StructureChange]:
    for name in new.blocks:
        if name not in old.blocks:
            yield StructureChange("+", f"block {name}", (new.row(name),))
    for name in old.blocks:
        if name not in new.blocks:
            yield StructureChange("−", f"block {name}")
    for name, realize in new.blocks.items():
        if name not in old.blocks:
            continue
        kept_before = [loop for loop in old.above[name] if loop in new.loops]
        kept_now = [loop for loop in new.above[name] if loop in old.loops]
        if set(kept_before) != set(kept_now):
            yield StructureChange("→", f"block {name} {_whereto(kept_before, kept_now, new, name)}", (new.row(name),))
        what = "; ".join(_differences(old.blocks[name], realize))
        if what:
            yield StructureChange("~", f"block {name}: {what}", (new.row(name),))


def _whereto(before: list[Var], now: list[Var], new: _Shape, name: str) -> str:
    into = [loop for loop in now if loop not in before]
    if into:
        return f"into loop {into[-1].name}"
    return f"out of loop {next(loop for loop in before if loop not in now).name}"


def _differences(old: BlockRealize, new: BlockRealize) -> Iterator[str]:
    """The changes of a block other than its position."""
    a, b = old.block, new.block
    if (a.init is None) != (b.init is None):
        yield "an init added" if b.init is not None else "its init removed"
    if build.is_true(old.predicate) != build.is_true(new.predicate):
        yield f"only where {plain_text(new.predicate)}" if build.is_true(old.predicate) else "without its condition"
    names = [iv.var.name for iv in a.iter_vars], [iv.var.name for iv in b.iter_vars]
    if names[0] != names[1]:
        yield f"iterates {', '.join(names[1]) or 'nothing'}, not {', '.join(names[0]) or 'nothing'}"
    for verb, before, now in (("reads", a.reads, b.reads), ("writes", a.writes, b.writes)):
        was, are = {r.buffer.name for r in before}, {r.buffer.name for r in now}
        if are - was:
            instead = f" instead of {', '.join(sorted(was - are))}" if was - are else ""
            yield f"{verb} {', '.join(sorted(are - was))}{instead}"
    yield from _accesses(a, b)
    yield from _annotations(dict(a.annotations), dict(b.annotations))


def _accesses(old: Block, new: Block) -> Iterator[str]:
    """Buffers accessed at other indices, if the block's iterators are unchanged."""
    if [iv.var.name for iv in old.iter_vars] != [iv.var.name for iv in new.iter_vars]:
        return
    before = {region.buffer.name: _indices(region) for region in (*old.reads, *old.writes)}
    for name, now in {region.buffer.name: _indices(region) for region in (*new.reads, *new.writes)}.items():
        if before.get(name, now) != now:
            yield f"{name}[{now}], was [{before[name]}]"


def _indices(region: BufferRegion) -> str:
    return ", ".join(plain_text(axis.min) for axis in region.region)


def _annotations(old: dict[str, object], new: dict[str, object]) -> Iterator[str]:
    for key, value in new.items():
        if key not in old or annotation_text(old[key]) != annotation_text(value):  # pyright: ignore[reportArgumentType]
            yield "double buffered" if key == DOUBLE_BUFFER_KEY else f"{key} = {annotation_text(value)}"  # pyright: ignore[reportArgumentType]
    for key in old:
        if key not in new:
            yield "no longer double buffered" if key == DOUBLE_BUFFER_KEY else f"without {key}"


def _loops(old: _Shape, new: _Shape) -> Iterator[StructureChange]:
    made = [loop for loop in new.loops if loop not in old.loops]
    gone = [loop for loop in old.loops if loop not in new.loops]
    if made:
        names = ", ".join(f"{loop.name} {plain_text(new.loops[loop].extent)}" for loop in made)
        yield StructureChange("+", f"loop{'s' * (len(made) > 1)} {names}", tuple(map(new.row, made)))
    if gone:
        yield StructureChange("−", f"loop{'s' * (len(gone) > 1)} {', '.join(loop.name for loop in gone)}")
    moved = [loop for loop in new.loops if loop in old.loops and _order(old, loop, new) != _order(new, loop, old)]
    if moved:
        names = ", ".join(loop.name for loop in moved)
        yield StructureChange("→", f"loops reordered: {names}", tuple(map(new.row, moved)))
    for loop, node in new.loops.items():
        if loop in old.loops:
            what = "; ".join(_loop_differences(old.loops[loop], node))
            if what:
                yield StructureChange("~", f"loop {loop.name}: {what}", (new.row(loop),))


def _order(shape: _Shape, loop: Var, other: _Shape) -> list[Var]:
    """The loops around `loop` that both programs have."""
    return [above for above in shape.above[loop] if above in other.loops]


def _loop_differences(old: For, new: For) -> Iterator[str]:
    extents = plain_text(old.extent), plain_text(new.extent)
    if extents[0] != extents[1]:
        yield f"extent {extents[1]}, was {extents[0]}"
    kinds = old.thread_tag or old.kind, new.thread_tag or new.kind
    if kinds[0] != kinds[1]:
        yield f"{kinds[1]}, was {kinds[0]}"
    yield from _annotations(dict(old.annotations), dict(new.annotations))


def _buffers(old: _Shape, new: _Shape) -> Iterator[StructureChange]:
    for name, buffer in new.buffers.items():
        if name not in old.buffers:
            yield StructureChange("+", f"buffer {name} in {buffer.scope}")
            continue
        before = old.buffers[name]
        what: list[str] = []
        if before.scope != buffer.scope:
            what.append(f"in {buffer.scope}, was in {before.scope}")
        if shape_text(before.shape, before.axis_separators) != shape_text(buffer.shape, buffer.axis_separators):
            what.append(
                f"shape {shape_text(buffer.shape, buffer.axis_separators)}, was {shape_text(before.shape, before.axis_separators)}"
            )
        if before.dtype != buffer.dtype:
            what.append(f"{buffer.dtype}, was {before.dtype}")
        if what:
            yield StructureChange("~", f"buffer {name}: {'; '.join(what)}")
    for name in old.buffers:
        if name not in new.buffers:
            yield StructureChange("−", f"buffer {name}")


__all__ = ["StructureChange", "chosen_changes", "marked_rows", "structure_changes", "with_change_badges"]
