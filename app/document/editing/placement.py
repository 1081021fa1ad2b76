"""Moves of a block that a step has placed: the step gets another loop, and the later lines are applied again.

A loop that exists before the step replaces the step's loop in place. For a loop that a later line makes, the step moves behind that line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from ....engine.adopt import after_line, call_method
from ....engine.cancellation import checkpoint
from ....engine.ir import Proposal, Refusal, TilewrightError, Var, called_with
from ....engine.schedule import Schedule, Target
from ....engine.script import read_calls
from ..cells import Document
from ..notebook import Notebook, NotebookStep, State
from .apply import append_call, insert_call, remove_call, replace_call
from .lines import line_for
from .loop_lookups import with_lookups
from .revise import Revised, last_step, replayed, revised_line, state_after, traced_steps

Method = Literal["compute_at", "reverse_compute_at"]

PLACES: tuple[Method, Method] = ("compute_at", "reverse_compute_at")
"""The calls that place a block."""

APPENDED = -1
"""The key of the verdicts on a call after all lines."""


class Spot(msgspec.Struct, frozen=True, eq=False):
    """A place for the step of a placement: the state before it, its position among the original steps, and the loop there. `dependent` are
    the steps before this place that do not apply without the step; they move behind it."""

    placement: Placement
    state: State
    position: int
    loop: Var
    dependent: tuple[NotebookStep, ...] = ()

    def repair(self, method: Method) -> tuple[Proposal, ...]:
        """The calls before the step that make a refused move legal; empty if it is legal, or if no repair is known."""
        try:
            call_method(self.state.schedule.copy(), method, (self.placement.block, self.loop), {})
        except TilewrightError as error:
            return error.refusal.repair
        return ()

    def moved(self, method: Method, first: Sequence[Proposal] = ()) -> Revised:
        """The notebook with the step here, after the calls `first`. Raises TilewrightError if the step is refused here."""
        notebook, step = self.placement.notebook, self.placement.step
        lines, state = _calls_text(notebook, self.state, first)
        text = "\n".join([*lines, revised_line(notebook, step, state, {"loop": self.loop}, method)])
        added = len(read_calls(text))
        if self.position == step.index:
            document, at = replace_call(notebook.document, step.index, text), step.index
            later = notebook.steps[step.index + 1 :]
        else:
            document, at = self._with_text(text), self.position - 1 - len(self.dependent)
            later = (*self.dependent, *notebook.steps[self.position :])
        placed = at + added - 1
        indices = {old: number for number, old in enumerate(later, placed + 1)}
        return replayed(with_lookups(notebook, self.placement.block, document, indices), notebook, placed)

    def _with_text(self, text: str) -> Document:
        """The document with `text` and the dependent steps at this place."""
        notebook = self.placement.notebook
        document = notebook.document
        moved = [self.placement.step, *self.dependent]
        for step in reversed(moved):
            document = remove_call(document, step.index)
        text = "\n".join([text, *(step.text for step in self.dependent)])
        if self.position == len(notebook.steps):
            return append_call(document, text)
        return insert_call(document, self.position - len(moved), text)


class Verdict(msgspec.Struct, frozen=True, eq=False):
    """Whether a block may move to `loop`, a loop of the present program: a target of `schedule`, which is that of the place to which the
    step would move, with its loop there."""

    loop: Var
    schedule: Schedule
    target: Target


class Placement:
    """The step that placed a block of the program after the first `count` lines of a notebook."""

    def __init__(self, notebook: Notebook, count: int, block: str, step: NotebookStep) -> None:
        self.notebook = notebook
        self.block = block
        self.step = step
        self.before = notebook.states[step.index]
        self.now = notebook.states[count]
        traced = traced_steps(notebook, step)[-1]
        self.loop: Var = traced.argument("loop")
        self.method: Method = "compute_at" if step.call.method == "compute_at" else "reverse_compute_at"
        self._count = count
        self._without: list[State] = [self.before]
        self._dependent: list[NotebookStep] = []
        self._new: dict[Any, Any] = {}

    def targets(self) -> tuple[Verdict, ...]:
        """The verdict on each loop of the present program, in text order. The later lines are not applied here."""
        schedules: dict[int, Schedule] = {}
        verdicts: dict[int, dict[Var, Target]] = {}

        def verdict(number: int, schedule: Schedule, loop: Var) -> tuple[Schedule, Target]:
            if number not in verdicts:
                schedules[number] = schedule
                verdicts[number] = {t.loop: t for t in schedule.legal_targets(self.block)}
            return schedules[number], verdicts[number][loop]

        found: list[Verdict] = []
        for loop in (f.loop_var for f in self.now.schedule.index.loops):
            checkpoint()
            if loop is self.loop:
                refusal = Refusal("same-loop", f"block {self.block!r} is already computed at loop {loop.name!r}")
                found.append(Verdict(loop, self.now.schedule, Target(loop, False, self.method, refusal)))
            elif (spot := self.spot(loop)) is not None:
                found.append(Verdict(loop, *verdict(spot.position, spot.state.schedule, spot.loop)))
            else:
                found.append(Verdict(loop, *verdict(APPENDED, self.now.schedule, loop)))
        return tuple(found)

    def spot(self, loop: Var) -> Spot | None:
        """The place for the step if the block moves to `loop`, a loop of the present program. None if a line that depends on the step makes
        the loop: then only another call after all lines can move the block there."""
        position = next(n for n in range(self.step.index, self._count + 1) if self._has(self.notebook.states[n], loop))
        if position == self.step.index:
            return Spot(self, self.before, position, loop)
        state = self._state_without(position)
        dependent = tuple(step for step in self._dependent if step.index < position)
        mapped = self._new.get(loop, loop)
        if isinstance(mapped, Var) and self._has(state, mapped):
            return Spot(self, state, position, mapped, dependent)
        around = self._blocks_in(self.notebook.states[position], loop)
        loops = (f.loop_var for f in state.schedule.index.loops if f.loop_var.name == loop.name)
        same = [other for other in loops if around and self._blocks_in(state, other) == around]
        return Spot(self, state, position, same[0], dependent) if len(same) == 1 else None

    def _has(self, state: State, loop: Var) -> bool:
        return state.schedule.index.has_loop(loop)

    def _blocks_in(self, state: State, loop: Var) -> set[str]:
        """The other blocks below a loop."""
        index = state.schedule.index
        return {realize.block.name for realize in index.child_blocks(index.loop(loop))} - {self.block}

    def _state_without(self, position: int) -> State:
        """The state before the original step `position` without the step of this placement and the steps that depend on it."""
        while len(self._without) <= position - self.step.index - 1:
            later = self.notebook.steps[self.step.index + len(self._without)]
            state = self._without[-1]
            try:
                after = after_line(state, later.call, self.notebook.schedule_name)
            except TilewrightError:
                self._dependent.append(later)
                self._without.append(state)
                continue
            made = after.schedule.trace.steps[len(state.schedule.trace.steps) :]
            for old, new in zip(traced_steps(self.notebook, later), made, strict=False):
                self._new.update(zip(old.results, new.results, strict=False))
            self._without.append(after)
        return self._without[position - self.step.index - 1]


def placement_of(notebook: Notebook, block: str, count: int | None = None) -> Placement | None:
    """The placement of a block of the program after the first `count` lines, by default all; None for a block that no step has placed."""
    count = len(notebook.states) - 1 if count is None else count
    step = last_step(notebook, count, PLACES, block)
    return None if step is None else Placement(notebook, count, block, step)


def _calls_text(notebook: Notebook, state: State, calls: Sequence[Proposal]) -> tuple[list[str], State]:
    """The lines of `calls` at a state, and the state after them."""
    lines: list[str] = []
    for call in calls:
        args, keywords = called_with(dict(call.arguments))
        schedule = state.schedule.copy()
        results = call_method(schedule, call.method, args, keywords)
        line = line_for(
            state.names,
            call.method,
            dict(call.arguments),
            results,
            schedule=state.schedule,
            receiver=notebook.schedule_name,
        )
        lines.append(line)
        state = state_after(state, line, notebook.schedule_name)
    return lines, state
