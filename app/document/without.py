"""A schedule as if one of its lines had never been written: the later ones are made again, those that need it are left out too."""

from __future__ import annotations

from typing import NamedTuple

from ...engine.ir import TilewrightError
from .calls import after_line
from .notebook import Notebook, State


class Without(NamedTuple):
    """The moment that is reached, and the steps that could not be made any more."""

    moment: State
    dropped: tuple[int, ...]


def replay_without(notebook: Notebook, count: int, step: int) -> Without:
    """The moment after the first `count` steps of the notebook, made without step `step`."""
    state = notebook.states[step]
    dropped: list[int] = []
    for later in notebook.steps[step + 1 : count]:
        try:
            state = after_line(state, later.call, notebook.schedule_name)
        except TilewrightError:
            dropped.append(later.index)
    return Without(state, tuple(dropped))
