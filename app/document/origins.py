"""Which line of a notebook brought in what an engine of a report waits for."""

from __future__ import annotations

from ...engine.export import attributed, steps_of
from ...engine.hwsim import Report
from .notebook import Notebook


def with_origins(report: Report, notebook: Notebook, count: int | None = None) -> Report:
    """The report, of the notebook's schedule after `count` of its lines (all, for None), with the line that each wait comes from."""
    moments = notebook.states if count is None else notebook.states[: count + 1]
    made = steps_of(moment.schedule.func for moment in moments)
    return attributed(report, made, lambda step: notebook.steps[step - 1].text)
