"""The next steps of a schedule, the best one taken again and again until none improves it."""

from __future__ import annotations

from collections.abc import Iterator

from ....engine.hwsim import Machine
from ....engine.suggest import next_steps
from ..notebook import Notebook
from ..settings import sizes_for
from .fixes import apply_lint


def improving(notebook: Notebook, machine: Machine) -> Iterator[tuple[Notebook, int]]:
    """Yields the notebook after each step, with its cycles: what a person reaches who takes the first of *Next* each time. Steps after
    which the program does not fit end it."""
    while notebook.error is None and notebook.schedule is not None:
        schedule = notebook.schedule
        best = next(iter(next_steps(schedule, machine, sizes_for(schedule.func, notebook.sizes))), None)
        if best is None or not best.fix.fits:
            return
        notebook = apply_lint(notebook, best.fix)
        yield notebook, best.fix.cycles


__all__ = ["improving"]
