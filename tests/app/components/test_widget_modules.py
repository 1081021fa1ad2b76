"""Each component's module as a widget's: the same files as on the page, each name once, nothing left to import."""

from __future__ import annotations

import re

import pytest

from tilewright.app.components.esm import Compiled
from tilewright.app.components.loop_tree import LoopTree
from tilewright.app.components.panels import HeadlineView, InspectorView, NotebookView
from tilewright.app.components.timeline import TimelineView
from tilewright.app.components.widget import Widget

COMPONENTS: tuple[type[Compiled], ...] = (LoopTree, TimelineView, InspectorView, NotebookView, HeadlineView)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda c: c.__name__)
def test_given_a_component_then_its_widget_has_the_same_module_and_one_export(component: type[Compiled]) -> None:
    module = component.widget_module()
    assert re.findall(r"^export .*", module, re.MULTILINE) == [module.rstrip().split("\n")[-1]]
    assert not re.findall(r"^import ", module, re.MULTILINE)
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", module, re.MULTILINE)
    assert len(names) == len(set(names)), "a name stands twice"
    own = re.sub(r"^export ", "", str(component._esm), flags=re.MULTILINE)
    assert set(re.findall(r"^function (\w+)", own, re.MULTILINE)) <= set(names)


def test_given_a_widget_then_properties_and_messages_go_both_ways() -> None:
    component = LoopTree(rows=[])
    heard: list[dict[str, object]] = []
    component.on_intent(heard.append)
    widget = Widget(component, height=120)
    sent: list[object] = []
    widget.send = sent.append  # type: ignore[method-assign]
    assert "rows" not in widget.shared and {"packed_rows", "selected", "busy"} <= set(widget.shared)
    component.busy = True
    assert widget.busy is True  # type: ignore[attr-defined]
    widget.selected = "ko"  # type: ignore[attr-defined]
    assert component.selected == "ko"
    component.hear({"kind": "undo"})
    assert heard == [{"kind": "undo"}]
