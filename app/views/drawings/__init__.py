"""Pictures that stand alone: loop tree, timeline and the layout of a buffer as SVG text, made of the values that the views draw from.

A drawing needs no style sheet, font or script of ours. `theme` "auto" follows the reader's light or dark (by media query), "light" and
"dark" are fixed.
"""

from .canvas import Theme
from .layout import layout_svg
from .timeline import timeline_svg
from .tree import tree_svg

__all__ = ["Theme", "layout_svg", "timeline_svg", "tree_svg"]
