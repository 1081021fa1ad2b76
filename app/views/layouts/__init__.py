"""The layout picker: where a buffer's elements lie, who takes them, what other layouts would cost, and the calls that make them."""

from .jobs import Work, layout_work
from .value import layout_value

__all__ = ["Work", "layout_value", "layout_work"]
