"""Lines that look up the loops of a block by position, after another step placed the block elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

from ....engine.ir import Var
from ..cells import Document
from ..evaluate import evaluate
from ..notebook import Notebook, NotebookStep, State
from .apply import replace_call
from .revise import traced_steps


def with_lookups(before: Notebook, block: str, document: Document, later: Mapping[NotebookStep, int]) -> Document:
    """The document, in which a step places `block` elsewhere than in the notebook `before`. `later` are the steps behind it, with their
    indices in the document. There, `get_loops(block)` finds the loops that it found before: the loops of the block itself, and those around
    it that are the same."""
    after = evaluate(document, before)
    for step, index in later.items():
        if index >= len(after.states) or not _looks_up(before, step, block):
            continue
        text = _lookup_text(step, before.states[step.index], after.states[index], block)
        if text != step.text:
            after = evaluate(replace_call(after.document, index, text), after)
    return after.document


def _looks_up(notebook: Notebook, step: NotebookStep, block: str) -> bool:
    if step.call.method != "get_loops" or step.status != "applied":
        return False
    return traced_steps(notebook, step)[-1].argument("block") == block


def _lookup_text(step: NotebookStep, before: State, after: State, block: str) -> str:
    """The text of a line for the loops around the block in the state `after`; unchanged if a loop that it names is not there."""
    old, new = _loops(before, block), _loops(after, block)
    old_own, new_own = _own_loops(before, block), _own_loops(after, block)
    same = dict(zip(new_own, old_own, strict=True)) if len(new_own) == len(old_own) else {}
    same |= {loop: loop for loop in new if loop in old}
    call = step.call
    if call.index is not None:
        places = [n for n, loop in enumerate(new) if same.get(loop) is old[call.index]]
        return _with_index(step.text, call.index, places[0]) if places else step.text
    if not call.unpacks or len(call.targets) != len(old):
        return step.text
    names = dict(zip(old, call.targets, strict=True))
    targets = [names[same[loop]] if loop in same else "_" for loop in new]
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
