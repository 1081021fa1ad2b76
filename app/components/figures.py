"""Views of what a program costs and why: the machine's figures, traffic and roofline, two programs beside each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

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


class ExploreView(FiguresView):
    """A search: what is asked for, how far it is, its candidates in pictures. Messages: explore, stop_exploring, go_on_exploring, trial,
    open_point, fix. What it asks for ("trials") `answer` gives."""

    _esm = bundle("explore.js")
    _stylesheets: ClassVar[list[str]] = [
        style("components/loop_tree.css"),
        *FiguresView._stylesheets,
        style("explore.css"),
    ]

    def __init__(
        self, data: Any = None, *, answer: Callable[[dict[str, Any]], Any] = lambda _: None, **params: Any
    ) -> None:
        self._answer = answer
        super().__init__(data, **params)

    def _handle_msg(self, data: Any) -> None:
        super()._handle_msg(data)
        answer = self._answer(data) if isinstance(data, dict) else None
        if answer is not None:
            self._send_msg(answer)


class OverlayView(FiguresView):
    """Two runs on one scale. Message: span."""

    _esm = bundle("overlay.js")
