"""The views as Jupyter widgets, linked by `param`, and the default output of a schedule or a report in a cell."""

from .bare import Bare
from .notebook import ScheduleNotebook
from .views import LayoutPicker, LoopTree, Timeline

__all__ = ["Bare", "LayoutPicker", "LoopTree", "ScheduleNotebook", "Timeline"]
