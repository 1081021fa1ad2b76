"""The output of a schedule or a report that is the last expression of a cell."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from IPython.display import display

from ...engine.hwsim import Report
from ...engine.ir import TilewrightError
from ...engine.schedule import Schedule
from .views import LoopTree, Timeline


class CellOutputs:
    """The views of schedules and reports. Each schedule has one view, so that all outputs of the schedule show its current state."""

    def __init__(self) -> None:
        self._trees: WeakKeyDictionary[Schedule, LoopTree] = WeakKeyDictionary()

    def schedule(self, schedule: Schedule) -> None:
        """Show the schedule's loop tree."""
        if schedule not in self._trees:
            self._trees[schedule] = LoopTree(schedule)
        self._trees[schedule].show()

    def report(self, report: Report) -> None:
        """Show the report's timeline, or only its text if that raises a TilewrightError."""
        try:
            Timeline(report).show()
        except TilewrightError:
            display({"text/plain": repr(report)}, raw=True)
