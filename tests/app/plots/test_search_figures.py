"""Figures of the Explore pane: without candidates, with the sources that the page fills, and with a dark colour for each."""

from __future__ import annotations

import json
import re

import pytest
from bokeh.models import ColumnDataSource, HoverTool, TapTool
from bokeh.plotting import figure

from tilewright.app.components.esm import STATIC
from tilewright.app.plots.panes import dark_colours
from tilewright.app.plots.search import axes_figure, scatter_figure, search_figures


def sources(drawn: figure) -> dict[str, ColumnDataSource]:
    found = {r.data_source.name: r.data_source for r in drawn.renderers}
    assert None not in found
    return found


@pytest.mark.slow
def test_figures_have_no_candidates_or_scripts_and_both_themes() -> None:
    for drawn in (scatter_figure(), axes_figure()):
        assert not any(column for source in sources(drawn).values() for column in source.data.values())
    value = json.loads(search_figures())
    text = json.dumps([value[name]["doc"]["roots"] for name in ("scatter", "axes")])
    assert "CustomJS" not in text, "the page's policy forbids scripts that are built from text"
    colours = set(re.findall(r'"(#[0-9a-f]{6})"', text))
    assert colours and colours <= set(value["dark"]) and value["dark"] == dark_colours()


@pytest.mark.slow
def test_each_source_has_the_columns_that_its_glyphs_read() -> None:
    for drawn in (scatter_figure(), axes_figure()):
        for renderer in drawn.renderers:
            read = {field for field in renderer.glyph.properties_with_values().values() if isinstance(field, str)}
            columns = set(renderer.data_source.data)
            assert read & {"x", "y", "xs", "ys", "low", "high", "size", "text", "alpha", "dash"} <= columns


@pytest.mark.slow
def test_tap_and_hover_tools_find_the_same_candidates() -> None:
    for drawn in (scatter_figure(), axes_figure()):
        hover, tap = (next(tool for tool in drawn.tools if isinstance(tool, kind)) for kind in (HoverTool, TapTool))
        assert [r.id for r in hover.renderers] == [r.id for r in tap.renderers]
        assert all("number" in r.data_source.data for r in tap.renderers)
        assert hover.tooltips is None, "the page draws the card of a candidate"


def test_page_names_the_sources_of_the_figures() -> None:
    axes = (STATIC / "components" / "explore" / "axes.js").read_text(encoding="utf-8")
    listed = re.search(r"const SOURCES = \[(.*?)\]", axes, re.S)
    assert listed is not None
    assert set(re.findall(r'"(.*?)"', listed[1])) == set(sources(axes_figure()))
