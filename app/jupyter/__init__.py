"""The views as widgets of Jupyter, linked by `param`, and what a bare schedule or report shows."""

from .bare import Bare
from .notebook import ScheduleNotebook
from .views import LayoutPicker, LoopTree, Timeline

__all__ = ["Bare", "LayoutPicker", "LoopTree", "ScheduleNotebook", "Timeline"]
