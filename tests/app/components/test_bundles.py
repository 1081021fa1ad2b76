"""The bundles that the build backend creates from `static/components` are complete, current and small."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import tilewright.static
from tilewright.app.components import code, figures, loop_tree, panels, timeline
from tilewright.app.components.esm import BUILT, STYLE_SHEETS, Bundle, Compiled

STATIC = Path(tilewright.static.__file__).parent
BACKEND = STATIC / "bundling" / "backend.py"

COMPONENTS = sorted(
    {
        found
        for module in (code, figures, loop_tree, panels, timeline)
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, Compiled) and isinstance(found._esm, Bundle)
    },
    key=lambda found: found.__name__,
)


def test_bundles_are_current_with_their_sources() -> None:
    assert runpy.run_path(str(BACKEND))["is_current"]()


def test_the_build_script_bundles_exactly_the_components() -> None:
    built = {file.relative_to(BUILT).as_posix() for file in BUILT.rglob("*.js")}
    names = {component._esm.name for component in COMPONENTS if isinstance(component._esm, Bundle)}
    others = {"replay/replay.js", "shell/entry.js", panels.NotebookView.EDITOR.name, figures.ModelView.GRAPH.name}
    assert built == names | {f"widgets/{name}" for name in names} | others


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda found: found.__name__)
def test_a_bundle_imports_nothing_and_exports_render(component: type[Compiled]) -> None:
    assert isinstance(component._esm, Bundle)
    assert exports(component._esm) == ["render"]
    widget = component.widget_module()
    assert exports(widget) == ["default"]
    assert STYLE_SHEETS not in widget


def test_only_the_editor_bundle_contains_the_editor_module() -> None:
    assert "CodeArea" in exports(panels.NotebookView.EDITOR)
    assert "MIT License" in panels.NotebookView.EDITOR
    assert not [component for component in COMPONENTS if "cm-content" in component._render_esm()]


def test_only_a_model_page_loads_the_graph_module() -> None:
    assert exports(figures.ModelView.GRAPH) == ["GraphView"]
    assert "Permission is hereby granted" in figures.ModelView.GRAPH
    assert not [component for component in COMPONENTS if "network-simplex" in component._render_esm()]


def exports(module: str) -> list[str]:
    """The names that a bundle exports; it must not import anything."""
    assert not re.search(r"(?:^|;)import[ {*\"']", module, re.MULTILINE)
    (names,) = re.findall(r"export ?\{([^}]*)\};?\s*$", module)
    return [part.split(" as ")[-1].strip() for part in names.split(",")]
