"""The sensitivity of a program to the parameters of its machine: the cycles saved by each."""

from __future__ import annotations

from collections.abc import Sequence

from bokeh.models import ColumnDataSource, Range1d
from bokeh.plotting import figure

from ...engine.hwsim import MachineParameter
from ..views.labels.numbers import change_of, grouped
from ..views.machine.parameters import spoken
from ..views.machine.sensitivity import field_of, name_of
from .picture import with_picture
from .style import Style, Theme, add_hover, table_axis, write_amounts

MOST = 12


def sensitivity(
    parameters: Sequence[MachineParameter], *, most: int = MOST, theme: Theme | None = None, height: int | None = None
) -> figure:
    """The cycles saved if each parameter alone is improved by a factor of two (source "parameters"): at most `most`, the first at the top.

    `parameters` are the result of `tilewright.sensitivity`.
    """
    style = Style(theme)
    shown = [p for p in parameters if p.saved > 0][:most]
    places = [-float(n) for n in range(len(shown))]
    drawn = style.figure(
        "sensitivity",
        height=height or 64 + 26 * max(1, len(shown)),
        tools="xbox_zoom,xwheel_zoom,xpan,tap,save,reset",
        x_range=Range1d(start=0, end=1.05 * max((p.saved for p in shown), default=1)),
        y_range=Range1d(start=min(places, default=0.0) - 0.6, end=0.6),
        x_axis_label="cycles saved",
    )
    write_amounts(drawn.xaxis[0], "cycles")
    table_axis(drawn.yaxis[0], [name_of(p) for p in shown], places)
    drawn.ygrid.grid_line_color = None
    source = ColumnDataSource(
        {
            "y": places,
            "path": [p.path for p in shown],
            "saved": [p.saved for p in shown],
            "name": [name_of(p) for p in shown],
            "from": [spoken(field_of(p), p.value) for p in shown],
            "to": [spoken(field_of(p), p.better) for p in shown],
            "cycles": [grouped(p.cycles) for p in shown],
            "change": [change_of(p.cycles + p.saved, p.cycles)[0] for p in shown],
        },
        name="parameters",
    )
    bars = drawn.hbar(
        y="y", right="saved", left=0, height=0.62, source=source, fill_color=style.ink("accent"), line_color=None
    )
    add_hover(drawn, [bars], [("", "@name"), ("now", "@from"), ("with", "@to"), ("cycles", "@cycles, @change")])
    words = "; ".join(f"{name_of(p)} saves {grouped(p.saved)} cycles" for p in shown[:3])
    return with_picture(drawn, f"Sensitivity: {words or 'no parameter limits the program'}")
