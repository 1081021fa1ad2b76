"""The step that placed a block, and the loops to which it can move the block instead.

A loop that exists before the step replaces the step's loop in place. For a loop that a later line makes, the step moves behind that line.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

import msgspec

from .....engine.cancellation import checkpoint
from .....engine.ir import Refusal, TilewrightError, Var
from .....engine.schedule import Schedule, Target
from ...notebook import Notebook, NotebookStep, State
from .later_lines import LaterLines
from .steps import last_step, traced_steps

Method = Literal["compute_at", "reverse_compute_at"]

PLACES: tuple[Method, Method] = ("compute_at", "reverse_compute_at")
"""The calls that place a block."""

APPENDED = -1
"""The key of the verdicts on a call after all lines."""


class Spot(msgspec.Struct, frozen=True, eq=False):
    """A place for the step of a placement: the state before it, its position among the original steps, and the loop there."""

    state: State
    position: int
    loop: Var


class MoveVerdict(msgspec.Struct, frozen=True, eq=False):
    """Whether a block may move to `loop`, a loop of the present program: a target of `schedule`, which is that of the place to which the
    step would move, with its loop there."""

    loop: Var
    schedule: Schedule
    target: Target


class StepPlacement:
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
        self._lines = LaterLines(notebook, step.index)
        self._without: list[State] = [self.before]

    def targets(self) -> tuple[MoveVerdict, ...]:
        """The verdict on each loop of the present program, in text order. The later lines are not applied here."""
        schedules: dict[int, Schedule] = {}
        verdicts: dict[int, dict[Var, Target]] = {}

        def verdict(number: int, schedule: Schedule, loop: Var) -> tuple[Schedule, Target]:
            if number not in verdicts:
                schedules[number] = schedule
                verdicts[number] = {t.loop: t for t in schedule.legal_targets(self.block)}
            return schedules[number], verdicts[number][loop]

        found: list[MoveVerdict] = []
        for loop in (f.loop_var for f in self.now.schedule.index.loops):
            checkpoint()
            if loop is self.loop:
                refusal = Refusal("same-loop", f"block {self.block!r} is already computed at loop {loop.name!r}")
                found.append(MoveVerdict(loop, self.now.schedule, Target(loop, False, self.method, refusal)))
            elif (spot := self.spot(loop)) is not None:
                found.append(MoveVerdict(loop, *verdict(spot.position, spot.state.schedule, spot.loop)))
            else:
                found.append(MoveVerdict(loop, *verdict(APPENDED, self.now.schedule, loop)))
        return tuple(found)

    def spot(self, loop: Var) -> Spot | None:
        """The place for the step if the block moves to `loop`, a loop of the present program. None if a line that depends on the step makes
        the loop: then only another call after all lines can move the block there."""
        position = next(n for n in range(self.step.index, self._count + 1) if self._has(self.notebook.states[n], loop))
        if position == self.step.index:
            return Spot(self.before, position, loop)
        state = self._state_without(position)
        mapped = self._lines.handle(loop)
        if isinstance(mapped, Var) and self._has(state, mapped):
            return Spot(state, position, mapped)
        around = self._blocks_in(self.notebook.states[position], loop)
        loops = (f.loop_var for f in state.schedule.index.loops if f.loop_var.name == loop.name)
        same = [other for other in loops if around and self._blocks_in(state, other) == around]
        return Spot(state, position, same[0]) if len(same) == 1 else None

    def _has(self, state: State, loop: Var) -> bool:
        return state.schedule.index.has_loop(loop)

    def _blocks_in(self, state: State, loop: Var) -> set[str]:
        """The other blocks below a loop."""
        index = state.schedule.index
        return {realize.block.name for realize in index.child_blocks(index.loop(loop))} - {self.block}

    def _state_without(self, position: int) -> State:
        """The state before the original step `position` without the step of this placement and the steps that depend on it."""
        while len(self._without) <= position - self.step.index - 1:
            with suppress(TilewrightError):
                self._lines.repeat(self.notebook.steps[self.step.index + len(self._without)])
            self._without.append(self._lines.state)
        return self._without[position - self.step.index - 1]


def moved_blocks(before: Notebook, after: Notebook) -> tuple[str, ...]:
    """The blocks that steps have placed in both notebooks, with other texts."""
    old = _placing_texts(before)
    return tuple(block for block, text in _placing_texts(after).items() if old.get(block, text) != text)


def _placing_texts(notebook: Notebook) -> dict[str, str]:
    """Block -> the text of the last step that placed it."""
    return {
        str(traced_steps(notebook, step)[-1].argument("block")): step.text
        for step in notebook.steps
        if step.call.method in PLACES and step.status == "applied"
    }


def placement_of(notebook: Notebook, block: str, count: int | None = None) -> StepPlacement | None:
    """The placement of a block of the program after the first `count` lines, by default all; None for a block that no step has placed."""
    count = len(notebook.states) - 1 if count is None else count
    step = last_step(notebook, count, PLACES, block)
    return None if step is None else StepPlacement(notebook, count, block, step)
