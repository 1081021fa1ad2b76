"""Background jobs of the layout picker: the accesses of the buffer, and a trial of each layout. They run in a thread, in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from ....engine.explore.space.layout_choices import NOW, Candidate
from ...state.derived import Store
from ...state.model import State
from .draft import Reading, read_draft
from .grid import LayoutUse, uses_value
from .subject import Chosen, chosen_buffer
from .trials import LayoutTrial, figures_of, try_out


class LayoutResults(msgspec.Struct, frozen=True, eq=False):
    """The current results for a buffer's layouts: accesses (None: not computed yet), and trials by candidate key."""

    uses: list[LayoutUse] | None = None
    trials: Mapping[str, LayoutTrial] = {}
    is_complete: bool = False


NOTHING_YET = LayoutResults()


class LayoutWork(msgspec.Struct, frozen=True, eq=False):
    """A background job that only reads frozen values. Each value of `pieces` replaces the last one in the store, under `what` and `of`."""

    what: str
    of: tuple[object, ...]
    pieces: Callable[[], Iterator[Any]]


def layout_work(state: State, store: Store) -> LayoutWork | None:
    """The next job for the chosen buffer, the layout in the text field first; None if every result is known."""
    chosen = chosen_buffer(state, store)
    if chosen is None or chosen.buffer_placement is None or chosen.subject is None or chosen.machine is None:
        return None
    reading = draft_reading(state, store, chosen)
    if reading is not None and reading.candidate is not None:
        key = draft_key(chosen, reading.candidate)
        if not store.has(*key):
            return LayoutWork(*key, partial(_once, chosen, reading.candidate))
    known = found_layouts(chosen, store)
    return None if known.is_complete else LayoutWork(*layouts_key(chosen), partial(_pieces, chosen, known))


def found_layouts(chosen: Chosen, store: Store) -> LayoutResults:
    """The current results for the buffer's layouts."""
    return store.known(*layouts_key(chosen)) or NOTHING_YET


def layouts_key(chosen: Chosen) -> tuple[str, tuple[object, ...]]:
    return f"layouts {chosen.name}", (chosen,)


def draft_key(chosen: Chosen, candidate: Candidate) -> tuple[str, tuple[object, ...]]:
    return f"typed {candidate.text}", (chosen,)


def draft_reading(state: State, store: Store, chosen: Chosen) -> Reading | None:
    """The parsed map in the text field; None for an empty field."""
    text = state.look.draft
    if not text.strip() or chosen.subject is None:
        return None
    access = chosen.accesses[0]
    return store.remember(f"draft {text}", (chosen,), lambda: read_draft(chosen.schedule, access, text))


def _pieces(chosen: Chosen, known: LayoutResults) -> Iterator[LayoutResults]:
    assert chosen.report is not None and chosen.buffer_placement is not None
    uses, trials = known.uses, dict(known.trials)
    if uses is None:
        uses = uses_value(chosen.report, chosen.buffer_placement)
        yield LayoutResults(uses, dict(trials))
    for candidate in chosen.candidates:
        if candidate.key not in trials:
            trials[candidate.key] = trial_of(chosen, candidate)
            yield LayoutResults(uses, dict(trials))
    yield LayoutResults(uses, trials, is_complete=True)


def _once(chosen: Chosen, candidate: Candidate) -> Iterator[LayoutTrial]:
    yield trial_of(chosen, candidate)


def trial_of(chosen: Chosen, candidate: Candidate) -> LayoutTrial:
    """The trial of a candidate; the current layout needs no simulation."""
    assert chosen.report is not None and chosen.buffer_placement is not None and chosen.machine is not None
    if candidate is NOW:
        return LayoutTrial(candidate, figures_of(chosen.report, chosen.buffer_placement), chosen.buffer_placement)
    return try_out(chosen.schedule, candidate, chosen.name, chosen.machine, chosen.sizes)
