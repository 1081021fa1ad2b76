"""Pictures of figures: static images in a notebook, and their conversion by nbconvert."""

from __future__ import annotations

import base64
import re
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bokeh.plotting import figure
from support.sessions.searching import SMALL_HOLES

import tilewright
from tilewright.app.document import evaluate, load_document, read_document

EXAMPLE = Path(__file__).parents[3] / "static" / "examples" / "vtcm_double_buffer.py"
SVG = "{http://www.w3.org/2000/svg}"


@cache
def figures() -> dict[str, figure]:
    notebook = evaluate(load_document(EXAMPLE))
    report = tilewright.simulate(notebook)
    study = tilewright.explore(evaluate(read_document(SMALL_HOLES)), objectives=("cycles", "peak"))
    plot = tilewright.plot
    return {
        **{name: getattr(plot, name)(report) for name in ("timeline", "occupancy", "roofline", "traffic")},
        **{name: getattr(plot, name)(study) for name in ("pareto", "scatter", "parallel_axes")},
        "sensitivity": plot.sensitivity(tilewright.sensitivity(notebook)),
    }


@pytest.mark.slow
def test_a_picture_is_well_formed_and_has_its_glyphs() -> None:
    for name, drawn in figures().items():
        picture = ElementTree.fromstring(tilewright.plot.svg(drawn))
        assert picture.attrib["aria-label"], name
        shapes = [e for e in picture.iter() if e.tag in {f"{SVG}{t}" for t in ("rect", "path", "polygon", "polyline")}]
        assert len(shapes) > 2, name
        for element in shapes:
            assert "nan" not in " ".join(element.attrib.values()), name
    quads = ElementTree.fromstring(tilewright.plot.svg(figures()["timeline"])).findall(f"./{SVG}g/{SVG}rect")
    assert len(quads) > 400


def test_the_background_of_a_picture_follows_the_theme() -> None:
    report = tilewright.simulate(evaluate(load_document(EXAMPLE)))
    assert 'fill="#17191f"' in tilewright.plot.svg(tilewright.plot.roofline(report, theme="dark"))


@pytest.fixture(scope="module")
def executed() -> Any:
    """A notebook whose cells end with figures, executed by a kernel."""
    import nbformat  # slow to import, as is nbconvert
    from nbconvert.preprocessors import ExecutePreprocessor

    lines = [
        f"import tilewright\nreport = tilewright.simulate(tilewright.load({str(EXAMPLE)!r}))",
        "tilewright.plot.timeline(report)",
        "tilewright.plot.traffic(report)",
        "import bokeh.io\nbokeh.io.output_notebook(bokeh.resources.INLINE, hide_banner=True)",
        "tilewright.plot.roofline(report)",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(line) for line in lines])
    ExecutePreprocessor(timeout=120).preprocess(notebook)
    return notebook


@pytest.mark.slow
def test_the_page_of_a_converted_notebook_has_its_pictures(executed: Any) -> None:
    from nbconvert import HTMLExporter

    static = executed.cells[1].outputs
    assert [output.output_type for output in static] == ["execute_result"]
    live = executed.cells[4].outputs
    assert len(live) > 1, "after output_notebook() the figure is drawn live too"
    page, _ = HTMLExporter(template_name="classic").from_notebook_node(executed)
    pictures = [
        base64.b64decode(found).decode() for found in re.findall(r'src="data:image/svg\+xml;base64,([^"$]+)"', page)
    ]
    assert len(pictures) == 3
    for picture, word in zip(pictures, ("Timeline: ", "Traffic. ", "Roofline. "), strict=True):
        assert word in ElementTree.fromstring(picture).attrib["aria-label"]
    assert 'alt="Timeline: 203' in page
