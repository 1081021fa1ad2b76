"""The lines of a schedule from one line on, applied again after an edit.

A line that no longer applies is lost: it is switched off in the result. A line is rewritten where it names a loop, a block or a buffer by a
text that the edit has changed, and where it unpacks the loops around a block that the edit has moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec.structs import replace as replace_fields

from .....engine.adopt import after_line
from .....engine.ir import Refusal, ScheduleCall, TilewrightError, Var
from .....engine.script import CallStep, read_calls
from ...cells import Document
from ...evaluate import evaluate
from ...files.read_write import DocumentError
from ...items import item_of_step, switch_off
from ...notebook import Handle, Notebook, NotebookStep, State
from ..apply import append_call, insert_call, remove_call, replace_call
from .loop_lookups import lookup_text
from .statement import with_names
from .steps import traced_steps

LATER_STEPS = "later-steps"
"""The code of a revision that is refused because later lines no longer apply."""

Instead = Callable[[NotebookStep], bool]
"""Applies another line in place of one that no longer applies; returns whether it did."""


class LostStep(msgspec.Struct, frozen=True):
    """A later line that no longer applies, and the reason."""

    text: str
    reason: str


class Revised(msgspec.Struct, frozen=True, eq=False):
    """The notebook after a revision. `lost` are the later lines that no longer apply; they are switched off in it."""

    notebook: Notebook
    lost: tuple[LostStep, ...] = ()

    def accepted(self, *, switch_off: bool = False) -> Notebook:
        """The notebook, if no line is lost or if lost lines may be switched off. Raises DocumentError "later-steps"."""
        if self.lost and not switch_off:
            count = len(self.lost)
            noun = "a later step no longer applies" if count == 1 else f"{count} later steps no longer apply"
            raise DocumentError(
                Refusal(
                    LATER_STEPS,
                    noun,
                    found="\n".join(f"{step.text}: {step.reason}" for step in self.lost),
                    expected="a revision that keeps them, or these steps switched off",
                )
            )
        return self.notebook


class RevisedLine(msgspec.Struct, frozen=True, eq=False):
    """A statement of the new schedule, the step of the old one that it continues, and the state after it."""

    call: CallStep
    step: NotebookStep | None
    state: State


class LaterLines:
    """The lines of `notebook` from step `first` on. They are added one by one: `repeat` adds a step, `add` another text."""

    def __init__(self, notebook: Notebook, first: int, state: State | None = None) -> None:
        self.notebook = notebook
        self.state = state or notebook.states[first]
        self.lost: list[LostStep] = []
        self._first = first
        self._lines: list[RevisedLine] = []
        self._off: set[int] = set()
        self._new: dict[Handle, Handle] = {}
        self._names: dict[str, str] = {}

    def handle(self, old: Handle) -> Handle:
        """The loop or block of the new schedule for one of the old schedule."""
        return self._new.get(old, old)

    def set_handle(self, old: Handle, new: Handle) -> None:
        """Record the loop or block of the new schedule for one of the old schedule."""
        self._new[old] = new

    def add(self, text: str, step: NotebookStep | None = None) -> None:
        """Add the statements of `text`; the last one continues `step`. Raises TilewrightError, and then adds nothing."""
        state, lines = self.state, list[RevisedLine]()
        calls = (step.call,) if step is not None and text == step.text else read_calls(text)
        for number, call in enumerate(calls, 1):
            state = after_line(state, call, self.notebook.schedule_name)
            lines.append(RevisedLine(call, step if number == len(calls) else None, state))
        if step is not None and step.status == "applied":
            made = state.schedule.trace.steps[len(self.state.schedule.trace.steps) :]
            self._record(step, made[-1:], state)
        self.state = state
        self._lines += lines

    def repeat(self, step: NotebookStep) -> str:
        """Add a step of the notebook, adapted to the new schedule, and return its text. Raises TilewrightError, and then adds nothing."""
        text = step.text
        if step.call.method == "get_loops" and step.status == "applied":
            block = traced_steps(self.notebook, step)[-1].argument("block")
            assert isinstance(block, str)
            text = lookup_text(step, block, self.notebook.states[step.index], self.state, self.handle)
        text = self.renamed(text)
        self.add(text, step)
        return text

    def renamed(self, text: str) -> str:
        """A statement of the notebook with the new names of loops, blocks and buffers."""
        return with_names(text, self._names) if self._names else text

    def lose(self, step: NotebookStep, error: TilewrightError) -> None:
        """Switch a step off."""
        self._off.add(step.index)
        self.lost.append(LostStep(step.text, error.bare_refusal.message))

    def repeat_all(self, steps: Sequence[NotebookStep], instead: Instead = lambda _: False) -> None:
        """Repeat steps; those that no longer apply are lost, unless `instead` adds another line."""
        for step in steps:
            try:
                self.repeat(step)
            except TilewrightError as error:
                if not instead(step):
                    self.lose(step, error)

    def _record(self, step: NotebookStep, made: Sequence[ScheduleCall], state: State) -> None:
        """Record the new handles and names for those that `step` made."""
        (before,) = traced_steps(self.notebook, step)[-1:] or (None,)
        if before is None or not before.changes or len(made) != 1 or len(before.results) != len(made[0].results):
            return
        for old, new in zip(before.results, made[0].results, strict=True):
            self._new[old] = new
            self.rename(_name(old), _name(new))
            if isinstance(old, str) and isinstance(new, str):
                then = self.notebook.states[step.index + 1]
                for one, other in zip(_buffers(then, old), _buffers(state, new), strict=False):
                    self.rename(one, other)

    def rename(self, old: str, new: str) -> None:
        """Record the new name of a loop, a block or a buffer."""
        self._names.pop(old, None)
        if old != new:
            self._names[old] = new

    def document(self) -> Document:
        """The document with these lines in place of the old ones; lines that keep their order keep their place."""
        document = self.notebook.document
        staying: dict[int, list[str]] = {}
        texts: dict[int, str] = {}
        waiting: list[str] = []
        for line in self._lines:
            if line.step is not None and line.step.index > max(staying, default=-1):
                staying[line.step.index], waiting = waiting, []
                texts[line.step.index] = line.call.text
            else:
                waiting.append(line.call.text)
        if waiting:
            document = append_call(document, "\n".join(waiting))
        for step in reversed(self.notebook.steps[self._first :]):
            index = step.index
            if index in self._off:
                document = switch_off(document, item_of_step(document, index).index)
            elif index not in staying:
                document = remove_call(document, index)
            elif texts[index] != step.text:
                document = replace_call(document, index, texts[index])
            if staying.get(index):
                document = insert_call(document, index, "\n".join(staying[index]))
        return document

    def finish(self) -> Revised:
        """The notebook with these lines. Its states are those of the lines. Raises TilewrightError if it cannot be evaluated."""
        kept = self.notebook.steps[: self._first]
        count = len(kept)
        steps = [*kept]
        states = [*self.notebook.states[: count + 1]]
        for number, line in enumerate(self._lines, count):
            call, first = line.call, len(states[-1].schedule.trace.steps)
            steps.append(NotebookStep(number, call.text, call.place, call, "applied", first))
            states.append(line.state)
        made = replace_fields(self.notebook, steps=tuple(steps), states=tuple(states))
        notebook = evaluate(self.document(), made)
        if notebook.error is not None:
            raise notebook.error
        return Revised(notebook, tuple(self.lost))


def _name(handle: Handle) -> str:
    return handle.name if isinstance(handle, Var) else handle


def _buffers(state: State, block: str) -> list[str]:
    """The names of the buffers that a block reads and writes."""
    if not state.schedule.index.has_block(block):
        return []
    found = state.schedule.index.block(block)
    return [region.buffer.name for region in (*found.reads, *found.writes)]
