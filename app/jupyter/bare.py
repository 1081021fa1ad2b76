"""What a schedule or a report as the last expression of a cell shows."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from IPython.display import display

from ...engine.hwsim import Report
from ...engine.ir import TilewrightError
from ...engine.schedule import Schedule
from .views import LoopTree, Timeline


class Bare:
    """The views of bare values: one of each, so that a schedule that is shown again is seen as it is now wherever it stands."""

    def __init__(self) -> None:
        self._trees: WeakKeyDictionary[Schedule, LoopTree] = WeakKeyDictionary()

    def schedule(self, schedule: Schedule) -> None:
        """Show its loop tree."""
        if schedule not in self._trees:
            self._trees[schedule] = LoopTree(schedule)
        self._trees[schedule].show()

    def report(self, report: Report) -> None:
        """Show its timeline; of what no schedule could be made of, only the text."""
        try:
            Timeline(report).show()
        except TilewrightError:
            display({"text/plain": repr(report)}, raw=True)
