"""Conflicts: a step that no longer applies, presented like a merge conflict, with its missing names, earlier changes and resolutions.

In this module, `good` is the last notebook whose steps all applied; it is the baseline of the comparison.
"""

from __future__ import annotations

import difflib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from ....engine.ir import Refusal, TilewrightError
from ....engine.script import CallStep, Ref
from ..cells import Document
from ..evaluate import evaluate
from ..files.read_write import DocumentError
from ..items import insert_item, item_of_step, schedule_items, switch_off, switch_on
from ..notebook import Notebook, NotebookStep
from .lines import line_for

ChangeKind = Literal["removed", "off", "edited", "moved", "added", "workload"]


class StepChange(msgspec.Struct, frozen=True):
    """A change to a step since all steps applied. `step` is its index in the good notebook, or in this one for an added step."""

    kind: ChangeKind
    text: str
    step: int = 0


class Need(msgspec.Struct, frozen=True):
    """An undefined name at the step, and the line that defined it (None: no line ever did).

    `below` is the later item that defines it now.
    """

    name: str
    made_by: str | None = None
    below: int | None = None


class Conflict(msgspec.Struct, frozen=True, eq=False):
    """The first failing step. `applied_before`: it applied before `changes`; otherwise it never applied.

    `waiting` is the number of steps after it.
    """

    step: int
    item: int
    error: TilewrightError
    needs: tuple[Need, ...]
    changes: tuple[StepChange, ...]
    applied_before: bool
    waiting: int


def conflict_of(notebook: Notebook, good: Notebook | None) -> Conflict | None:
    """The conflict of a notebook; None if all steps apply."""
    failed = failed_step(notebook)
    if failed is None or failed.error is None:
        return None
    before = () if good is None else good.steps
    return Conflict(
        failed.index,
        item_of_step(notebook.document, failed.index).index,
        failed.error,
        tuple(_needs(failed, notebook, before)),
        () if good is None else tuple(_changes(notebook, good, failed.index)),
        any(step.text == failed.text for step in before),
        len(notebook.steps) - failed.index - 1,
    )


def failed_step(notebook: Notebook) -> NotebookStep | None:
    """The first failing step."""
    return next((step for step in notebook.steps if step.status == "failed"), None)


def put_back(document: Document, good: Notebook, step: int) -> Document:
    """The document with step `step` of the good notebook restored: enabled if it is disabled, else inserted before the first of its
    successors that still exists."""
    if not 0 <= step < len(good.steps):
        raise DocumentError(Refusal("no-such-step", f"there was no step {step}"))
    text = good.steps[step].text
    items = schedule_items(document)
    off = next((item for item in items if not item.on and item.text == text), None)
    if off is not None:
        return switch_on(document, off.index)
    for follower in good.steps[step + 1 :]:
        for item in items:
            if item.on and item.text == follower.text:
                return insert_item(document, item.index, text)
    raise DocumentError(Refusal("no-such-step", "none of its later steps remains", found=text))


def stop_at(document: Document, step: int) -> Document:
    """The document with step `step` and all later steps disabled."""
    for item in reversed(schedule_items(document)):
        if item.step is not None and item.step >= step:
            document = switch_off(document, item.index)
    return document


def skip_conflicts(notebook: Notebook) -> Notebook:
    """The notebook with failing steps disabled, one after the other, until all remaining steps apply."""
    while (failed := failed_step(notebook)) is not None:
        document = switch_off(notebook.document, item_of_step(notebook.document, failed.index).index)
        notebook = evaluate(document, notebook)
    return notebook


def repaired(notebook: Notebook) -> Notebook:
    """The notebook with the calls that make its failed step legal inserted before it. Raises DocumentError "no-repair" without any."""
    failed = failed_step(notebook)
    repair = failed.error.refusal.repair if failed is not None and failed.error is not None else ()
    if failed is None or not repair:
        raise DocumentError(Refusal("no-repair", "no calls are known that make this step legal"))
    state = notebook.states[-1]
    document, index = notebook.document, item_of_step(notebook.document, failed.index).index
    for proposal in repair:
        line = line_for(
            state.names,
            proposal,
            schedule=state.schedule,
            receiver=notebook.schedule_name,
        )
        document = insert_item(document, index, line)
        index += len(line.split("\n"))
    return evaluate(document, notebook)


def _needs(failed: NotebookStep, notebook: Notebook, before: tuple[NotebookStep, ...]) -> Iterator[Need]:
    known = notebook.states[-1].names
    for name in dict.fromkeys(_names(failed.call)):
        if name in known:
            continue
        below = next((step for step in notebook.steps[failed.index + 1 :] if name in step.call.targets), None)
        made = below or next((step for step in before if name in step.call.targets), None)
        item = None if below is None else item_of_step(notebook.document, below.index).index
        yield Need(name, None if made is None else made.text, item)


def _names(call: CallStep) -> Iterator[str]:
    """The variables that a line uses."""
    waiting: list[object] = [*call.args, *call.kwargs.values()]
    while waiting:
        match waiting.pop(0):
            case Ref(name=name):
                yield name
            case list() | tuple() as several:
                waiting[:0] = several
            case dict() as several:
                waiting[:0] = several.values()
            case _:
                pass


def _changes(notebook: Notebook, good: Notebook, failed: int) -> Iterator[StepChange]:
    """The changes before the failed step, compared with the good notebook. A moved step is reported once, at its first position."""
    if notebook.program is not good.program:
        yield StepChange("workload", "")
    old, new = [step.text for step in good.steps], [step.text for step in notebook.steps]
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    hunks = [(range(a, b), range(c, d)) for kind, a, b, c, d in codes if kind != "equal"]
    moved = _moves(old, new, hunks)
    target = {source: place for place, source in moved.items()}
    disabled = Counter(item.text for item in schedule_items(notebook.document) if not item.on)
    reported: set[int] = set()
    for before, after in hunks:
        if after.start > failed:
            break
        off = [n for n in before if n not in target and _taken(disabled, old[n])]
        gone = [n for n in before if n not in target and n not in off]
        added = [n for n in after if n not in moved]
        edited = dict(zip(gone, added, strict=True)) if len(gone) == len(added) else {}
        for n in (n for n in before if n not in reported):
            if n in target:
                reported.add(n)
                yield StepChange("moved", old[n], n)
            elif n in edited:
                yield StepChange("edited", f"{old[n]} → {new[edited[n]]}", n)
            else:
                yield StepChange("off" if n in off else "removed", old[n], n)
        for n in (n for n in after if n <= failed):
            if n in moved and moved[n] not in reported:
                reported.add(moved[n])
                yield StepChange("moved", new[n], moved[n])
            elif n not in moved and n < failed and n not in edited.values():
                yield StepChange("added", new[n], n)


def _moves(old: list[str], new: list[str], hunks: Sequence[tuple[range, range]]) -> dict[int, int]:
    """New position -> old position of each step that was removed at one place and inserted at another. Equal lines are paired in order."""
    removed: defaultdict[str, list[int]] = defaultdict(list)
    for before, _ in hunks:
        for n in before:
            removed[old[n]].append(n)
    return {n: removed[new[n]].pop(0) for _, after in hunks for n in after if removed[new[n]]}


def _taken(counts: Counter[str], text: str) -> bool:
    """Whether the text is left in `counts`; it is then counted off."""
    counts[text] -= 1
    return counts[text] >= 0


__all__ = [
    "Conflict",
    "Need",
    "StepChange",
    "conflict_of",
    "failed_step",
    "put_back",
    "repaired",
    "skip_conflicts",
    "stop_at",
]
