"""What the picker needs that takes longer than a paint: who takes what, and each layout tried out. Done in a thread, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import msgspec

from ....engine.explore.space.layout_choices import NOW, Candidate
from ...state.derived import Store
from ...state.model import State
from .draft import Reading, read_draft
from .grid import uses_value
from .subject import Chosen, chosen_buffer
from .trials import Trial, figures_of, try_out


class Found(msgspec.Struct, frozen=True, eq=False):
    """What is known of the layouts of a buffer: who takes what (None: not yet), and trials by their candidates' keys."""

    uses: list[dict[str, Any]] | None = None
    trials: Mapping[str, Trial] = {}
    is_complete: bool = False


NOTHING_YET = Found()


class Work(msgspec.Struct, frozen=True, eq=False):
    """Work that only reads frozen values: `pieces` are values for the store's `what` of `of`, each better than the one before."""

    what: str
    of: tuple[object, ...]
    pieces: Callable[[], Iterator[Any]]


def layout_work(state: State, store: Store) -> Work | None:
    """What is shown of the chosen buffer and not known yet: first what a person is typing."""
    chosen = chosen_buffer(state, store)
    if chosen is None or chosen.bed is None or chosen.subject is None or chosen.machine is None:
        return None
    reading = draft_reading(state, store, chosen)
    if reading is not None and reading.candidate is not None:
        key = draft_key(chosen, reading.candidate)
        if not store.has(*key):
            return Work(*key, partial(_once, chosen, reading.candidate))
    known = found_layouts(chosen, store)
    return None if known.is_complete else Work(*layouts_key(chosen), partial(_pieces, chosen, known))


def found_layouts(chosen: Chosen, store: Store) -> Found:
    """What is known of its layouts."""
    return store.known(*layouts_key(chosen)) or NOTHING_YET


def layouts_key(chosen: Chosen) -> tuple[str, tuple[object, ...]]:
    return f"layouts {chosen.name}", (chosen,)


def draft_key(chosen: Chosen, candidate: Candidate) -> tuple[str, tuple[object, ...]]:
    return f"typed {candidate.text}", (chosen,)


def draft_reading(state: State, store: Store, chosen: Chosen) -> Reading | None:
    """What the typed map says, where one is typed."""
    text = state.look.draft
    if not text.strip() or chosen.subject is None:
        return None
    access = chosen.accesses[0]
    return store.remember(f"draft {text}", (chosen,), lambda: read_draft(chosen.schedule, access, text))


def _pieces(chosen: Chosen, known: Found) -> Iterator[Found]:
    assert chosen.report is not None and chosen.bed is not None
    uses, trials = known.uses, dict(known.trials)
    if uses is None:
        uses = uses_value(chosen.report, chosen.bed)
        yield Found(uses, dict(trials))
    for candidate in chosen.candidates:
        if candidate.key not in trials:
            trials[candidate.key] = trial_of(chosen, candidate)
            yield Found(uses, dict(trials))
    yield Found(uses, trials, is_complete=True)


def _once(chosen: Chosen, candidate: Candidate) -> Iterator[Trial]:
    yield trial_of(chosen, candidate)


def trial_of(chosen: Chosen, candidate: Candidate) -> Trial:
    """The candidate tried out; the layout as it is needs no trying."""
    assert chosen.report is not None and chosen.bed is not None and chosen.machine is not None
    if candidate is NOW:
        return Trial(candidate, figures_of(chosen.report, chosen.bed), chosen.bed)
    return try_out(chosen.schedule, candidate, chosen.name, chosen.machine, chosen.sizes)
