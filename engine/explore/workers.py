"""Who tries candidates. What comes back does not depend on who it was, nor on the order in which it comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from .outcome import Outcome
from .trials import Bench, Question


class Workers(Protocol):
    """Tries the questions of a batch, each once; answers come in any order."""

    def tried(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Outcome]]: ...

    def close(self) -> None: ...


class InProcess:
    """One after the other, here."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def tried(self, questions: Sequence[Question]) -> Iterator[tuple[Question, Outcome]]:
        for question in questions:
            yield question, self._bench.tried(question)

    def close(self) -> None:
        """Nothing is held."""
