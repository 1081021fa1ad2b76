"""Self-contained drawings: loop tree, timeline and buffer layout as SVG text, from the same values as the views.

A drawing needs no external style sheet, font or script. `theme` "auto" follows the reader's light or dark mode (by media query); "light"
and "dark" are fixed.
"""

from .canvas import Theme
from .layout import layout_svg
from .timeline import timeline_svg
from .tree import tree_svg

__all__ = ["Theme", "layout_svg", "timeline_svg", "tree_svg"]
