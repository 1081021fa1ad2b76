"""Attribution of the stalls in a report to the notebook lines that introduced their causes."""

from __future__ import annotations

from ...engine.export import attributed, steps_of
from ...engine.hwsim import Report
from .notebook import Notebook


def with_origins(report: Report, notebook: Notebook, count: int | None = None) -> Report:
    """The report with the source line of each stall. `report` belongs to the schedule after `count` notebook lines (None: all)."""
    moments = notebook.states if count is None else notebook.states[: count + 1]
    made = steps_of(moment.schedule.func for moment in moments)
    return attributed(report, made, lambda step: notebook.steps[step - 1].text)
