"""A schedule as if some of its lines had never been written: the later ones are made again, those that need it are left out too."""

from __future__ import annotations

from typing import NamedTuple

from ....engine.adopt import after_line
from ....engine.ir import TilewrightError
from ..notebook import Notebook, State


class Without(NamedTuple):
    """The moment that is reached, and the steps that could not be made any more."""

    moment: State
    dropped: tuple[int, ...]


def replay_without(notebook: Notebook, count: int, *steps: int) -> Without:
    """The moment after the first `count` steps of the notebook, made without `steps`."""
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
    return Without(state, tuple(dropped))
