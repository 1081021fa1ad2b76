"""Views of what a program costs and why: the machine's figures, traffic and roofline, two programs beside each other."""

from __future__ import annotations

from typing import ClassVar

from .esm import bundle, style
from .json_view import JsonView


class FiguresView(JsonView):
    """A view with the style of pictures and panels."""

    _stylesheets: ClassVar[list[str]] = [style("tilewright.css"), style("app.css"), style("figures.css")]

    __abstract = True


class MachineView(FiguresView):
    """The figures of the machine. Messages: knob, unknob."""

    _esm = bundle("machine.js")


class TrafficView(FiguresView):
    """Bytes from scope to scope, and the roofline."""

    _esm = bundle("traffic.js")


class CompareView(FiguresView):
    """Two programs in line, and in figures. Messages: compare, compare_text, uncompare."""

    _esm = bundle("compare.js")


class OverlayView(FiguresView):
    """Two runs on one scale. Message: span."""

    _esm = bundle("overlay.js")
