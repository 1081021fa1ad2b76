"""Reports and studies as Bokeh figures, to put into a Panel app, a Bokeh layout or a notebook.

    from tilewright import plot
    timeline = plot.timeline(report)
    pn.Column(timeline, plot.occupancy(report, x_range=timeline.x_range), plot.roofline(report)).servable()

Each function returns a `bokeh.plotting.figure` with its tools (zoom, hover, tap, save, reset). Its data are in named sources:
`figure.select_one({"name": "tasks"}).data`. `theme` is "light" or "dark", by default that of Panel. A figure that ends a cell of a notebook
appears as a picture, which needs no script, and live too after `bokeh.io.output_notebook()`.
"""

from .app.plots.picture import svg_of as svg
from .app.plots.roofline import roofline
from .app.plots.sensitivity import sensitivity
from .app.plots.study import parallel_axes, pareto, scatter
from .app.plots.timeline import occupancy, timeline
from .app.plots.traffic import traffic

__all__ = [
    "occupancy",
    "parallel_axes",
    "pareto",
    "roofline",
    "scatter",
    "sensitivity",
    "svg",
    "timeline",
    "traffic",
]
