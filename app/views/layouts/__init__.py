"""The layout picker: element addresses of a buffer, its accesses, the costs of alternative layouts, and the calls that apply them."""

from .value import LayoutPicker, layout_value

__all__ = ["LayoutPicker", "layout_value"]
