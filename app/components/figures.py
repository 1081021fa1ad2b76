"""Views of a program's costs and their causes: machine parameters, traffic and roofline, search, comparison of two programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import param
from bokeh.util.paths import bokehjs_path

from .esm import Bundle, bundle, style
from .json_view import JsonView


def bokeh_script() -> str:
    """BokehJS of the installed package, for a notebook's page that has not loaded it."""
    return Path(bokehjs_path(), "js", "bokeh.min.js").read_text(encoding="utf-8")


class FiguresView(JsonView):
    """A view with the style sheet for figures."""

    _stylesheets: ClassVar[list[str]] = [style("tilewright.css"), style("app.css"), style("figures.css")]

    __abstract = True


class MachineView(FiguresView):
    """The machine's parameters. Messages: set_parameter, reset_parameter."""

    _esm = bundle("machine/machine.js")


class BokehView(FiguresView):
    """A view with Bokeh figures. Message: bokeh, of a page without BokehJS."""

    __abstract = True

    def _handle_msg(self, data: Any) -> None:
        if data == {"kind": "bokeh"}:
            self.send({"kind": "bokeh", "script": bokeh_script()})
        else:
            super()._handle_msg(data)


class TrafficView(BokehView):
    """Bytes moved between scopes, and the roofline, as Bokeh figures."""

    _esm = bundle("machine/traffic.js")


class CompareView(FiguresView):
    """Two programs with aligned lines, and their metrics. Messages: compare, compare_text, end_compare."""

    _esm = bundle("compare/compare.js")


class ExploreView(BokehView):
    """A search: its request, its progress, and Bokeh figures of its candidates. Messages: explore, stop_exploring, resume_exploring,
    show_trial, open_point, fix, trials."""

    figures = param.String(doc="The figures without candidates, as JSON; the page fills their data sources.")

    _esm = bundle("explore/explore.js")
    _stylesheets: ClassVar[list[str]] = [
        style("loop_tree.css"),
        *FiguresView._stylesheets,
        style("explore.css"),
    ]


class ModelView(BokehView):
    """A model: its kernels, its graph and one inference over time. Messages: gallery, open_kernel, refresh_model, theme; "graph" requests
    the module that draws the graph, which only a model's page needs."""

    graph = param.String(doc="The graph as JSON, which changes less often than the payload.")
    figure = param.String(doc="The figure of an inference without calls, as JSON; the page fills its data sources.")

    _esm = bundle("model/model.js")
    GRAPH: ClassVar[Bundle] = bundle("model/graph.js")
    _stylesheets: ClassVar[list[str]] = [
        *FiguresView._stylesheets,
        style("gallery.css"),
        style("model.css"),
    ]

    def _handle_msg(self, data: Any) -> None:
        if data == {"kind": "graph"}:
            self.send({"kind": "graph", "module": self.GRAPH.text})
        else:
            super()._handle_msg(data)


class OverlayView(FiguresView):
    """Two timelines on one time scale. Message: span."""

    _esm = bundle("compare/overlay.js")
