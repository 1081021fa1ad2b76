"""The states that the visible program is compared with: before the last edit, at opening, and the original program.

While an earlier step is visible, the step before it takes the place of the edits.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from ..document import Notebook
from .model import State

ORIGINAL = "the original"


class Baseline(msgspec.Struct, frozen=True, eq=False):
    """A state to compare with, and its name on the page."""

    against: str
    state: State


def baselines(state: State) -> tuple[Baseline, ...]:
    """The baselines of the visible program, the nearest first. States with the same program and machine as a nearer one are left out."""
    if state.shown is None or state.moment is None:
        return ()
    original = Baseline(ORIGINAL, replace(state, chosen_step=0))
    found = [*(_previous_step(state) if state.looks_back else _edits(state)), original]
    seen = {_subject(state)}
    return tuple(b for b in found if not ((subject := _subject(b.state)) in seen or seen.add(subject)))


def _previous_step(state: State) -> list[Baseline]:
    before = state.before
    if before is None or state.shown is None:
        return []
    return [Baseline("the previous step", replace(state, chosen_step=state.shown.states.index(before)))]


def _edits(state: State) -> list[Baseline]:
    """The states before the last edit that changed program or machine, and before the first one."""
    states = [_at(state, notebook) for notebook in state.past if notebook.states and notebook.error is None]
    earlier = [s for s in states if _subject(s) != _subject(state)]
    return [
        *(Baseline("the state before the last edit", s) for s in earlier[-1:]),
        *(Baseline("the opened notebook", s) for s in states[:1]),
    ]


def _at(state: State, notebook: Notebook) -> State:
    return replace(state, notebook=notebook, shown=notebook, chosen_step=None)


def _subject(state: State) -> tuple[int, int, tuple[tuple[str, int], ...]]:
    """What is simulated: the program and the machine by identity, and the sizes."""
    assert state.shown is not None and state.moment is not None
    return id(state.moment.schedule.func), id(state.shown.machine), tuple(sorted(state.shown.sizes.items()))


__all__ = ["ORIGINAL", "Baseline", "baselines"]
