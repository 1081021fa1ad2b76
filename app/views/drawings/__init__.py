"""Pictures that stand alone: the loop tree and the timeline as SVG text, made of the values that the views draw from.

A drawing needs no style sheet, font or script of ours. `theme` "auto" follows the reader's light or dark (by media query), "light" and
"dark" are fixed.
"""

from .canvas import Theme
from .timeline import timeline_svg
from .tree import tree_svg

__all__ = ["Theme", "timeline_svg", "tree_svg"]
