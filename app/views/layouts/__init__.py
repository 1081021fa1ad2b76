"""The layout picker: element addresses of a buffer, its accesses, the costs of alternative layouts, and the calls that apply them."""

from .jobs import Work, layout_work
from .value import layout_value

__all__ = ["Work", "layout_value", "layout_work"]
