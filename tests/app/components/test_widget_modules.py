"""A widget mirrors the properties and messages of a component."""

from __future__ import annotations

from tilewright.app.components.loop_tree import LoopTree
from tilewright.app.components.panels import NotebookView
from tilewright.app.components.widget import Widget


def test_a_widget_sends_and_receives_properties_and_messages() -> None:
    component = LoopTree(rows=[])
    received: list[dict[str, object]] = []
    component.on_message(received.append)
    widget = Widget(component, height=120)
    sent: list[object] = []
    widget.send = sent.append  # type: ignore[method-assign]
    assert "rows" not in widget.shared and {"packed_rows", "selected", "busy"} <= set(widget.shared)
    component.busy = True
    assert widget.busy is True  # type: ignore[attr-defined]
    widget.selected = "ko"  # type: ignore[attr-defined]
    assert component.selected == "ko"
    component.receive({"kind": "undo"})
    assert received == [{"kind": "undo"}]


def test_a_notebook_gets_the_editor_module_without_the_session() -> None:
    component = NotebookView(data={})
    received: list[dict[str, object]] = []
    sent: list[dict[str, object]] = []
    component.on_message(received.append)
    component.on_sent(sent.append)
    component.receive({"kind": "editor"})
    component.receive({"kind": "words"})
    assert sent == [{"kind": "editor", "module": NotebookView.EDITOR}]
    assert received == [{"kind": "words"}]
