"""Replay of a schedule without some lines: later lines are applied again, and lines that depend on a removed line are dropped."""

from __future__ import annotations

from typing import NamedTuple

from ....engine.adopt import after_line
from ....engine.ir import TilewrightError
from ..notebook import Notebook, State


class RemovedSteps(NamedTuple):
    """The final state, and the steps that no longer apply."""

    moment: State
    dropped: tuple[int, ...]


def remove_steps(notebook: Notebook, count: int, *steps: int) -> RemovedSteps:
    """The state after the first `count` steps of the notebook, without `steps`."""
    first = min(steps)
    state = notebook.states[first]
    dropped: list[int] = []
    for later in notebook.steps[first + 1 : count]:
        if later.index in steps:
            continue
        try:
            state = after_line(state, later.call, notebook.schedule_name)
        except TilewrightError:
            dropped.append(later.index)
    return RemovedSteps(state, tuple(dropped))
