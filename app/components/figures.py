"""Views of a program's costs and their causes: machine parameters, traffic and roofline, search, comparison of two programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import param
from bokeh.util.paths import bokehjs_path

from .esm import bundle
from .json_view import JsonView


def bokeh_script() -> str:
    """BokehJS of the installed package, for a notebook's page that has not loaded it."""
    return Path(bokehjs_path(), "js", "bokeh.min.js").read_text(encoding="utf-8")


class MachineView(JsonView):
    """The machine's parameters. Messages: set_parameter, reset_parameter."""

    root = "machine"


class BokehView(JsonView):
    """A view with Bokeh figures. Message: bokeh, of a page without BokehJS."""

    def receive(self, message: Any) -> None:
        if message == {"kind": "bokeh"}:
            self.send({"kind": "bokeh", "script": bokeh_script()})
        else:
            super().receive(message)


class TrafficView(BokehView):
    """Bytes moved between scopes, and the roofline, as Bokeh figures."""

    root = "traffic"


class CompareView(JsonView):
    """Two programs with aligned lines, and their metrics. Messages: compare, compare_text, end_compare."""

    root = "compare"


class ExploreView(BokehView):
    """A search: its request, its progress, and Bokeh figures of its candidates. Messages: explore, stop_exploring, resume_exploring,
    show_trial, open_point, fix, trials."""

    figures = param.String(doc="The figures without candidates, as JSON; the page fills their data sources.")

    root = "explore"


class ModelView(BokehView):
    """A model: its kernels, its graph and one inference over time. Messages: gallery, open_kernel, refresh_model, theme; "graph" requests
    the module that draws the graph, which only a model's page needs."""

    graph = param.String(doc="The graph as JSON, which changes less often than the payload.")
    figure = param.String(doc="The figure of an inference without calls, as JSON; the page fills its data sources.")

    root = "model"
    GRAPH: ClassVar[str] = bundle("model/graph.js")

    def receive(self, message: Any) -> None:
        if message == {"kind": "graph"}:
            self.send({"kind": "graph", "module": self.GRAPH})
        else:
            super().receive(message)


class OverlayView(JsonView):
    """Two timelines on one time scale. Message: span."""

    root = "overlay"
