"""The views as Jupyter widgets, linked by `param`, and the default output of a schedule or a report in a cell."""

from .cell_outputs import CellOutputs
from .notebook import ScheduleNotebook
from .views import LayoutPicker, LoopTree, Timeline

__all__ = ["CellOutputs", "LayoutPicker", "LoopTree", "ScheduleNotebook", "Timeline"]
