"""Lines that look up the loops around a block by position, after an edit moved the block."""

from __future__ import annotations

from collections.abc import Callable

from .....engine.ir import Var
from ...notebook import Handle, NotebookStep, State


def lookup_text(
    step: NotebookStep, block: str, before: State, after: State, new_handle: Callable[[Handle], Handle]
) -> str:
    """The text of `get_loops(block)` in the state `after`, for the loops that it found in the state `before`: those of the block itself,
    and those around it that are the same. `new_handle` maps loops and blocks of `before` to those of `after`. The text is unchanged if a
    loop that it names is not there."""
    new_block = new_handle(block)
    if not isinstance(new_block, str) or not after.schedule.index.has_block(new_block):
        return step.text
    old, new = _loops(before, block), _loops(after, new_block)
    old_own, new_own = _own_loops(before, block), _own_loops(after, new_block)
    same: dict[Handle, Var] = dict(zip(new_own, old_own, strict=True)) if len(new_own) == len(old_own) else {}
    if len(old) == len(new):
        same |= {b: a for a, b in zip(old, new, strict=True) if a.name == b.name}
    same |= {new_handle(loop): loop for loop in old if new_handle(loop) in new}
    call = step.call
    if call.index is not None:
        places = [n for n, loop in enumerate(new) if same.get(loop) is old[call.index]]
        return _with_index(step.text, call.index, places[0]) if places else step.text
    if not call.unpacks or len(call.targets) != len(old):
        return step.text
    names = dict(zip(old, call.targets, strict=True))
    targets = [names[same[loop]] if loop in same else "_" for loop in new]
    if targets == list(call.targets):
        return step.text
    head = f"({targets[0]},)" if len(targets) == 1 else ", ".join(targets)
    return f"{head} = {step.text.partition('=')[2].strip()}"


def _loops(state: State, block: str) -> list[Var]:
    return [loop.loop_var for loop in state.schedule.index.loops_of(block)]


def _own_loops(state: State, block: str) -> list[Var]:
    """The loops around a block that contain no other block."""
    index = state.schedule.index
    return [loop.loop_var for loop in index.loops_of(block) if len(index.child_blocks(loop)) == 1]


def _with_index(text: str, old: int, new: int) -> str:
    """The text of a line with another subscript at its end."""
    return text if old == new else f"{text.rpartition('[')[0]}[{new}]"


__all__ = ["lookup_text"]
