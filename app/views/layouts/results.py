"""The results of the analyses of the layout picker: the accesses of the buffer, and a trial of each layout."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ...state.derived import Store
from ...state.entries import Derived, Entry
from ...state.model import State
from .draft import Reading, read_draft
from .grid import LayoutUse
from .subject import Chosen
from .trials import LayoutTrial


class LayoutResults(msgspec.Struct, frozen=True, eq=False):
    """The current results for a buffer's layouts: accesses (None: not computed yet), and trials by candidate key."""

    uses: list[LayoutUse] | None = None
    trials: Mapping[str, LayoutTrial] = {}
    is_complete: bool = False


NOTHING_YET = LayoutResults()


_LAYOUTS = Derived[LayoutResults]("layouts")
_READING = Derived[Reading]("reading of a typed map")

DRAFT = Derived[LayoutTrial]("typed map")
"""The trial of the text of a call, for a chosen buffer."""


def found_layouts(chosen: Chosen, store: Store) -> LayoutResults:
    """The current results for the buffer's layouts."""
    return store.known(layouts_entry(chosen)) or NOTHING_YET


def layouts_entry(chosen: Chosen) -> Entry[LayoutResults]:
    """The entry of the results for a buffer's layouts."""
    return _LAYOUTS(chosen)


def draft_reading(state: State, store: Store, chosen: Chosen) -> Reading | None:
    """The parsed map in the text field; None for an empty field."""
    text = state.look.draft
    if not text.strip() or chosen.subject is None:
        return None
    return store.remember(_READING(text, chosen), lambda: read_draft(chosen.accesses[0], text))
