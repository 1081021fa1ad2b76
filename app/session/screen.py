"""What a session draws on: a page, a cell of Jupyter, or nothing."""

from __future__ import annotations

from typing import Any, Protocol

from ..state.derived import Store
from ..state.model import State


class Screen(Protocol):
    """What a session draws on."""

    def draw(self, state: State, store: Store) -> None:
        """Show `state`; only what changed travels."""
        ...

    def draw_later(self, state: State, store: Store) -> None:
        """Show what was found out after the paint: changes by step, the verdict."""
        ...

    def download(self, name: str, text: str) -> None:
        """Give the person a file: its text, or a data: address of what is none."""
        ...

    def draw_studies(self, state: State, store: Store) -> None:
        """Show what `Studies` found out: of the machine, of a comparison."""
        ...

    def foretell(self, prediction: dict[str, Any]) -> None:
        """Say what a drop would do, beside the rows that it is between."""
        ...
