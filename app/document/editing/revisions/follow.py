"""Typed edits that change the name of a loop, a block or a buffer: the later lines that name it by a text follow."""

from __future__ import annotations

from .....engine.ir import TilewrightError
from ...cells import Document
from ...evaluate import evaluate
from ...notebook import Notebook
from ..apply import replace_call
from .later_lines import LaterLines


def followed(before: Notebook, typed: Notebook, document: Document) -> Notebook:
    """The notebook of an edited `document`, evaluated as `typed`. If a line fails only because the edit has changed a name, the lines that
    name it are rewritten. Else the text stays as it was typed."""
    if typed.error is None or before.error is not None or not typed.states or len(typed.steps) != len(before.steps):
        return typed
    try:
        texts = _rewritten(before, typed)
    except TilewrightError:
        return typed
    for index, text in texts.items():
        document = replace_call(document, index, text)
    after = evaluate(document, typed)
    return after if after.error is None else typed


def _rewritten(before: Notebook, typed: Notebook) -> dict[int, str]:
    """The steps of `typed` whose texts change, with their texts. Raises TilewrightError if a line does not apply."""
    lines = LaterLines(before, 0, typed.states[0])
    old, new = before.states[0].schedule.index, typed.states[0].schedule.index
    if len(old.block_names) == len(new.block_names) and len(old.loops) == len(new.loops):
        for name, other in zip(old.block_names, new.block_names, strict=True):
            lines.rename(name, other)
        for loop, after in zip(old.loops, new.loops, strict=True):
            lines.set_handle(loop.loop_var, after.loop_var)
            lines.rename(loop.loop_var.name, after.loop_var.name)
    texts: dict[int, str] = {}
    for step, now in zip(before.steps, typed.steps, strict=True):
        if step.text != now.text:
            lines.add(now.text, step)
        elif (text := lines.repeat(step)) != now.text:
            texts[step.index] = text
    return texts
