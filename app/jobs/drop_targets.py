"""Drop targets of blocks and loops, with the reason or the effect, computed before the drop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import msgspec
from msgspec.structs import replace

from ...engine.analysis import ProgramIndex
from ...engine.ir import (
    BlockRealize,
    For,
    PrimFunc,
    Refusal,
    Stmt,
    TilewrightError,
    Var,
    build,
    child_stmts,
    dtype,
    uses_var,
    walk,
)
from ...engine.schedule import Schedule, Target
from ..actions.calls import moves_of
from ..document import Notebook
from ..document.editing.kernel_edits import statements_of
from ..document.editing.revisions.placement import MoveVerdict, StepPlacement
from ..document.editing.revisions.relocation import Relocation
from ..state.row_ids import RowIds, row_ids
from ..views.labels.numbers import grouped, size_text
from ..views.labels.sizes import buffer_bytes
from ..views.tree.iteration_counts import TIMES, iterations, iterations_of, ratio_text
from ..views.tree.targets import DropTarget


class MoveEffect(msgspec.Struct, frozen=True):
    """The effect of a legal move. `costly`: the block runs more iterations than now. `note` is a few characters, `text` one or two lines,
    `held` the line about memory."""

    costly: bool = False
    note: str = ""
    text: str = ""
    held: str = ""


def _targets_of_block(schedule: Schedule, ids: RowIds, block: str, placement: StepPlacement | None) -> list[DropTarget]:
    """The entries of one block; with the `placement` of a block that a step has placed, of revisions of that step."""
    runs = iterations(schedule.index, block)
    entries = [_entry(ids, block, verdict, runs) for verdict in _verdicts(schedule, block, placement)]
    present = "" if placement is None else f"sch.{placement.method}({block!r}, {placement.loop.name})"
    return [replace(entry, fix=tuple(call for call in entry.fix if call != present)) for entry in entries]


def _verdicts(schedule: Schedule, block: str, placement: StepPlacement | None) -> Sequence[MoveVerdict]:
    if placement is None:
        return [MoveVerdict(target.loop, schedule, target) for target in schedule.legal_targets(block)]
    return placement.targets()


def _entry(ids: RowIds, block: str, verdict: MoveVerdict, runs: int | None) -> DropTarget:
    target = verdict.target
    if target.refusal is not None:
        return _answer(ids, verdict.loop, target.primitive, _reason(target.refusal), target.refusal)
    effect = _effect(verdict.schedule.index, block, target, runs)
    entry = _answer(ids, verdict.loop, target.primitive, effect.text)
    return replace(entry, costly=effect.costly, note=effect.note, held=effect.held)


def targets_of(
    schedule: Schedule, rows: Sequence[str], relocate: Callable[[Sequence[str]], Relocation] | None = None
) -> list[DropTarget]:
    """Drop targets of the blocks or the loops of `rows` together: one entry for each loop; none for a mix of both kinds. `relocate`
    returns the move of blocks of a notebook: a drop revises the steps that placed them."""
    ids = row_ids(schedule.func)
    handles = [ids[row] for row in rows if row in ids]
    blocks = [handle for handle in handles if isinstance(handle, str)]
    loops = [handle for handle in handles if isinstance(handle, Var)]
    if blocks and len(blocks) == len(rows):
        relocation = None if relocate is None else relocate(blocks)
        placements = {} if relocation is None else {p.block: p for p in relocation.placed.values()}
        if len(blocks) == 1:
            return _targets_of_block(schedule, ids, blocks[0], placements.get(blocks[0]))
        if placements:
            assert relocation is not None
            return _targets_of_relocation(schedule, ids, relocation, placements)
        return _targets_of_several(schedule, ids, blocks)
    return loop_targets(schedule, loops) if len(loops) == len(rows) else []


def kernel_targets(notebook: Notebook, rows: Sequence[str]) -> list[DropTarget]:
    """Drop targets of a block of a TileLang kernel, whose statement moves in the kernel's text: an entry for each loop."""
    schedule = notebook.states[-1].schedule
    ids, statements = row_ids(schedule.func), statements_of(notebook)
    block = ids[rows[0]] if len(rows) == 1 and rows[0] in ids else None
    if not isinstance(block, str):
        return []
    entries: list[DropTarget] = []
    for number, loop in enumerate(node.loop_var for node in walk(schedule.func.body) if isinstance(node, For)):
        try:
            statements.moved_to(block, number)
        except TilewrightError as error:
            entries.append(_answer(ids, loop, "compute_at", _reason(error.refusal), error.refusal))
        else:
            entries.append(_answer(ids, loop, "compute_at", "its statement moves in the kernel's text"))
    return entries


def _targets_of_relocation(
    schedule: Schedule, ids: RowIds, relocation: Relocation, placements: Mapping[str, StepPlacement]
) -> list[DropTarget]:
    """One entry for each loop: legal if the steps of all blocks can get it. A loop that no block can reach alone is not tried."""
    entries: list[DropTarget] = []
    unreached = _unreached(schedule, relocation.blocks, placements)
    for loop in (f.loop_var for f in schedule.index.loops):
        why = unreached.get(loop)
        if why is None:
            try:
                calls = relocation.calls(loop)
            except TilewrightError as error:
                why = error.bare_refusal
            else:
                text = "\n".join(f"{method} {block}" for method, block in calls)
                entries.append(_answer(ids, loop, " + ".join(dict.fromkeys(m for m, _ in calls)), text))
                continue
        entries.append(_answer(ids, loop, "compute_at", _reason(why), why))
    return entries


def _unreached(
    schedule: Schedule, blocks: Sequence[str], placements: Mapping[str, StepPlacement]
) -> dict[Var, Refusal]:
    """The loops that none of the blocks can reach alone, with a reason."""
    refusals: dict[Var, Refusal] = {}
    reached: set[Var] = set()
    for block in blocks:
        for verdict in _verdicts(schedule, block, placements.get(block)):
            if verdict.target.refusal is None:
                reached.add(verdict.loop)
            else:
                refusals[verdict.loop] = verdict.target.refusal
    return {loop: refusal for loop, refusal in refusals.items() if loop not in reached}


def _targets_of_several(schedule: Schedule, ids: RowIds, blocks: Sequence[str]) -> list[DropTarget]:
    """One entry for each loop: legal if all blocks can be moved there, one after the other."""
    single = [[t for t in schedule.legal_targets(block) if t.legal] for block in blocks]
    possible = {target.loop for targets in single for target in targets}
    entries: list[DropTarget] = []
    for loop in schedule.index.loops:
        made = moves_of(schedule, blocks, loop.loop_var) if loop.loop_var in possible else None
        if isinstance(made, list):
            text = "\n".join(f"{method} {block}" for method, block in made)
            entries.append(_answer(ids, loop.loop_var, " + ".join(dict.fromkeys(m for m, _ in made)), text))
        else:
            why = (
                made.refusal
                if made is not None
                else Refusal("not-for-all", "not all selected blocks can be moved here")
            )
            entries.append(_answer(ids, loop.loop_var, "compute_at", _reason(why), why))
    return entries


def loop_targets(schedule: Schedule, moved: Sequence[Var]) -> list[DropTarget]:
    """Drop targets of loops: an entry for each loop; legal ones have `order`. Only perfectly nested loops can be reordered."""
    ids, chain = row_ids(schedule.func), loop_chain(schedule.index, moved[0])
    entries: list[DropTarget] = []
    for loop in (f.loop_var for f in schedule.index.loops):
        if loop in moved:
            continue
        if loop not in chain or not set(moved) <= set(chain):
            names = ", ".join(m.name for m in moved)
            text = f"{loop.name} and {names} are not perfectly nested; only perfectly nested loops can be reordered"
            entries.append(_answer(ids, loop, "reorder", text, Refusal("not-in-one-chain", text)))
            continue
        order = reordered(chain, moved, loop)
        try:
            schedule.copy().reorder(*order)
        except TilewrightError as error:
            entries.append(_answer(ids, loop, "reorder", _reason(error.refusal), error.refusal))
        else:
            text = f"new order: {', '.join(v.name for v in order)}"
            entries.append(replace(_answer(ids, loop, "reorder", text), order=tuple(map(ids.of, order))))
    return entries


def loop_chain(index: ProgramIndex, loop: Var) -> list[Var]:
    """The perfect loop nest that contains `loop`, outermost first: the candidates for a reorder with it."""
    top = index.loop(loop)
    while isinstance(outer := index.parent(top), For):
        top = outer
    chain = [top.loop_var]
    while isinstance(top.body, For):
        top = top.body
        chain.append(top.loop_var)
    return chain


def reordered(chain: Sequence[Var], moved: Sequence[Var], target: Var) -> list[Var]:
    """The arguments of reorder that move `moved` to the position of `target`: the changed part of `chain`."""
    going = [loop for loop in chain if loop in moved]
    rest = [loop for loop in chain if loop not in moved]
    inward = chain.index(going[0]) < chain.index(target)
    at = rest.index(target) + inward
    order = [*rest[:at], *going, *rest[at:]]
    changed = [n for n, (a, b) in enumerate(zip(chain, order, strict=True)) if a is not b]
    return order[changed[0] : changed[-1] + 1] if changed else order


def _answer(ids: RowIds, loop: Var, primitive: str, reason: str, refusal: Refusal | None = None) -> DropTarget:
    code, fix = ("", ()) if refusal is None else (refusal.code, tuple(refusal.fix))
    return DropTarget(
        refusal is None,
        costly=False,
        primitive=primitive,
        note="",
        reason=reason,
        code=code,
        fix=fix,
        loop=ids.of(loop),
    )


def _reason(refusal: Refusal) -> str:
    """The message of a refusal with what was found and expected, one per line."""
    lines = [refusal.message]
    if refusal.found:
        lines.append(f"found: {refusal.found}")
    if refusal.expected:
        lines.append(f"expected: {refusal.expected}")
    return "\n".join(lines)


def _effect(index: ProgramIndex, block: str, target: Target, now: int | None) -> MoveEffect:
    """The effect of a legal move in the program of `index`: the block's iteration count, `now` in the visible program, and the bytes that
    one iteration of the loop holds."""
    assert target.after is not None
    above = _place(index, target.after, block)
    then = iterations_of(above)
    notes, lines = [], []
    costly = now is not None and then is not None and then > now
    if now is not None and then is not None:
        if then > now:
            notes.append(f"{TIMES}{ratio_text(then, now)}")
        often = "as often as before" if then == now else f"{ratio_text(then, now)}{TIMES} as often as before"
        lines.append(f"runs {often}: {grouped(then)} iterations")
    held = _held(index, above, target)
    if held is not None:
        notes.append(held[0])
        lines.append(held[1])
    return MoveEffect(costly, " ".join(notes), "\n".join(lines), held[1] if held is not None else "")


def _place(before: ProgramIndex, after: PrimFunc, block: str) -> tuple[Stmt, ...]:
    """The path to `block` in `after`, root first. Skips statements of the earlier program: they do not contain the moved block."""
    stack: list[tuple[Stmt, ...]] = [(after.body,)]
    while stack:
        path = stack.pop()
        last = path[-1]
        if isinstance(last, BlockRealize) and last.block.name == block:
            return path
        stack += [
            (*path, child) for child in child_stmts(last) if isinstance(child, Stmt) and before.parent(child) is None
        ]
    raise AssertionError(f"{block} is not in the program")


def _held(index: ProgramIndex, above: Sequence[Stmt], target: Target) -> tuple[str, str] | None:
    """(bytes, sentence) of the part of an intermediate buffer that one iteration of the loop holds; None if unknown."""
    realize = above[-1]
    assert isinstance(realize, BlockRealize)
    producing = target.primitive == "compute_at"
    found = [r for r in (realize.block.writes if producing else realize.block.reads) if not index.is_param(r.buffer)]
    shape = _iteration_shape(above, realize, target)
    if len(found) != 1 or shape is None:
        return None
    # The elements read equal the iterations only if each iteration reads a single element.
    if not producing and not all(build.is_const(axis.extent, 1) for axis in found[0].region):
        return None
    buffer = found[0].buffer
    whole = buffer_bytes(buffer)
    if whole is None:
        return None
    size = size_text(min(whole, dtype.size_bytes(buffer.dtype) * prod(shape)))
    extents = f" {TIMES} ".join(map(str, shape)) or "1"
    does = "fills" if producing else "reads"
    return size, f"one iteration of {target.loop.name} {does} {extents} of {buffer.name}: {size} of {size_text(whole)}"


def _iteration_shape(above: Sequence[Stmt], realize: BlockRealize, target: Target) -> tuple[int, ...] | None:
    """Extents of the loops below the target that the block's spatial iterators use, outermost first; None if one is symbolic."""
    pairs = zip(realize.block.iter_vars, realize.iter_values, strict=True)
    values = [value for iter_var, value in pairs if iter_var.iter_type == "spatial"]
    loops = [stmt for stmt in above if isinstance(stmt, For)]
    shape: list[int] = []
    for loop in loops[[f.loop_var for f in loops].index(target.loop) + 1 :]:
        extent = build.int_value(loop.extent)
        if extent is None:
            return None
        if extent > 1 and any(uses_var(value, loop.loop_var) for value in values):
            shape.append(extent)
    return tuple(shape)
