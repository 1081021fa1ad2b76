"""The output of a session: a page, a Jupyter cell, or nothing."""

from __future__ import annotations

from typing import Protocol

from ..state.derived import Store
from ..state.model import State
from ..views.labels.values import Answer


class Screen(Protocol):
    """The output of a session."""

    def draw(self, state: State, store: Store) -> None:
        """Show `state`; only changes are sent."""
        ...

    def draw_results(self, state: State, store: Store) -> None:
        """Show the results that arrived after the paint: changes by step, the verdict, on-demand analyses, searches."""
        ...

    def download(self, name: str, text: str) -> None:
        """Send a file to the user: its text, or binary data as a data: URL."""
        ...

    def show_prediction(self, prediction: Answer) -> None:
        """Show the prediction of a drop beside its target rows."""
        ...
