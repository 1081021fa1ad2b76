"""The bundles that the build backend creates from `static/components` are complete, current and small."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from support.sessions.hostile import NoClock

import tilewright.static
from tilewright.app.components import figures, panels
from tilewright.app.components.component import Component
from tilewright.app.components.esm import BUILT, bundle
from tilewright.app.page.notebook_catalog import NotebookCatalog
from tilewright.app.page.page import Page
from tilewright.app.session.session import Session

STATIC = Path(tilewright.static.__file__).parent
BACKEND = STATIC / "bundling" / "backend.py"

WIDGETS = sorted(file.stem for file in (BUILT / "widgets").iterdir())


def test_bundles_are_current_with_their_sources() -> None:
    assert runpy.run_path(str(BACKEND))["is_current"]()


def test_the_page_and_the_widgets_mount_components_of_the_table() -> None:
    table = re.findall(r"^export const (\w+) =", (STATIC / "components" / "roots.js").read_text(), re.MULTILINE)
    page = Page(Session(NoClock()), NotebookCatalog())
    mounted: dict[str, Component] = page.roots()
    assert {component.root for component in mounted.values()} == set(table)
    html = (STATIC / "components" / "shell" / "page.html").read_text()
    assert sorted(re.findall(r'data-root="(\w+)"', html)) == sorted(mounted)
    assert set(WIDGETS) < set(table)


@pytest.mark.parametrize("name", WIDGETS)
def test_the_module_of_a_widget_imports_nothing(name: str) -> None:
    assert exports(bundle(f"widgets/{name}.js")) == ["default"]


def test_the_module_of_a_widget_has_only_its_component() -> None:
    assert len(bundle("widgets/code.js")) < len(bundle("page_root.js")) / 5
    assert exports(bundle("page_root.js")) == ["render"]


def test_only_the_editor_bundle_contains_the_editor_module() -> None:
    assert "CodeArea" in exports(panels.NotebookView.EDITOR)
    assert "MIT License" in panels.NotebookView.EDITOR
    assert bundle("page_root.js").find("cm-announced") < 0


def test_only_a_model_page_loads_the_graph_module() -> None:
    assert exports(figures.ModelView.GRAPH) == ["GraphView"]
    assert "Permission is hereby granted" in figures.ModelView.GRAPH
    assert bundle("page_root.js").find("network-simplex") < 0


def exports(module: str) -> list[str]:
    """The names that a bundle exports; it must not import anything."""
    assert not re.search(r"(?:^|;)import[ {*\"']", module, re.MULTILINE)
    (names,) = re.findall(r"export ?\{([^}]*)\};?\s*$", module)
    return [part.split(" as ")[-1].strip() for part in names.split(",")]
