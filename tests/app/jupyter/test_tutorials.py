"""The tutorial notebooks: each runs in a kernel, and its HTML page shows its pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.record.tutorials import FOLDER, executed

if TYPE_CHECKING:
    import nbformat

TUTORIALS = sorted(FOLDER.glob("*.ipynb"))
WIDGET = "application/vnd.jupyter.widget-view+json"


def outputs(notebook: nbformat.NotebookNode, mime: str) -> list[str]:
    return [
        output.data[mime]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if "data" in output and mime in output.data
    ]


def printed(notebook: nbformat.NotebookNode) -> list[str]:
    """The output of each cell as one text, as a kernel may send it in several pieces."""
    return ["".join(output.text for output in cell.get("outputs", ()) if "text" in output) for cell in notebook.cells]


@pytest.mark.slow  # one kernel each
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_shows_its_recorded_outputs(path: Path) -> None:
    import nbformat  # slow to import, as is nbconvert
    from nbconvert import HTMLExporter

    ran, recorded = executed(path), nbformat.read(path, as_version=4)
    alts = [
        [alt for html in outputs(notebook, "text/html") if (alt := re.findall('alt="([^"]*)"', html))]
        for notebook in (ran, recorded)
    ]
    assert alts[0] == alts[1] and alts[0], "record it anew: python -m support.record.tutorials"
    views = [html for html in outputs(ran, "text/html") if "data-tilewright" in html]
    assert len(outputs(ran, WIDGET)) == len(views), "each picture of a view has its live view"
    assert printed(ran) == printed(recorded)
    page, _ = HTMLExporter().from_notebook_node(ran)
    assert [alt for pictures in alts[0] for alt in pictures] == re.findall(
        '<img alt="((?:Loop|Time|Layout|Occupancy|Roofline|Traffic|Parallel|Cycles)[^"]*)"', page
    )
