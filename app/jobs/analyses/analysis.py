"""An analysis: the entry of the store that it fills, and the pieces of its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import msgspec

from ....engine.hwsim import simulate
from ...state.derived import MAX_TASKS, Store
from ...state.entries import Entry


class Analysis(msgspec.Struct, frozen=True, eq=False):
    """An analysis. `pieces` yields values of `entry`, each better than the one before; None is no value, only a point to stop at.

    `area` and `text` name the place on the page that waits and the work, for its status. `keep` stores a piece in another way.
    `is_typed`: it is of a text whose field has waited for a pause.
    """

    entry: Entry[Any]
    pieces: Callable[[], Iterator[Any]]
    area: str = ""
    text: str = ""
    keep: Callable[[Any, Store], None] | None = None
    is_typed: bool = False

    def run(self, store: Store) -> None:
        """Run all pieces here, and keep them."""
        for piece in self.pieces():
            self.take(piece, store)

    def take(self, piece: Any, store: Store) -> None:
        """Keep a piece."""
        if piece is None:
            return
        if self.keep is not None:
            self.keep(piece, store)
        else:
            store.keep(self.entry, piece)


simulated = partial(simulate, max_tasks=MAX_TASKS)
"""The simulator with the limit on tasks of the page."""


__all__ = ["Analysis", "simulated"]
